"""Every format that is read, by files of independent writers, against the arrays that they were made from."""

import importlib
import re
from pathlib import Path

import meshio
import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import read_mesh
from pitgeo.mesh.cell_types import VTK_TYPES
from pitgeo.mesh.formats import FORMATS
from tests.geometry.test_geometry_cells import reference
from tests.mesh.helpers import texts

pyvista = pytest.importorskip("pyvista")
xml = importlib.import_module("vtkmodules.vtkIOXML")
WEDGE = [0, 2, 1, 3, 5, 4]


def fields(count, seed=0):
    """A field of every kind that formats have."""
    random = np.random.default_rng(seed)
    return {
        "scalar": random.random(count),
        "single": random.random(count).astype(np.float32),
        "vector": random.random((count, 3)),
        "two": random.random((count, 2)),
        "tensor": random.random((count, 9)),
        "six": random.random((count, 6)).astype(np.float32),
        "int": random.integers(-(2**31), 2**31 - 1, count, dtype=np.int32),
        "long": random.integers(-(2**62), 2**62, count),
        "byte": random.integers(0, 255, count, dtype=np.uint8),
        "short": random.integers(-(2**15), 2**15 - 1, count, dtype=np.int16),
        "with blanks é": random.random(count),
    }


def with_fields(grid):
    for name, values in fields(grid.n_points).items():
        grid.point_data[name] = values
    for name, values in fields(grid.n_cells, 1).items():
        grid.cell_data[name] = values
    return grid


def every_cell():
    """A grid with one cell of every type that VTK has, each with points of its own, and fields."""
    points, cells, types, start = [], [], [], 0
    for number, kind in VTK_TYPES.items():
        if kind.startswith(("VTK_BEZIER", "VTK_LAGRANGE_PYRAMID")):
            continue
        places = reference(number, 2) if number != 1 else np.zeros((1, 3))
        points.append(places + np.array([3.0 * len(points), 0.25, 0.5]))
        cells.append([len(places), *range(start, start + len(places))])
        types.append(number)
        start += len(places)
    grid = with_fields(pyvista.UnstructuredGrid(np.concatenate(cells), types, np.concatenate(points)))
    grid.field_data["time"] = [0.25]
    grid.field_data["matrix"] = np.arange(6.0).reshape(2, 3)
    return grid


def write(writer, data, path, **options):
    made = getattr(xml, writer)()
    made.SetFileName(str(path))
    made.SetInputData(data)
    for name, value in options.items():
        getattr(made, name)(*value)
    assert made.Write()


MODES = {
    "ascii": {"SetDataModeToAscii": ()},
    "binary": {"SetDataModeToBinary": ()},
    "plain binary": {"SetDataModeToBinary": (), "SetCompressorTypeToNone": ()},
    "appended": {"SetDataModeToAppended": (), "EncodeAppendedDataOff": ()},
    "base64": {"SetDataModeToAppended": (), "EncodeAppendedDataOn": (), "SetCompressorTypeToLZ4": ()},
    "large": {"SetDataModeToBinary": (), "SetHeaderTypeToUInt64": (), "SetCompressorTypeToLZMA": ()},
    "big-endian": {"SetDataModeToBinary": (), "SetByteOrderToBigEndian": ()},
}


def same_fields(mesh, point_data, cell_data, exact=True):
    for found, known in (
        (mesh.point_data, point_data),
        ({k: np.concatenate(v) for k, v in mesh.cell_data.items()}, cell_data),
    ):
        for name, values in known.items():
            own = found[name].reshape(len(values), -1)
            values = np.asarray(values).reshape(len(values), -1)
            assert own.shape == values.shape, name
            assert own.dtype == values.dtype or not exact, name
            assert np.array_equal(own, values) if exact else np.allclose(own, values, rtol=1e-5, atol=1e-8), name


@pytest.mark.parametrize("mode", [*MODES, "legacy ascii", "legacy binary", "hdf"])
def test_every_type_of_cell_and_field_of_vtk(mode, tmp_path, capfd):
    grid = every_cell()
    if mode.startswith("legacy"):
        path = tmp_path / "mesh.vtk"
        grid.save(path, binary=mode == "legacy binary")
    elif mode == "hdf":
        path = tmp_path / "mesh.vtkhdf"
        hdf(grid, path)
    else:
        path = tmp_path / "mesh.vtu"
        write("vtkXMLUnstructuredGridWriter", grid, path, **MODES[mode])
    mesh = read_mesh(path)
    exact = mode != "legacy ascii"
    assert np.array_equal(mesh.points, grid.points) if exact else np.allclose(mesh.points, grid.points)
    known = [(VTK_TYPES[number], grid.get_cell(k).point_ids) for k, number in enumerate(grid.celltypes.tolist())]
    found = [(kind, row) for kind, nodes in mesh.cells for row in nodes.tolist()]
    assert found == [(kind, [ids[k] for k in WEDGE] if kind == "wedge" else ids) for kind, ids in known]
    same_fields(mesh, fields(grid.n_points), fields(grid.n_cells, 1), exact)
    assert np.ravel(mesh.field_data["time"]).tolist() == [0.25]
    assert np.ravel(mesh.field_data["matrix"]).tolist() == [0, 1, 2, 3, 4, 5]
    assert capfd.readouterr() == ("", "")


def boxes(mesh, shape, sizes):
    """That a mesh is of boxes between the points of a grid of a shape, the first axis the fastest."""
    axes = [axis for axis in range(3) if shape[axis] > 1]
    ((kind, nodes),) = mesh.cells
    assert kind == ("vertex", "line", "quad", "hexahedron")[len(axes)]
    number = np.arange(int(np.prod(shape))).reshape(shape[::-1])
    low = number[tuple(slice(0, max(1, n - 1)) for n in shape[::-1])].ravel()
    assert np.array_equal(nodes.min(1), low) and len(np.unique(np.sort(nodes, 1), axis=0)) == len(low)
    assert np.allclose(geometry_values(mesh, "cell_size", "cell")[:, 0] ** len(axes), sizes)


@pytest.mark.parametrize("shape", [(4, 3, 2), (3, 4, 1), (3, 1, 4), (1, 3, 4), (5, 1, 1)])
@pytest.mark.parametrize("ending", ["vti", "vtr", "vts", "vtk"])
def test_structured_grids(shape, ending, tmp_path):
    x, y, z = (np.cumsum(np.arange(1.0, n + 1)) for n in shape)
    points = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1).transpose(2, 1, 0, 3).reshape(-1, 3)
    if ending == "vti":
        turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
        grid = pyvista.ImageData(dimensions=shape, spacing=(0.5, 0.25, 2), origin=(1, 2, 3))
        grid.direction_matrix = turn
        index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).transpose(2, 1, 0, 3).reshape(-1, 3)
        points = [1, 2, 3] + (index * [0.5, 0.25, 2]) @ turn.T
    elif ending == "vtr":
        grid = pyvista.RectilinearGrid(x, y, z)
    else:
        grid = pyvista.StructuredGrid()
        grid.points, grid.dimensions = points + 0.0, shape
    with_fields(grid).save(tmp_path / f"mesh.{ending}")
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert np.allclose(
        mesh.points_in_space() if mesh.points.shape[1] > 1 else mesh.points,
        points[:, : 3 if mesh.points.shape[1] > 1 else 1],
    )
    same_fields(mesh, fields(grid.n_points), fields(grid.n_cells, 1))
    edges = [np.ptp(points[nodes], axis=0) for nodes in mesh.cells[0][1]]
    boxes(mesh, shape, [np.prod(edge[edge > 0]) for edge in edges])


@pytest.mark.parametrize("ghosts", [0, 1])
@pytest.mark.parametrize("kind", ["image", "rectilinear", "structured", "unstructured", "polydata"])
def test_parallel_files(kind, ghosts, tmp_path):
    """Pieces that VTK's own parallel writers make, with extents that overlap, are the whole grid."""
    image = pyvista.ImageData(dimensions=(9, 5, 4), spacing=(0.5, 1, 2), origin=(1, 2, 3))
    name, ending, whole = {
        "image": ("ImageData", "pvti", image),
        "rectilinear": ("RectilinearGrid", "pvtr", image.cast_to_rectilinear_grid()),
        "structured": ("StructuredGrid", "pvts", image.cast_to_structured_grid()),
        "unstructured": ("UnstructuredGrid", "pvtu", image.cast_to_unstructured_grid()),
        "polydata": ("PolyData", "pvtp", image.extract_surface(algorithm=None, pass_pointid=False, pass_cellid=False)),
    }[kind]
    whole.clear_data()
    whole.point_data["p"] = np.array(whole.points) @ [1.0, 100, 10000]
    whole.cell_data["c"] = whole.cell_centers().points @ np.array([1.0, 100, 10000])
    writer = getattr(importlib.import_module("vtkmodules.vtkIOParallelXML"), f"vtkXMLP{name}Writer")()
    writer.SetFileName(str(tmp_path / f"mesh.{ending}"))
    writer.SetInputData(whole)
    writer.SetNumberOfPieces(3)
    writer.SetStartPiece(0)
    writer.SetEndPiece(2)
    writer.SetGhostLevel(ghosts)
    assert writer.Write()
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert len(mesh.points) == whole.n_points and mesh.number_of_cells == whole.n_cells
    assert np.allclose(mesh.point_data["p"], mesh.points @ [1, 100, 10000], rtol=1e-6)
    centers = np.concatenate([mesh.points[nodes].mean(1) for _, nodes in mesh.cells])
    assert np.allclose(np.concatenate(mesh.cell_data["c"]), centers @ [1, 100, 10000], rtol=1e-6)
    if kind != "polydata":
        exact = np.minimum(mesh.points - mesh.points.min(0), mesh.points.max(0) - mesh.points).min(1)
        assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)


def test_nested_blocks_of_every_kind(tmp_path):
    image = pyvista.ImageData(dimensions=(3, 3, 3))
    inner = pyvista.MultiBlock({"image": image, "nothing": None, "empty": pyvista.UnstructuredGrid()})
    lines = pyvista.PolyData(np.array([[0.0, 0, 0], [2, 2, 2], [3, 3, 3]]), lines=[3, 0, 1, 2])
    blocks = pyvista.MultiBlock({"inner": inner, "wire": lines, "rest": pyvista.MultiBlock()})
    blocks.save(tmp_path / "mesh.vtm")
    mesh = read_mesh(tmp_path / "mesh.vtm")
    assert len(mesh.points) == 28  # two ends of the wire are corners of the image
    assert [(kind, len(nodes)) for kind, nodes in mesh.cells] == [("hexahedron", 8), ("line", 2)]
    assert {name: [len(part) for part in parts] for name, parts in mesh.cell_sets.items()} == {
        "image": [8, 0],
        "wire": [0, 2],
    }


def hdf(data, path):
    writer = importlib.import_module("vtkmodules.vtkIOHDF").vtkHDFWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(data)
    assert writer.Write()


@pytest.mark.parametrize("kind", ["partitions", "collection", "blocks", "polydata"])
def test_vtkhdf_of_several_parts(kind, tmp_path):
    model = importlib.import_module("vtkmodules.vtkCommonDataModel")

    def part(x):
        made = pyvista.ImageData(dimensions=(3, 3, 3), origin=(x, 0, 0)).cast_to_unstructured_grid()
        made.point_data["p"] = np.array(made.points) @ [1.0, 10, 100]
        made.cell_data["c"] = made.cell_centers().points @ np.array([1.0, 10, 100])
        return made

    if kind == "polydata":
        surface = part(0).extract_surface(algorithm=None, pass_pointid=False, pass_cellid=False)
        surface.cell_data["c"] = surface.cell_centers().points @ np.array([1.0, 10, 100])
        hdf(surface, tmp_path / "mesh.vtkhdf")
        mesh = read_mesh(tmp_path / "mesh.vtkhdf")
        assert len(mesh.points) == 26 and [(name, len(nodes)) for name, nodes in mesh.cells] == [("quad", 24)]
    else:
        data = model.vtkPartitionedDataSet()
        data.SetPartition(0, part(0))
        data.SetPartition(1, part(2))
        if kind == "blocks":
            data = pyvista.MultiBlock({"left": part(0), "right": part(2)})
        elif kind == "collection":
            both = model.vtkPartitionedDataSetCollection()
            both.SetPartitionedDataSet(0, data)
            third = model.vtkPartitionedDataSet()
            third.SetPartition(0, part(4))
            both.SetPartitionedDataSet(1, third)
            both.GetMetaData(0).Set(model.vtkCompositeDataSet.NAME(), "first")
            both.GetMetaData(1).Set(model.vtkCompositeDataSet.NAME(), "second")
            data = both
        hdf(data, tmp_path / "mesh.vtkhdf")
        mesh = read_mesh(tmp_path / "mesh.vtkhdf")
        count = 3 if kind == "collection" else 2
        assert len(mesh.points) == 9 * (2 * count + 1) and mesh.number_of_cells == 8 * count
        exact = np.minimum(mesh.points, mesh.points.max(0) - mesh.points).min(1)
        assert np.allclose(geometry_values(mesh, "boundary_distance", "point")[:, 0], exact)
        names = {"blocks": {"left": 8, "right": 8}, "collection": {"first": 16, "second": 8}}.get(kind, {})
        assert {name: sum(map(len, parts)) for name, parts in mesh.cell_sets.items()} == names
    assert np.allclose(mesh.point_data["p"], mesh.points @ [1, 10, 100])
    centers = np.concatenate([mesh.points[nodes].mean(1) for _, nodes in mesh.cells])
    assert np.allclose(np.concatenate(mesh.cell_data["c"]), centers @ [1, 10, 100])


def test_vtkhdf_of_several_times(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "mesh.vtkhdf", "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = (2, 0)
        root.attrs.create("Type", b"UnstructuredGrid", dtype=h5py.string_dtype("ascii", 16))
        for name, values in (
            ("NumberOfPoints", [4]),
            ("NumberOfCells", [1]),
            ("NumberOfConnectivityIds", [4]),
            ("Connectivity", [0, 1, 2, 3]),
            ("Offsets", [0, 4]),
        ):
            root[name] = np.array(values, np.int64)
        root["Points"] = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
        root["Types"] = np.array([9], np.uint8)
        root.create_group("PointData")["T"] = np.arange(8.0)
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = 2
        steps["Values"] = [0.5, 1.5]
        for name in ("PartOffsets", "PointOffsets"):
            steps[name] = np.zeros(2, np.int64)
        steps["NumberOfParts"] = np.ones(2, np.int64)
        for name in ("CellOffsets", "ConnectivityIdOffsets"):
            steps[name] = np.zeros((2, 1), np.int64)
        steps.create_group("PointDataOffsets")["T"] = np.array([0, 4])
    mesh = read_mesh(tmp_path / "mesh.vtkhdf")
    assert mesh.point_data["T"].tolist() == [0, 1, 2, 3] and mesh.cells[0][1].tolist() == [[0, 1, 2, 3]]
    assert texts(mesh) == ["the first of 2 times, 0.5, is read"]


random = np.random.default_rng(3)
SOLID = random.random((27, 3))


def block(kind, rows=2):
    width = {"vertex": 1, "line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
    count = width.get(kind) or int(kind.lstrip("abcdefghijklmnopqrstuvwxyz"))
    return kind, np.stack([random.permutation(27)[:count] for _ in range(rows)])


NASTRAN = ["vertex", "line", "triangle", "quad", "tetra", "pyramid", "wedge", "hexahedron"]
NASTRAN += ["triangle6", "quad8", "tetra10", "hexahedron20"]
MESHIO = {
    "bdf": ("nastran", [*NASTRAN]),
    "med": (
        "med",
        ["vertex", "line", "triangle", "quad", "tetra", "pyramid", "wedge", "hexahedron", "line3", "triangle6"],
    ),
    "mesh": ("medit", ["line", "triangle", "quad", "tetra", "pyramid", "wedge", "hexahedron"]),
    "meshb": ("medit", ["line", "triangle", "quad", "tetra", "pyramid", "wedge", "hexahedron"]),
    "off": ("off", ["triangle"]),
    "xml": ("dolfin-xml", ["tetra"]),
    "b8.ugrid": ("ugrid", ["triangle", "quad", "tetra", "pyramid", "wedge", "hexahedron"]),
    "f3grid": ("flac3d", ["tetra", "pyramid", "wedge", "hexahedron"]),
    "vol": ("netgen", ["line", "triangle", "tetra", "pyramid", "wedge", "hexahedron"]),
    "ply": ("ply", ["triangle"]),
    "obj": ("obj", ["triangle", "quad"]),
    "su2": ("su2", ["tetra", "pyramid", "wedge", "hexahedron"]),
}


@pytest.mark.parametrize(
    ("ending", "kind"), [(ending, kind) for ending, (_, kinds) in MESHIO.items() for kind in kinds]
)
def test_what_meshio_writes(ending, kind, tmp_path):
    """Points and cells of each type come back as they were."""
    name, nodes = block(kind)
    meshio.Mesh(SOLID, [(name, nodes)]).write(tmp_path / f"mesh.{ending}", file_format=MESHIO[ending][0])
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert np.allclose(mesh.points, SOLID)
    found = [part for other, part in mesh.cells if other == name]
    assert len(found) == 1 and np.array_equal(np.sort(found[0], 1), np.sort(nodes, 1))
    assert np.array_equal(found[0], nodes) or ending == "f3grid"


HAND = {
    "mesh": "MeshVersionFormatted 2\n# c\nDimension 3\nVertices\n5\n0 0 0 1\n1 0 0 2\n0 1 0 3\n0 0 1 4\n1 1 1 5\n"
    "Tetrahedra\n2\n1 2 3 4 7\n2 3 4 5 8\nTriangles\n1\n1 2 3 9\nEnd\n",
    "xml": '<?xml version="1.0"?>\n<dolfin xmlns:dolfin="http://fenicsproject.org">'
    '<mesh celltype="tetrahedron" dim="3">'
    '<vertices size="5"><vertex index="1" x="1" y="0" z="0"/><vertex index="0" x="0" y="0" z="0"/>'
    '<vertex index="2" x="0" y="1" z="0"/><vertex index="3" x="0" y="0" z="1"/><vertex index="4" x="1" y="1" z="1"/>'
    '</vertices><cells size="2"><tetrahedron index="1" v0="1" v1="2" v2="3" v3="4"/>'
    '<tetrahedron index="0" v0="0" v1="1" v2="2" v3="3"/></cells></mesh></dolfin>\n',
    "ugrid": "5 1 0 2 0 0 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n1 2 3\n9\n1 2 3 4\n2 3 4 5\n",
    "f3grid": "* c\nG 10 0 0 0\nG 20 1 0 0\nG 30 0 1 0\nG 40 0 0 1\nG 50 1 1 1\n"
    "Z T4 7 10 20 30 40\nZ T4 9 20 30 40 50\n"
    'ZGROUP "rock" SLOT 1\n7\n',
    "vol": "mesh3d\ndimension\n3\ngeomtype\n0\n\nsurfaceelements\n1\n 1 9 1 0 3 1 2 3\n\nvolumeelements\n2\n"
    " 7 4 1 2 3 4\n 8 4 2 3 4 5\n\nedgesegmentsgi2\n0\n\npoints\n5\n"
    " 0 0 0\n 1 0 0\n 0 1 0\n 0 0 1\n 1 1 1\n\nendmesh\n",
    "bdf": "SOL 101\nCEND\nBEGIN BULK\nGRID,10,,0.,0.,0.\nGRID,20,,1.,0.,0.\n"
    "GRID    30              0.0     1.0     0.0\n"
    "GRID*   40                              0.0             0.0\n*       1.0\nGRID,50,,1.,1.,1.\n"
    "CTETRA,1,7,10,20,30,40\nCTETRA  2       8       20      30      40      50\nCONM2,9,10,,1.\nENDDATA\n",
}


@pytest.mark.parametrize("ending", [*HAND, "ele", "node"])
def test_files_by_hand(ending, tmp_path):
    """Two tetrahedra, with numbers that are not in order where the format has numbers."""
    if ending in ("ele", "node"):
        (tmp_path / "mesh.node").write_text("# c\n5 3 1 0\n1 0 0 0 1.5\n2 1 0 0 2\n3 0 1 0 3\n4 0 0 1 4\n5 1 1 1 5\n")
        (tmp_path / "mesh.ele").write_text("2 4 1\n1 1 2 3 4 7\n2 2 3 4 5 8\n")
    else:
        (tmp_path / f"mesh.{ending}").write_text(HAND[ending])
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    cells = dict(mesh.cells)
    assert [sorted(row) for row in cells["tetra"].tolist()] == [[0, 1, 2, 3], [1, 2, 3, 4]]
    if ending in ("mesh", "ugrid", "vol"):
        assert sorted(cells["triangle"][0].tolist()) == [0, 1, 2]
    place = [kind for kind, _ in mesh.cells].index("tetra")
    tags = {"mesh": "medit:ref", "ele": "tetgen:ref", "node": "tetgen:ref", "vol": "netgen:index", "bdf": "nastran:ref"}
    if ending in tags:
        assert mesh.cell_data[tags[ending]][place].tolist() == [7, 8]
    if ending == "f3grid":
        assert mesh.cell_sets["zone:rock:1"][place].tolist() == [0]
    if ending == "node":
        assert mesh.point_data["tetgen:attr1"].tolist() == [1.5, 2, 3, 4, 5]
    if ending == "bdf":
        assert texts(mesh) == ["CONM2 elements are left out"]


@pytest.mark.parametrize(
    "card",
    [
        "CTRIAX6,1,1,10,20,30,40,50,60",  # corners and middles in turn
        "CONROD,1,10,20,1,0.5",
        "CQUAD,1,1,10,20,30,40",
        "CTRIA3\t1\t1\t10\t20\t30",
        "CTRIA3* 1               1               10              20              \n*       30",
        "CPLSTN3,1,1,10,20,30",
    ],
)
def test_elements_of_nastran_that_would_be_lost_or_misread_are_refused(card, tmp_path):
    points = "".join(f"GRID,{number},,{number}.,{number % 3}.,0.\n" for number in (10, 20, 30, 40, 50, 60))
    (tmp_path / "mesh.bdf").write_text(f"BEGIN BULK\n{points}{card}\nENDDATA\n")
    with pytest.raises(
        ValueError, match=r"mesh\.bdf: Expected points in plain coordinates, and cells that meshio reads"
    ):
        read_mesh(tmp_path / "mesh.bdf")


def test_a_ply_file_cut_short_is_refused(tmp_path):
    text = (
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 2\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 1\n"
        "3 0 1 2\n3 0 2 3\n"
    )
    (tmp_path / "mesh.ply").write_text(text)
    assert read_mesh(tmp_path / "mesh.ply").number_of_cells == 2
    for cut in (8, 16):
        (tmp_path / "mesh.ply").write_text(text[:-cut])
        with pytest.raises(ValueError, match=r"mesh\.ply: Expected"):
            read_mesh(tmp_path / "mesh.ply")


def test_the_documents_name_the_formats_that_are_read():
    root = Path(__file__).parents[2]
    text = " ".join((root / "docs" / "formats.md").read_text(encoding="utf-8").split())
    named = [
        (name.strip(), ending)
        for name, endings in re.findall(
            r"([\w' ]+?) \(([^)]*)\)", text.removeprefix("# Formats ").partition(". VTK's readers")[0]
        )
        for ending in re.findall(r"`([^`]+)`", endings)
    ]
    assert sorted(named) == sorted((own.name, ending) for ending, own in FORMATS.items())
    text = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    names = text[text.index("With files (") + 12 :].partition(" and [others]")[0].split(", ")
    assert {*names} <= {name for own in FORMATS.values() for name in own.name.split(" or ")}
