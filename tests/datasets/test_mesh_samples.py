"""Mesh files of generated samples and their table: whole or not at all, and the same after an interruption."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pitgeo.datasets import mesh_samples, resumable
from pitgeo.datasets.mesh_samples import TABLE, Row, file_name, make_mesh_files
from pitgeo.mesh import Mesh, read_mesh
from tests.system.calls import ended_from_outside


def solve(calls: list[int], stop: int | None, number: int) -> tuple[Mesh, Row]:
    if number == stop:
        raise KeyboardInterrupt
    calls.append(number)
    mesh = Mesh(np.eye(3) * (number + 1), (("triangle", np.arange(3)[None]),))
    return mesh, {"kind": "a" * (number + 1), "count": number, "size": number / 3}


def make(output: Path, samples: int, stop: int | None = None, **settings: Any) -> list[int]:
    calls: list[int] = []
    settings = {"samples": samples, **settings}
    solver = functools.partial(solve, calls, stop)
    make_mesh_files(output, settings, solver, "part", processes=1, progress=False)
    return calls


def names(samples: int) -> list[str]:
    return [file_name("part", number) for number in range(samples)]


def test_files_and_their_table(tmp_path: Path) -> None:
    assert make(tmp_path, 3) == [0, 1, 2]
    assert (tmp_path / TABLE).read_text().splitlines() == [
        "file,kind,count,size",
        "part_0000.vtu,a,0,0.0",
        "part_0001.vtu,aa,1,0.3333333333333333",
        "part_0002.vtu,aaa,2,0.6666666666666666",
    ]
    assert [read_mesh(tmp_path / name).points[0, 0] for name in names(3)] == [1, 2, 3]
    manifest = json.loads((tmp_path / resumable.MANIFEST).read_text())
    assert manifest["complete"] and sorted(manifest["files"]) == [TABLE, *names(3)]
    assert not (tmp_path / "parts").exists()
    assert make(tmp_path, 3) == [] and make(tmp_path, 2) == []
    with pytest.raises(FileExistsError, match="delete them, or choose another output folder"):
        make(tmp_path, 3, seed=1)


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_samples, "_CHUNK", 2)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, 5, stop=3)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
    assert make(tmp_path, 5) == [2, 3, 4]
    make(tmp_path / "whole", 5)
    for name in [TABLE, *names(5)]:
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_message_on_a_process_that_was_ended_says_where_it_goes_on(tmp_path: Path) -> None:
    with pytest.raises(ChildProcessError, match=r"fewer processes .* it goes on after the 0 samples that are finished"):
        resumable.compute(ended_from_outside, 2, tmp_path, 1, processes=2, progress=False)
