"""What commands set for the threads of numerical libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pitgeo.system.processes import cores, group_cores
from pitgeo.system.threads import SPINS, share_processors

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_THREAD_LIMIT")


def group(root: Path, name: str, **files: str) -> None:
    (root / name).mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (root / name / file.replace("__", ".")).write_text(text)


@pytest.mark.parametrize(
    ("own", "inner"), [("0::/pod/job\n", "200000 100000\n"), ("0::/pod/job\n3:cpuset:/\n", "150000 100000")]
)
def test_the_smallest_share_of_all_groups_counts(own: str, inner: str, tmp_path: Path) -> None:
    (tmp_path / "own").write_text(own)
    group(tmp_path, "pod/job", cpu__max=inner)
    group(tmp_path, "pod", cpu__max="max 100000\n")
    assert group_cores(tmp_path / "own", tmp_path) == 2
    group(tmp_path, "pod", cpu__max="50000 100000\n")
    assert group_cores(tmp_path / "own", tmp_path) == 1


def test_groups_of_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("4:memory:/x\n1:cpu,cpuacct:/job\n0::/\n")
    group(tmp_path, "cpu,cpuacct/job", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert group_cores(tmp_path / "own", tmp_path) is None
    group(tmp_path, "cpu,cpuacct/job", cpu__cfs_quota_us="250000\n", cpu__cfs_period_us="100000\n")
    assert group_cores(tmp_path / "own", tmp_path) == 3
    assert group_cores(tmp_path / "none", tmp_path) is None


def test_a_share_limits_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitgeo.system.processes.group_cores", lambda: 1)
    assert cores() == 1
    monkeypatch.setattr("pitgeo.system.processes.group_cores", lambda: 10_000)
    assert cores() <= (os.cpu_count() or 1)


def test_what_is_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitgeo.system.threads.group_cores", lambda: 3)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    share_processors()
    assert [os.environ.get(name) for name in NAMES] == [None, SPINS, "3"]
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    monkeypatch.setenv("OMP_THREAD_LIMIT", "8")
    share_processors()
    assert [os.environ.get(name) for name in NAMES] == [None, "7", "8"]
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    share_processors()
    assert "GOMP_SPINCOUNT" not in os.environ


def test_commands_set_it_before_torch_and_imports_set_nothing() -> None:
    code = "import os, sys, pitgeo, pitgeo.cli\nassert 'GOMP_SPINCOUNT' not in os.environ\n"
    code += "try: pitgeo.cli.main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert os.environ['GOMP_SPINCOUNT'] and 'torch' not in sys.modules"
    kept = {name: value for name, value in os.environ.items() if name not in NAMES}
    subprocess.run([sys.executable, "-c", code], env=kept, check=True, stdout=subprocess.DEVNULL)
