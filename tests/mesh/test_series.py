"""Meshes over time."""

import re
from dataclasses import replace

import meshio
import numpy as np
import pytest

from pitgeo.mesh import Mesh, read_mesh, read_series, write_mesh, write_series
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
    with pytest.raises(ValueError, match=r"one mesh \(got a time series of 3 steps\).*read_series"):
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
    with pytest.raises(ValueError, match=r"one entry for each time and part \(got grid 0 and grid 1 at time 3"):
        read_series(path)
    path.write_text(xdmf(times=[f'<Time Value="{time}"/>' for time in ("nan", 1, 2)]))
    with pytest.raises(ValueError, match="finite times"):
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
    path.write_text(xdmf(head='<Time TimeType="Range">' + item.format("1 3")))
    assert read_series(path).times.tolist() == [1, 2, 3]
    single = '<Time TimeType="Single"><DataItem Dimensions="1" Format="XML">{}</DataItem></Time>'
    path.write_text(xdmf(times=[single.format(time) for time in (2, 4, 8)]))
    assert read_series(path).times.tolist() == [2, 4, 8]
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
            r"a mesh file at .*b\.vtu, of step 0 at time 1",
        ),
        ("a.xdmf", "<Xdmf><Domain><Grid/></Domain></Xdmf>", r"a Topology in the grid .*is the file whole"),
        ("a.xdmf", "<", "an XDMF file in XML"),
        ("a.xdmf", "<Xdmf><Domain/></Xdmf>", "at least one grid"),
        ("a.xdmf", "<VTKFile/>", r"an XDMF file \(got an XML file of 'VTKFile'\)"),
        ("a.vtu", "", "a list of files"),
    ],
)
def test_what_is_no_series_is_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
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


def plain_step(value, cells=((0, 1, 2),), points=((0, 0), (1, 0), (0, 1))):
    points = np.array(points, float)
    return Mesh(points, (("triangle", np.array(cells)),), {"u": np.full(len(points), float(value))})


def test_cells_in_another_order_are_refused(tmp_path):
    square = ((0, 0), (1, 0), (0, 1), (1, 1))
    write_mesh(tmp_path / "m0.vtu", plain_step(0, ((0, 1, 2), (1, 3, 2)), square))
    write_mesh(tmp_path / "m1.vtu", plain_step(1, ((1, 3, 2), (0, 1, 2)), square))
    with pytest.raises(ValueError, match=r"m1\.vtu: Expected the cells of the first mesh .*at number 1, time 1"):
        read_series([tmp_path / "m0.vtu", tmp_path / "m1.vtu"]).mesh(1)


def test_a_step_of_other_points_is_named(tmp_path):
    write_mesh(tmp_path / "m_0.5.vtu", plain_step(0))
    write_mesh(tmp_path / "m_1.5.vtu", plain_step(1, points=((0, 0), (1, 0), (0, 1), (1, 1))))
    with pytest.raises(ValueError, match=r"m_1\.5\.vtu: Expected the 3 points .*\(got 4 at number 1, time 1\.5\)"):
        read_series([tmp_path / "m_1.5.vtu", tmp_path / "m_0.5.vtu"]).mesh(1)


def test_steps_that_are_damaged_are_named(tmp_path):
    for k in range(3):
        write_mesh(tmp_path / f"m{k}.vtu", plain_step(k))
    collect(tmp_path / "run.pvd", [(0, "m0.vtu"), (0.5, "m1.vtu"), (1, "m2.vtu")])
    (tmp_path / "m1.vtu").write_bytes((tmp_path / "m1.vtu").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"m1\.vtu"):
        read_series(tmp_path / "run.pvd").mesh(1)
    (tmp_path / "m1.vtu").unlink()
    with pytest.raises(FileNotFoundError, match=r"run\.pvd: .*m1\.vtu, of step 1 at time 0\.5"):
        read_series(tmp_path / "run.pvd")
    (tmp_path / "run.pvd").write_text((tmp_path / "run.pvd").read_text()[:-40])
    with pytest.raises(ValueError, match=r"run\.pvd: Expected a collection in XML"):
        read_series(tmp_path / "run.pvd")


def collect(path, lines):
    """A collection of lines of time, file and further attributes."""
    sets = "".join(f'<DataSet timestep="{time}" {" ".join(more)} file="{file}"/>' for time, file, *more in lines)
    path.write_text(f'<VTKFile type="Collection" version="0.1"><Collection>{sets}</Collection></VTKFile>')


def values(path):
    series = read_series(path)
    return [(float(series.times[k]), float(series.mesh(k).point_data["u"][0])) for k in range(len(series))]


@pytest.mark.parametrize(
    ("lines", "expected", "note"),
    [
        ([(0, 0), (1, 1), (2, 2), (1, 3), (2, 4), (3, 5)], [0, 3, 4, 5], "2 entries are replaced"),
        ([(0, 0), ("1.0", 1), (1, 3), (2, 4)], [0, 3, 4], "1 entry is replaced"),
        ([(0, 0), (1, 1), (2, 2), (3, 5), (1, 3)], [0, 3, 2, 5], "go back to 1, and 2 later steps .* from 2 on"),
        ([(0, 0), (1, 1), (3, 2), (0.5, 3), (1.5, 4)], [0, 3, 1, 4, 2], "go back to 0.5, and 2 later"),
        ([(2, 2), (0, 0), (1, 1)], [0, 1, 2], "go back to 0, and 1 later"),
        ([(0, 0), (1, 1), (2, 2)], [0, 1, 2], None),
        ([(0, 0), (0, 0), (1, 1), (1, 1)], [0, 1], "2 entries are replaced"),
    ],
)
def test_restarted_runs_are_played_as_paraview_does(lines, expected, note, tmp_path):
    for k in range(6):
        write_mesh(tmp_path / f"m{k}.vtu", plain_step(k))
    for part in ([], ['part="0"']):
        collect(tmp_path / "run.pvd", [(time, f"m{k}.vtu", *part) for time, k in lines])
        found = values(tmp_path / "run.pvd")
        assert [value for _, value in found] == expected
        assert [time for time, _ in found] == sorted({float(time) for time, _ in lines})
        notes = read_series(tmp_path / "run.pvd").notes
        assert [kind for kind, _ in notes] == ["restart"] * bool(note)
        assert not note or re.search(note, notes[0].text)


def halves(folder, k, shift=0.0):
    """Two triangles of a square in two files, u = x + k (+ shift)."""
    for part, corners in enumerate((((0, 0), (1, 0), (0, 1)), ((1, 0), (1, 1), (0, 1)))):
        mesh = plain_step(0, points=corners)
        write_mesh(folder / f"h{k}_{part}.vtu", mesh.with_point_data("u", mesh.points[:, 0] + k + shift, "replace"))


@pytest.mark.parametrize("by", ["time", "part"])
def test_parts_of_a_mesh_are_put_together(by, tmp_path):
    lines = [(k, f"h{k}_{part}.vtu", f'part="{part}"') for k in range(3) for part in range(2)]
    for k in range(3):
        halves(tmp_path, k)
    lines.sort(key=lambda line: line[2] if by == "part" else "")
    collect(tmp_path / "run.pvd", lines)
    series = read_series(tmp_path / "run.pvd")
    assert len(series) == 3 and not series.notes
    for k in range(3):
        mesh = series.mesh(k)
        assert len(mesh.points) == 4 and mesh.number_of_cells == 2
        assert mesh.point_data["u"].tolist() == (mesh.points[:, 0] + k).tolist()
        assert [note.kind for note in mesh.notes] == ["pieces"]
    collect(tmp_path / "one.pvd", lines[:1] + [line for line in lines if line[1] == "h0_1.vtu"])
    single = read_mesh(tmp_path / "one.pvd")
    assert len(single.points) == 4 and single.point_data["u"].tolist() == single.points[:, 0].tolist()
    with pytest.raises(ValueError, match=r"run\.pvd: Expected one mesh \(got a time series of 3 steps\)"):
        read_mesh(tmp_path / "run.pvd")


def test_groups_are_parts_with_names(tmp_path):
    halves(tmp_path, 0)
    collect(tmp_path / "run.pvd", [(0, f"h0_{k}.vtu", f'group="{name}"') for k, name in enumerate(("air", "wall"))])
    mesh = read_series(tmp_path / "run.pvd").mesh(0)
    assert len(mesh.points) == 4 and [len(part) for part in mesh.cell_sets["wall"]] == [0, 1]


def test_restarts_of_parts(tmp_path):
    for k in range(3):
        halves(tmp_path, k)
    old = [(k, f"h{k}_{part}.vtu", f'part="{part}"') for k in range(2) for part in range(2)]
    collect(tmp_path / "run.pvd", [*old, *((1, f"h2_{part}.vtu", f'part="{part}"') for part in range(2))])
    assert values(tmp_path / "run.pvd") == [(0, 0), (1, 2)]
    collect(tmp_path / "run.pvd", [*old, (1, "h2_0.vtu", 'part="0"')])
    with pytest.raises(ValueError, match=r"write all parts again \(got h1_1\.vtu at time 1"):
        read_series(tmp_path / "run.pvd")


@pytest.mark.parametrize("part", [[], ['part="0"']])
def test_parts_without_numbers_are_no_restart(part, tmp_path):
    for k in range(2):
        halves(tmp_path, k)
    collect(tmp_path / "run.pvd", [(k, f"h{k}_{number}.vtu", *part) for k in range(2) for number in range(2)])
    with pytest.raises(ValueError, match=r'got h0_0\.vtu and h0_1\.vtu at time 0.*number them as parts, part="0"'):
        read_series(tmp_path / "run.pvd")
