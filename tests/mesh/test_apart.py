"""Readers that crash or never end do so in a process of their own."""

import os
import signal
import threading

import numpy as np
import pytest

from pitgeo.mesh import apart, read_mesh
from pitgeo.mesh.apart import read_apart
from pitgeo.mesh.errors import UnreadableError
from pitgeo.mesh.reading import read_with

POLYDATA = """<VTKFile type="PolyData" version="0.1"><PolyData>
<Piece NumberOfPoints="4" NumberOfVerts="0" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="1">
<PointData><DataArray type="Float64" Name="T" format="ascii">0 1 2 3</DataArray></PointData>
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0 1 0 0 1 1 0 0 1 0</DataArray></Points>
<Polys><DataArray type="Int64" Name="connectivity" format="ascii">0 1 2 3</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">4</DataArray></Polys></Piece></PolyData></VTKFile>
"""


@pytest.fixture
def polydata(tmp_path):
    path = tmp_path / "mesh.vtp"
    path.write_text(POLYDATA)
    return path


def test_what_comes_back_is_what_the_file_holds(polydata, tmp_path, monkeypatch):
    direct, separate = read_with("VTK", polydata), read_apart(read_with, "VTK", polydata)
    assert np.array_equal(separate.points, [[0, 0], [1, 0], [1, 1], [0, 1]]) and separate.path == polydata
    assert np.array_equal(separate.point_data["T"], [0, 1, 2, 3])
    assert [kind for kind, _ in separate.cells] == ["quad"] and separate.notes == direct.notes
    number = apart._process.pid
    monkeypatch.chdir(tmp_path)
    assert read_mesh("mesh.vtp").point_data.keys() == {"T"} and apart._process.pid == number


def test_a_crash_is_one_clear_error_and_the_next_file_is_read(polydata):
    read_mesh(polydata)
    os.kill(apart._process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.2, apart._process.kill)
    killer.start()
    with pytest.raises(ValueError, match=r"mesh\.vtp: Expected a mesh file that VTK reads \(got .* reader crashes"):
        read_mesh(polydata)
    assert len(read_mesh(polydata).points) == 4


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of processor time here")
def test_a_reader_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    """Meshio's reader of Kratos looks for the end of the nodes forever."""
    (tmp_path / "a.mdpa").write_text("Begin Nodes\n 1 0.0 0.0 0.0\n 2 1.0 0.0 0.0\n")
    monkeypatch.setattr(apart, "SECONDS", 1.0)
    with pytest.raises(UnreadableError, match="does not come to an end within 1 s"):
        read_apart(read_with, "meshio", tmp_path / "a.mdpa")


def test_other_errors_are_those_of_the_reader(tmp_path):
    (tmp_path / "mesh.vtp").write_text("hello\n")
    with pytest.raises(ValueError, match=r"mesh\.vtp: Expected a mesh file that VTK reads"):
        read_mesh(tmp_path / "mesh.vtp")
