"""Readers that crash or never end do so in a process of their own."""

import os
import signal
import threading

import numpy as np
import pytest

from pitgeo.mesh import apart, read_mesh
from pitgeo.mesh.apart import read_apart
from pitgeo.mesh.reading import read_here

UCD = "4 1 1 0 0\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n1 1 quad 1 2 3 4\n1 1\nT, K\n1 0.\n2 1.\n3 2.\n4 3.\n"


@pytest.fixture
def ucd(tmp_path):
    path = tmp_path / "mesh.avs"
    path.write_text(UCD)
    return path


def test_what_comes_back_is_what_the_file_holds(ucd, tmp_path, monkeypatch):
    here, there = read_here("VTK", ucd), read_apart("VTK", ucd)
    assert np.array_equal(there.points, [[0, 0], [1, 0], [1, 1], [0, 1]]) and there.path == ucd
    assert np.array_equal(there.point_data["T"], [0, 1, 2, 3])
    assert [kind for kind, _ in there.cells] == ["quad"] and there.notes == here.notes
    number = apart._process.pid
    monkeypatch.chdir(tmp_path)
    assert read_mesh("mesh.avs").point_data.keys() == {"T"} and apart._process.pid == number


def test_a_crash_is_one_clear_error_and_the_next_file_is_read(ucd):
    read_mesh(ucd)
    os.kill(apart._process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.2, apart._process.kill)
    killer.start()
    with pytest.raises(ValueError, match=r"mesh\.avs: Expected a mesh file that VTK reads \(got .* reader crashes"):
        read_mesh(ucd)
    assert len(read_mesh(ucd).points) == 4


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of processor time here")
def test_a_reader_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    """Meshio's reader of Kratos looks for the end of the nodes forever."""
    (tmp_path / "a.mdpa").write_text("Begin Nodes\n 1 0.0 0.0 0.0\n 2 1.0 0.0 0.0\n")
    monkeypatch.setattr(apart, "SECONDS", 1.0)
    with pytest.raises(ValueError, match=r"a\.mdpa: Expected a mesh file .* does not come to an end within 1 s"):
        read_mesh(tmp_path / "a.mdpa")


def test_other_errors_are_those_of_the_reader(tmp_path):
    (tmp_path / "mesh.avs").write_text("hello\n")
    with pytest.raises(ValueError, match=r"mesh\.avs: Expected a mesh file that VTK reads"):
        read_mesh(tmp_path / "mesh.avs")
