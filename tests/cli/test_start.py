"""What is imported, and how messages speak to those who call functions and to those who give commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pitgeo import train_surrogate
from pitgeo.cli.main import main
from pitgeo.config.toml import ConfigError
from pitgeo.evaluation.evaluation import evaluate
from pitgeo.workflows.run_folder import check_free
from tests.datasets.folder.test_auto_geometry import plate
from tests.describe.test_describe import written

HEAVY = ("torch", "torch_geometric", "lightning", "matplotlib", "pandas", "sklearn", "pyvista", "vtkmodules", "netCDF4")
HEAVY += ("pydantic", "tensorboard")


def imported(code: str, folder: Path) -> set[str]:
    """The heavy modules that a program imports."""
    program = f"{code}\nimport sys\nprint('MODULES', *[name for name in {HEAVY!r} if name in sys.modules])"
    given = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=True)
    return set(done.stdout.rpartition("MODULES")[2].split())


def test_help_needs_no_library_not_even_numpy(tmp_path: Path) -> None:
    code = "from pitgeo.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "import sys; assert 'numpy' not in sys.modules"
    assert imported(code, tmp_path) == set()


def test_describe_needs_no_torch(tmp_path: Path) -> None:
    written(tmp_path, *(plate(1 + k / 4, left=np.array([0])).with_field_data("load", 1.5 + k) for k in range(4)))
    code = "from pitgeo.cli.main import main\nassert main(['describe', '.', '--quiet', '--write', 'run.toml']) == 0"
    (tmp_path / "cases.csv").write_text("file,angle\n" + "\n".join(f"{k},{k / 2}" for k in range(4)))
    assert imported(code, tmp_path) == set()
    assert 'inputs = ["load", "angle"]' in (tmp_path / "run.toml").read_text()


def test_importing_brings_what_is_used(tmp_path: Path) -> None:
    assert imported("import pitgeo", tmp_path) == set()
    assert imported("from pitgeo import PiT, PointData", tmp_path) <= {"torch", "torch_geometric", "pandas", "sklearn"}


def test_quiet_commands_print_nothing_file_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, *(plate(1 + k / 4) for k in range(4)))
    assert main(["describe", str(tmp_path), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert not err and sum("3.vtu" in line for line in out.splitlines()) <= 1


def test_functions_speak_of_arguments_and_commands_of_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cloud = {"points": np.random.default_rng(0).random((20, 2)), "u": np.ones(20)}
    with pytest.raises(ConfigError, match=r"^settings training\.epocs=1: unknown key"):
        train_surrogate([cloud] * 5, ["u"], tmp_path / "run", settings=["training.epocs=1"])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "last.ckpt").write_text("")
    with pytest.raises(ValueError, match="hold no other run") as found:
        train_surrogate([cloud] * 5, ["u"], tmp_path / "run")
    assert "as 'output', or delete this one" in str(found.value) and "resume" not in str(found.value)
    with pytest.raises(ValueError, match="hold no other run") as found:
        check_free(tmp_path / "run")
    written(tmp_path / "cases", *(plate(1 + k / 4) for k in range(4)))
    assert main(["describe", str(tmp_path / "cases"), "--write", str(tmp_path / "run.toml"), "--quiet"]) == 0
    assert main(["train", str(tmp_path / "run.toml"), "--output", str(tmp_path / "run"), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert all(flag in err for flag in ("resume", "output", "overwrite")) and "'resume'" not in err
    with pytest.raises(FileNotFoundError):
        evaluate(tmp_path / "none.ckpt")
