"""Meshes over time."""

from dataclasses import replace

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh, read_series, write_mesh, write_series
from tests.mesh.zoo import ZOO

TIMES = [0.0, 0.1, 1.0 / 3]


def steps(name="mixed"):
    mesh = replace(ZOO[name], cell_sets={"first": tuple(np.array([0]) for _ in ZOO[name].cells)})
    return [mesh.with_point_data("u", np.arange(9.0) * k).with_cell_data("c", np.arange(2) + k) for k in range(3)]


def check(series, times=TIMES):
    assert len(series) == 3 and series.times.dtype == np.float64 and series.times.tolist() == times
    for k in (2, 0, 1, -1):
        mesh = series.mesh(k)
        assert np.array_equal(mesh.points, ZOO["mixed"].points)
        assert np.array_equal(mesh.point_data["u"], np.arange(9.0) * (k % 3))
        assert np.array_equal(np.concatenate(mesh.cell_data["c"]), np.arange(2) + k % 3)
    with pytest.raises(IndexError, match=r"from 0 to 2 \(got 3\)"):
        series.mesh(3)


def test_collections(tmp_path):
    write_series(tmp_path / "out" / "run & co.pvd", iter(steps()), TIMES)
    names = ["run & co.pvd", *(f"run & co_{k:04d}.vtu" for k in range(3))]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    series = read_series(tmp_path / "out" / "run & co.pvd")
    check(series)
    assert [part.tolist() for part in series.mesh(1).cell_sets["first"]] == [[0], [0]]
    pyvista = pytest.importorskip("pyvista")
    reader = pyvista.get_reader(tmp_path / "out" / "run & co.pvd")
    assert reader.time_values == TIMES
    reader.set_active_time_value(TIMES[2])
    assert np.array_equal(reader.read()[0].point_data["u"], np.arange(9.0) * 2)


def test_numbered_files_in_any_order(tmp_path):
    names = ["run2_9.vtu", "run2_10.vtk", "run2_007.xdmf"]
    for name, mesh in zip(names, [steps()[1], steps()[2], steps()[0]], strict=True):
        write_mesh(tmp_path / name, mesh)
    check(read_series([tmp_path / name for name in names]), [7.0, 9.0, 10.0])
    with pytest.raises(FileNotFoundError, match=r"run2_8\.vtu"):
        read_series([tmp_path / "run2_8.vtu"])
    with pytest.raises(ValueError, match="a number in the name of every file"):
        read_series([tmp_path / "run.vtu"])
    with pytest.raises(ValueError, match="different numbers"):
        read_series([tmp_path / "run2_9.vtu", tmp_path / "b9.vtu"])
    with pytest.raises(ValueError, match="at least one mesh"):
        read_series([])


@pytest.mark.parametrize("kind", ["XML", "HDF"])
def test_xdmf_series(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    meshes = steps()
    with meshio.xdmf.TimeSeriesWriter("run.xdmf", data_format=kind) as writer:
        writer.write_points_cells(meshes[0].points_in_space(), [(name, nodes) for name, nodes in meshes[0].cells])
        for time, mesh in zip(TIMES, meshes, strict=True):
            cell_data = {"c": list(mesh.cell_data["c"])}
            writer.write_data(time, point_data=dict(mesh.point_data), cell_data=cell_data)
    monkeypatch.chdir("/")
    series = read_series(tmp_path / "run.xdmf")
    check(series)
    assert series.mesh(0).path == tmp_path / "run.xdmf"
    with meshio.xdmf.TimeSeriesReader(tmp_path / "run.xdmf") as reader:
        points, _ = reader.read_points_cells()
        assert np.array_equal(points, series.mesh(0).points_in_space())
        for k in range(3):
            time, point_data, _ = reader.read_data(k)
            assert time == series.times[k] and np.array_equal(point_data["u"], series.mesh(k).point_data["u"])
    with pytest.raises(ValueError, match="a time series is read by read_series"):
        read_mesh(tmp_path / "run.xdmf")


def xdmf(shift="0", times=("", "", ""), head=""):
    """A series whose steps each have points of their own; those of the last one are moved."""
    grids = []
    for k, time in enumerate(times):
        x = shift if k == 2 else "0"
        grids.append(
            f'<Grid GridType="Uniform">{time}<Topology TopologyType="Triangle" NumberOfElements="1">'
            f'<DataItem Dimensions="1 3" NumberType="Int" Precision="8" Format="XML">0 1 2</DataItem></Topology>'
            f'<Geometry GeometryType="XY">'
            f'<DataItem Dimensions="3 2" Precision="8" Format="XML">{x} 0 1 0 0 1</DataItem></Geometry>'
            f'<Attribute Name="u" AttributeType="Scalar" Center="Node">'
            f'<DataItem Dimensions="3" Precision="8" Format="XML">0 {k} 2</DataItem></Attribute></Grid>'
        )
    return (
        f'<Xdmf Version="3.0"><Domain><Grid GridType="Collection" CollectionType="Temporal">{head}'
        f"{''.join(grids)}</Grid></Domain></Xdmf>"
    )


def test_times_of_xdmf_series(tmp_path):
    path = tmp_path / "run.xdmf"
    path.write_text(xdmf())
    assert read_series(path).times.tolist() == [0, 1, 2]  # no times: their numbers
    path.write_text(xdmf(times=['<Time Value="3"/>'] * 3))
    with pytest.raises(ValueError, match="times that increase"):
        read_series(path)
    path.write_text(xdmf(times=[f'<Time Value="{time}"/>' for time in (3, 1, 2)]))
    series = read_series(path)
    assert series.times.tolist() == [1, 2, 3]
    assert [series.mesh(k).point_data["u"][1] for k in range(3)] == [1, 2, 0]
    item = '<DataItem Dimensions="3" Format="XML">{}</DataItem></Time>'
    path.write_text(xdmf(head='<Time TimeType="List">' + item.format("0.5 1.5 4")))
    assert read_series(path).times.tolist() == [0.5, 1.5, 4]
    path.write_text(xdmf(head='<Time TimeType="HyperSlab">' + item.format("1 0.5 3")))
    assert read_series(path).times.tolist() == [1, 1.5, 2]
    path.write_text(xdmf(head='<Time TimeType="List">' + item.format("0.5 1.5")))
    with pytest.raises(ValueError, match=r"3 times, one a step \(got 2\)"):
        read_series(path)


def test_points_that_move_are_refused(tmp_path):
    (tmp_path / "run.xdmf").write_text(xdmf(shift="0.25"))
    series = read_series(tmp_path / "run.xdmf")
    assert series.mesh(1).points.tolist() == [[0, 0], [1, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"points of the first mesh of the series .*number 2"):
        series.mesh(2)
    meshes = [ZOO["quads"], replace(ZOO["quads"], points=ZOO["quads"].points + 1)]
    with pytest.raises(ValueError, match=r"meshes on the same points .*number 1"):
        write_series(tmp_path / "run.pvd", meshes, [0, 1])
    assert not (tmp_path / "run.pvd").exists()
    for k, mesh in enumerate(meshes):
        write_mesh(tmp_path / f"m{k}.vtu", mesh)
    with pytest.raises(ValueError, match=r"m1\.vtu: Expected the points of the first mesh"):
        read_series([tmp_path / "m0.vtu", tmp_path / "m1.vtu"]).mesh(1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.pvd", "no xml", "a collection in XML"),
        ("a.pvd", "<VTKFile type='ImageData'/>", r"type Collection with data sets \(got 'ImageData'\)"),
        (
            "a.pvd",
            "<VTKFile type='Collection'><Collection><DataSet timestep='x' file='b'/></Collection></VTKFile>",
            "a time and",
        ),
        (
            "a.pvd",
            "<VTKFile type='Collection'><Collection><DataSet timestep='1' part='0' file='b.vtu'/>"
            "<DataSet timestep='1' part='1' file='c.vtu'/></Collection></VTKFile>",
            r"one file a time \(got b\.vtu and c\.vtu at 1\.0\)",
        ),
        ("a.xdmf", "<Xdmf><Domain><Grid/></Domain></Xdmf>", r"one temporal collection of grids \(got 0\)"),
        ("a.xdmf", "<", "a time series in XML"),
        ("a.vtu", "", "a list of files"),
    ],
)
def test_what_is_no_series_is_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_series(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_missing_series_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.pvd"):
        read_series(tmp_path / "nothing.pvd")


@pytest.mark.parametrize(
    ("name", "times", "message"),
    [
        ("a.xdmf", TIMES, r"ends in \.pvd"),
        ("a.pvd", [0, 1, 1], "times that increase"),
        ("a.pvd", [], "at least one mesh"),
        ("a.pvd", [0, 1, 2, 3], r"each of 4 times \(got 3\)"),
        ("a.pvd", [0, 1], r"each of 2 times \(got more\)"),
    ],
)
def test_what_cannot_be_written_is_refused(name, times, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_series(tmp_path / name, steps(), times)
    assert not (tmp_path / name).exists()
