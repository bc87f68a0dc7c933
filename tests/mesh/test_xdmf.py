"""XDMF files as solvers write them."""

import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from pitgeo.mesh import read_mesh, read_series
from tests.mesh.helpers import listed_cells, texts

SQUARE = "0 0 1 0 0 1 1 1"
HEAD = '<Xdmf Version="3.0" xmlns:xi="https://www.w3.org/2001/XInclude"><Domain>'
DOLFINX = "xpointer(/Xdmf/Domain/Grid[@GridType='Uniform'][1]/*[self::Topology or self::Geometry])"


def item(numbers, *shape, kind="Float", precision=8):
    text = " ".join(map(str, numbers)) if not isinstance(numbers, str) else numbers
    return (
        f'<DataItem Dimensions="{" ".join(map(str, shape))}" NumberType="{kind}" Precision="{precision}" '
        f'Format="XML">{text}</DataItem>'
    )


def mesh(points=SQUARE, cells="0 1 2 1 3 2", kind="Triangle", nodes=3):
    count, corners = len(cells.split()) // nodes, len(points.split()) // 2
    return (
        f'<Topology TopologyType="{kind}" NumberOfElements="{count}" NodesPerElement="{nodes}">'
        f"{item(cells, count, nodes, kind='Int')}</Topology>"
        f'<Geometry GeometryType="XY">{item(points, corners, 2)}</Geometry>'
    )


def field(name, numbers, center="Node"):
    return (
        f'<Attribute Name="{name}" AttributeType="Scalar" Center="{center}">{item(numbers, len(numbers))}</Attribute>'
    )


def grid(inside, name="g", more='GridType="Uniform"'):
    return f'<Grid Name="{name}" {more}>{inside}</Grid>'


def collection(inside, kind, name="c"):
    return grid(inside, name, f'GridType="Collection" CollectionType="{kind}"')


def include(path=DOLFINX):
    return f'<xi:include xpointer="{path}"/>'


MESH = include()


def function(name, times=(0, 1), start=MESH, base=0, attribute=None):
    """A temporal collection as dolfinx writes it: at point k and time t, ``base + k + 10 t``."""
    steps = "".join(
        grid(
            f'{start}<Time Value="{t}"/>'
            f'<Attribute Name="{attribute or name}" AttributeType="Scalar" Center="Node">'
            f"{item([base + k + 10 * t for k in range(4)], 4, 1)}</Attribute>",
            name,
        )
        for t in times
    )
    return collection(steps, "Temporal", name)


def write(path, *grids):
    path.write_text(HEAD + "".join(grids) + "</Domain></Xdmf>")
    return path


def test_functions_on_one_mesh_are_fields_of_every_step(tmp_path):
    path = write(tmp_path / "up.xdmf", grid(mesh(), "mesh"), function("u"), function("p", base=100))
    series = read_series(path)
    assert series.times.tolist() == [0, 1] and not series.notes
    for k in range(2):
        found = series.mesh(k)
        assert found.points.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]] and not found.cell_data
        assert found.cells[0][1].tolist() == [[0, 1, 2], [1, 3, 2]] and len(found.cells) == 1
        assert set(found.point_data) == {"u", "p"}
        assert found.point_data["u"].ravel().tolist() == [10 * k + j for j in range(4)]
        assert found.point_data["p"].ravel().tolist() == [100 + 10 * k + j for j in range(4)]
    with pytest.raises(ValueError, match=r"one mesh \(got a time series of 2 steps\); read it by .*read_series"):
        read_mesh(path)


@pytest.mark.parametrize(
    "start",
    [
        include("""xpointer(//Grid[@Name='mesh']/*[self::Topology or self::Geometry])"""),
        include("xpointer(//Grid[1]/*[self::Topology or self::Geometry])").replace("//Grid[1]", "/Xdmf/Domain/Grid[2]"),
        include("xpointer(/Xdmf/Domain[1]/Grid[last()]/Topology)")
        + include("xpointer(/Xdmf/Domain[1]/Grid[last()]/Geometry)"),
        include("element(/1/1/2/1)") + include("element(/1/1/2/2)"),
        "<Topology Reference=\"/Xdmf/Domain/Grid[@Name='mesh']/Topology\"/>"
        '<Geometry Reference="XML">/Xdmf/Domain/Grid[@Name="mesh"]/Geometry</Geometry>',
        '<Topology TopologyType="Triangle" NumberOfElements="2"><DataItem Reference="XML">'
        "//Grid[@Name='mesh']/Topology/DataItem</DataItem></Topology>" + include("xpointer(//Geometry)"),
    ],
)
def test_every_way_to_refer_to_a_mesh(start, tmp_path):
    path = write(tmp_path / "up.xdmf", function("u", start=start), grid(mesh(), "mesh"))
    found = read_series(path).mesh(1)
    assert found.points.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert found.cells[0][1].tolist() == [[0, 1, 2], [1, 3, 2]]
    assert found.point_data["u"].ravel().tolist() == [10, 11, 12, 13]


def test_position_counts_among_what_is_left(tmp_path):
    """``Grid[@GridType='Uniform'][1]`` is the first uniform grid, though a collection comes before it."""
    path = write(tmp_path / "up.xdmf", function("u"), grid(mesh(), "mesh"), grid(mesh("5 5 6 5 5 6", "0 1 2"), "other"))
    assert read_series(path).mesh(0).points[-1].tolist() == [1, 1]


def test_the_mesh_may_be_in_another_file(tmp_path):
    write(tmp_path / "mesh.xmf", grid(mesh(), "mesh"))
    start = f'<xi:include href="mesh.xmf" xpointer="{DOLFINX}"/>'
    path = write(tmp_path / "u.xdmf", function("u", start=start))
    assert read_series(path).mesh(1).points.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    (tmp_path / "mesh.xmf").unlink()
    with pytest.raises(ValueError, match=r"u\.xdmf: Expected a file at .*mesh\.xmf"):
        read_series(path)


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        (
            (grid(mesh(), "mesh"), function("u"), function("p", (1, 2))),
            r"'u' at 0, 1, but 'p' at 1, 2\); write them at",
        ),
        (
            (grid(mesh(), "mesh"), function("u"), function("p", (0,))),
            r"'u' at 0, 1, but 'p' at 0\); .* file of its own",
        ),
        (
            (grid(mesh(), "mesh"), function("u"), function("p", start=mesh("0 0 2 0 0 2 2 2"))),
            r"functions on one mesh \(got 'u' and 'p' on different ones\)",
        ),
        (
            (grid(mesh(), "mesh"), function("u"), function("p", attribute="u", base=3)),
            r"two functions have the name 'u'",
        ),
        (
            (grid(mesh(), "mesh"), function("u", start=include("xpointer(//Grid[@Name='x'])"))),
            r"an element .*is referred",
        ),
        ((grid(mesh(), "mesh"), function("u", start=include("xpointer(id('x'))"))), r"a path of elements"),
        ((grid(include("xpointer(/Xdmf/Domain)"), "mesh"),), r"do not include themselves"),
        ((collection("", "Temporal"),), r"grids in the collection 'c' \(got none\)"),
        (
            (grid(mesh(), "mesh"), grid(mesh("0 0 1 0 0 1", "0 1 2"), "b"), function("u", start="")),
            r"a Topology in the grid",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(grids, message, tmp_path):
    path = write(tmp_path / "up.xdmf", *grids)
    with pytest.raises(ValueError, match=message) as caught:
        read_series(path).mesh(0)
    assert str(caught.value).startswith(str(path))
    assert "read_mesh" not in str(caught.value) and "read_series" not in str(caught.value)


def test_a_series_of_one_step_is_a_mesh(tmp_path):
    path = write(tmp_path / "u.xdmf", grid(mesh(), "mesh"), function("u", (3,)))
    assert read_mesh(path).point_data["u"].ravel().tolist() == [30, 31, 32, 33]
    series = read_series(path)
    assert series.times.tolist() == [3] and series.mesh(0).point_data["u"].ravel().tolist() == [30, 31, 32, 33]


def test_a_mesh_alone_is_no_series(tmp_path):
    path = write(tmp_path / "u.xdmf", grid(mesh() + '<Time Value="2"/>' + field("u", range(4))))
    assert read_mesh(path).point_data["u"].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"temporal collection .*\(got a mesh without times\); read it by .*read_mesh"):
        read_series(path)


def test_grids_without_time_beside_functions_are_named(tmp_path):
    tags = grid(include() + field("tag", [1, 2], "Cell"), "tags")
    series = read_series(write(tmp_path / "u.xdmf", grid(mesh(), "mesh"), tags, function("u")))
    assert texts(series) == ["'tags' left out, which has no time beside grids that have"]
    assert set(series.mesh(0).point_data) == {"u"} and not series.mesh(0).cell_data


def test_restarts_are_played_as_in_collections(tmp_path):
    series = read_series(write(tmp_path / "u.xdmf", grid(mesh(), "mesh"), restarted()))
    assert series.times.tolist() == [0, 1, 2]
    assert [series.mesh(k).point_data["u"][0].item() for k in range(3)] == [0, 3, 4]
    assert series.notes[0].kind == "restart" and series.notes[0].text.startswith("2 entries are replaced")


def restarted():
    steps = [(0, 0), (1, 1), (2, 2), (1, 3), (2, 4)]
    inside = "".join(grid(include() + f'<Time Value="{t}"/>' + field("u", [value] * 4)) for t, value in steps)
    return collection(inside, "Temporal", "u")


def walls(k, time):
    """A step of two grids: three edges, and two triangles; ``p = x + 10 k``, and a cell field."""
    edges = mesh("0 0 1 0 1 1", "0 1 1 2", "Polyline", 2) + field("p", [10 * k, 10 * k + 1, 10 * k + 1])
    body = mesh() + field("p", [10 * k, 10 * k + 1, 10 * k, 10 * k + 1]) + field("q", [k + 5, k + 6], "Cell")
    return collection(grid(edges, "walls", "") + grid(body, "elements", "") + time, "Spatial", "Mesh")


def check_walls(found, k):
    assert sorted(found.points.tolist()) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert found.point_data["p"].tolist() == (found.points[:, 0] + 10 * k).tolist()
    assert [(kind, len(nodes)) for kind, nodes in found.cells] == [("line", 2), ("triangle", 2)]
    assert np.isnan(found.cell_data["q"][0]).all() and found.cell_data["q"][1].tolist() == [k + 5, k + 6]
    assert [len(part) for part in found.cell_sets["walls"]] == [2, 0]
    assert [len(part) for part in found.cell_sets["elements"]] == [0, 2]
    for (_, nodes), area in zip(found.cells, (1.0, 0.5), strict=True):  # edges of length 1, triangles of area 1/2
        corners = found.points[nodes]
        first, last = corners[:, 1] - corners[:, 0], corners[:, -1] - corners[:, 0]
        size = (
            np.linalg.norm(first, axis=1)
            if nodes.shape[1] == 2
            else 0.5 * (first[:, 0] * last[:, 1] - first[:, 1] * last[:, 0])
        )
        assert size.tolist() == [area, area]


def test_steps_of_several_grids_are_put_together(tmp_path):
    times = ['<Time TimeType="Single" Value="0.5"/>', '<Time Value="1.5"/>']
    path = write(tmp_path / "r.xdmf", collection("".join(walls(k, times[k]) for k in range(2)), "Temporal"))
    series = read_series(path)
    assert series.times.tolist() == [0.5, 1.5]
    for k in range(2):
        check_walls(series.mesh(k), k)


def test_times_of_the_grids_of_a_step(tmp_path):
    body = grid(mesh() + '<Time Value="{}"/>' + field("u", range(4)), "a")
    other = body.replace('"a"', '"b"').replace("0 0 1 0 0 1 1 1", "1 0 2 0 1 1 2 1").replace("0 1 2 3<", "1 4 3 6<")
    steps = [collection((body + other).format(t, t), "Spatial") for t in (2, 3)]
    series = read_series(write(tmp_path / "r.xdmf", collection("".join(steps), "Temporal")))
    assert series.times.tolist() == [2, 3] and len(series.mesh(0).points) == 6
    assert series.mesh(0).number_of_cells == 4
    wrong = collection((body + other).format(2, 3).replace('"2"', '"4"', 1), "Spatial")
    with pytest.raises(ValueError, match="grids of one step with several"):
        read_series(write(tmp_path / "w.xdmf", collection(wrong, "Temporal")))


@pytest.mark.parametrize("kind", ["Spatial", None, "tree", "nested"])
def test_spatial_collections_alone(kind, tmp_path):
    text = walls(2, "")
    text = {
        None: text.replace('CollectionType="Spatial"', ""),
        "tree": text.replace('GridType="Collection" CollectionType="Spatial"', 'GridType="Tree"'),
        "nested": collection(text, "Spatial", "all"),
    }.get(kind, text)
    check_walls(read_mesh(write(tmp_path / "r.xdmf", text)), 2)


def test_series_in_a_spatial_collection(tmp_path):
    """Each part of the mesh has its own collection over time."""
    left, right = (
        function("a", start=mesh(), attribute="u"),
        function("b", start=mesh("1 0 2 0 1 1 2 1"), attribute="u"),
    )
    series = read_series(
        write(
            tmp_path / "r.xdmf",
            collection(left + right.replace("0 1 2 3<", "1 5 3 7<").replace("10 11 12 13<", "11 15 13 17<"), "Spatial"),
        )
    )
    found = series.mesh(1)
    assert series.times.tolist() == [0, 1] and found.number_of_cells == 4 and len(found.points) == 6
    assert sorted(found.point_data["u"].ravel().tolist()) == [10, 11, 12, 13, 15, 17]


VTK = """
import sys, vtk
from vtk.util.numpy_support import vtk_to_numpy
reader = vtk.vtkXdmfReader()
reader.SetFileName(sys.argv[1])
reader.UpdateInformation()
for time in (0.5, 1.5):
    reader.UpdateTimeStep(time)
    blocks = [reader.GetOutputDataObject(0)]
    while any(block.IsA("vtkMultiBlockDataSet") for block in blocks):
        blocks = [part for block in blocks for part in
                  ([block.GetBlock(k) for k in range(block.GetNumberOfBlocks())]
                   if block.IsA("vtkMultiBlockDataSet") else [block])]
    for block in blocks:
        for k in range(block.GetNumberOfPoints()):
            print(time, *block.GetPoint(k), block.GetPointData().GetArray("p").GetValue(k))
"""


def test_steps_of_several_grids_as_vtk_reads_them(tmp_path):
    pytest.importorskip("vtk")
    times = ['<Time TimeType="Single" Value="0.5"/>', '<Time Value="1.5"/>']
    path = write(tmp_path / "r.xdmf", collection("".join(walls(k, times[k]) for k in range(2)), "Temporal"))
    done = subprocess.run([sys.executable, "-c", VTK, str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip("this VTK does not read XDMF")
    theirs = {tuple(map(float, line.split())) for line in done.stdout.splitlines() if re.match(r"[\d. e+-]+$", line)}
    series = read_series(path)
    mine = {
        (float(time), *point, 0.0, float(p))
        for k, time in enumerate(series.times)
        for point, p in zip(series.mesh(k).points.tolist(), series.mesh(k).point_data["p"], strict=True)
    }
    assert theirs == mine and len(mine) == 8


def test_checkpoints_of_dolfin_are_refused_with_what_to_do(tmp_path):
    parts = item([0, 1, 2], 3, kind="UInt", precision=4) * 4
    attribute = (
        '<Attribute ItemType="FiniteElementFunction" ElementFamily="CG" ElementDegree="1" ElementCell="triangle" '
        f'Name="f" Center="Other" AttributeType="Scalar">{parts}</Attribute>'
    )
    path = write(tmp_path / "c.xdmf", collection(grid(mesh() + '<Time Value="0"/>' + attribute), "Temporal", "f"))
    for read in (read_mesh, lambda path: read_series(path).mesh(0)):
        with pytest.raises(ValueError, match=r"c\.xdmf.*'f' is a checkpoint .*write_checkpoint.*XDMFFile\.write"):
            read(path)


def test_cells_of_every_kind(tmp_path):
    mixed = (
        '<Topology TopologyType="Mixed" NumberOfElements="6">'
        f"{item('1 1 3 2 2 0 1 4 0 1 2 5 0 1 3 2 2 3 0 1 3 3 3 1 3 2', 26, kind='Int')}</Topology>"
        f'<Geometry GeometryType="XY">{item(SQUARE, 4, 2)}</Geometry>'
    )
    found = read_mesh(write(tmp_path / "m.xdmf", grid(mixed + field("c", range(6), "Cell"))))
    assert listed_cells(found) == [
        ("vertex", [[3]]),
        ("line", [[0, 1]]),
        ("triangle", [[0, 1, 2]]),
        ("quad", [[0, 1, 3, 2]]),
        ("line", [[0, 1], [1, 3]]),
        ("triangle", [[1, 3, 2]]),
    ]
    assert [part.tolist() for part in found.cell_data["c"]] == [[0], [1], [2], [3], [4, 4], [5]]
    chain = mesh(cells="0 1 3 2", kind="Polyline", nodes=4) + field("c", [7], "Cell")
    found = read_mesh(write(tmp_path / "m.xdmf", grid(chain)))
    assert found.cells[0][1].tolist() == [[0, 1], [1, 3], [3, 2]] and found.cell_data["c"][0].tolist() == [7, 7, 7]
    cloud = '<Topology TopologyType="Polyvertex" NumberOfElements="4"/>' + mesh().partition("</Topology>")[2]
    assert read_mesh(write(tmp_path / "m.xdmf", grid(cloud))).cells[0][1].tolist() == [[0], [1], [2], [3]]


def test_numbers_in_every_form(tmp_path):
    numbers = np.arange(8.0).reshape(4, 2) / 3
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["all/u"] = np.stack([numbers, numbers + 10])
    (tmp_path / "a.bin").write_bytes(b"1234" + np.arange(4, dtype=">f4").tobytes())
    forms = {
        "hdf": '<DataItem Dimensions="4 2" Format="HDF" Precision="8">a.h5:/all/u|1 0 0|1 1 1|1 4 2</DataItem>',
        "slab": f'<DataItem ItemType="HyperSlab" Dimensions="4 2">{item("1 0 0 1 1 1 1 4 2", 3, 3, kind="Int")}'
        '<DataItem Dimensions="2 4 2" Format="HDF" Precision="8">a.h5:/all/u</DataItem></DataItem>',
        "binary": '<DataItem Dimensions="4" Format="Binary" Precision="4" Endian="Big" Seek="4">a.bin</DataItem>',
        "join": '<DataItem ItemType="Function" Function="JOIN($0, $1)" Dimensions="4 2">'
        f"{item(range(4), 4)}{item(range(4, 8), 4)}</DataItem>",
        "plain": '<DataItem Dimensions="4" Format="XML">0.1 0.2 0.3 0.4</DataItem>',
        "flat": item(range(12), 12),
    }
    inside = "".join(
        f'<Attribute Name="{name}" AttributeType="Vector">{text}</Attribute>' for name, text in forms.items()
    )
    found = read_mesh(write(tmp_path / "m.xdmf", grid(mesh() + inside))).point_data
    assert np.array_equal(found["hdf"], numbers + 10) and np.array_equal(found["slab"], numbers + 10)
    assert found["binary"].tolist() == [0, 1, 2, 3] and found["binary"].dtype.isnative
    assert found["join"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert (
        found["plain"].tolist() == [0.1, 0.2, 0.3, 0.4]
        and found["flat"].tolist() == np.arange(12).reshape(4, 3).tolist()
    )


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (mesh() + field("u", range(3)), r"the field 'u' cannot be read: there are 3 numbers for 4 points"),
        (
            mesh() + field("u", range(4)).replace('Dimensions="4"', 'Dimensions="5"'),
            "Dimensions are 5, but there are 4",
        ),
        (
            mesh() + '<Attribute Name="u"><DataItem Dimensions="4" Format="HDF">no.h5:/u</DataItem></Attribute>',
            r"no file .*no\.h5",
        ),
        (mesh().replace('"2" NodesPerElement', '"3" NodesPerElement'), "there are 2 cells in place of 3"),
        (mesh().replace('"XY"', '"XYZ"'), "rows of 2 numbers in place of 3"),
        (mesh(kind="Quadrilateral"), "rows of 3 numbers in place of 4"),
        (mesh(kind="3DSMesh"), "cells of the type '3dsmesh' are not read"),
        (mesh().replace('"XY"', '"ORIGIN_DXDY"'), "points of the type ORIGIN_DXDY are not read"),
        (mesh() + field("u", range(4)).replace('"Float"', '"Text"'), "numbers of the type 'text'"),
    ],
)
def test_what_cannot_be_read_is_named(inside, message, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(write(tmp_path / "m.xdmf", grid(inside)))
    assert str(caught.value).startswith(str(tmp_path / "m.xdmf"))
    series = collection(grid(inside + '<Time Value="0.25"/>'), "Temporal")
    with pytest.raises(ValueError, match=r"s\.xdmf, step 0 at time 0\.25: .*" + message):
        read_series(write(tmp_path / "s.xdmf", series)).mesh(0)


def test_files_that_are_cut_off_are_refused(tmp_path):
    path = write(tmp_path / "u.xdmf", grid(mesh(), "mesh"), function("u"))
    path.write_text(path.read_text()[:-30])
    for read in (read_mesh, read_series):
        with pytest.raises(ValueError, match=r"u\.xdmf: Expected an XDMF file in XML .*is it whole"):
            read(path)


def test_sets_and_left_out_fields(tmp_path):
    more = (
        f'<Set Name="inlet" SetType="Node">{item("0 2", 2, kind="Int")}</Set>'
        f'<Set Name="hot" SetType="Cell">{item("1", 1, kind="Int")}</Set>'
        f'<Set Name="rim" SetType="Face">{item("1", 1, kind="Int")}</Set>' + field("e", range(5), "Edge")
    )
    found = read_mesh(write(tmp_path / "m.xdmf", grid(mesh() + more)))
    assert found.point_sets["inlet"].tolist() == [0, 2] and found.cell_sets["hot"][0].tolist() == [1]
    assert texts(found) == ["'rim', a set of Faces, is left out", "'e', a field of edges, is left out"]


def test_jumps_at_seams_are_said_where_steps_differ(tmp_path):
    """At the first step both parts are zero, and one mesh; later they differ where they meet."""
    right = mesh("1 0 2 0 1 1 2 1")
    steps = "".join(
        collection(
            grid(mesh() + field("u", [0] * 4), "a") + grid(right + field("u", [k] * 4), "b") + f'<Time Value="{k}"/>',
            "Spatial",
        )
        for k in range(2)
    )
    series = read_series(write(tmp_path / "r.xdmf", collection(steps, "Temporal")))
    assert len(series.mesh(0).points) == 6
    with pytest.raises(
        ValueError, match=r"6 points .*\(got 8 at number 1, time 1, where points on seams of pieces stay"
    ):
        series.mesh(1)


def test_functions_with_copies_of_one_mesh(tmp_path):
    """Old dolfin writes the mesh again for every function, and for every step."""
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for copy in range(4):
            file[f"Mesh/{copy}/topology"] = np.array([[0, 1, 2], [1, 3, 2]])
            file[f"Mesh/{copy}/geometry"] = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]])

    def series(name, first, base):
        steps = ""
        for k in range(2):
            item = f'Format="HDF">m.h5:/Mesh/{first + k}'
            steps += grid(
                '<Topology TopologyType="Triangle" NumberOfElements="2">'
                f'<DataItem Dimensions="2 3" NumberType="Int" {item}/topology</DataItem></Topology>'
                f'<Geometry GeometryType="XY"><DataItem Dimensions="4 2" {item}/geometry</DataItem></Geometry>'
                f'<Time Value="{k}"/>' + field(name, [base + k] * 4)
            )
        return collection(steps, "Temporal", name)

    path = write(tmp_path / "up.xdmf", series("u", 0, 0), series("p", 2, 100))
    found = read_series(path).mesh(1)
    assert len(found.points) == 4 and found.number_of_cells == 2 and not found.notes
    assert found.point_data["u"].tolist() == [1] * 4 and found.point_data["p"].tolist() == [101] * 4
    with h5py.File(tmp_path / "m.h5", "a") as file:
        file["Mesh/3/geometry"][0, 0] = 0.25
    with pytest.raises(ValueError, match=r"functions on one mesh \(got 'u' and 'p' on different ones\)"):
        read_series(path).mesh(1)


def test_functions_without_time_are_fields_of_one_mesh(tmp_path):
    functions = [grid(include() + field(name, [base] * 4), name) for name, base in (("u", 3), ("p", 4))]
    found = read_mesh(write(tmp_path / "up.xdmf", grid(mesh(), "mesh"), *functions))
    assert {name: values.tolist() for name, values in found.point_data.items()} == {"u": [3] * 4, "p": [4] * 4}
    assert len(found.points) == 4 and found.number_of_cells == 2 and not found.cell_data and not found.notes
