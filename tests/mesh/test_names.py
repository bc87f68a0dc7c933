"""Names of fields and sets in files, whatever their bytes; what is written is read by netCDF4, h5py and VTK."""

import importlib

import h5py
import meshio
import netCDF4
import numpy as np
import pytest

from pitgeo.mesh import Mesh, from_meshio, read_mesh, write_mesh
from pitgeo.mesh.names import each_once
from tests.mesh.helpers import listed, texts, written

LATIN = "größe".encode("latin-1")
UTF = "größe".encode()
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def exodus(path, names, model="NETCDF3_CLASSIC", pad=b"\0", block=b"", title=b"t"):
    """A quad with the point variables ``k, k + 1, ...`` of the names, whose bytes are those given."""
    with netCDF4.Dataset(path, "w", format=model) as file:
        file.setncatts({"api_version": np.float32(5), "floating_point_word_size": np.int32(8), "title": title})
        sizes = {"len_string": 33, "len_line": 81, "four": 4, "time_step": None, "num_dim": 2, "num_nodes": 4}
        sizes |= {"num_elem": 1, "num_el_blk": 1, "num_el_in_blk1": 1, "num_nod_per_el1": 4, "num_nod_var": len(names)}
        for key, size in sizes.items():
            file.createDimension(key, size)
        file.createVariable("time_whole", "f8", ("time_step",))[0] = 0.0
        file.createVariable("coord", "f8", ("num_dim", "num_nodes"))[:] = SQUARE.T
        cells = file.createVariable("connect1", "i4", ("num_el_in_blk1", "num_nod_per_el1"))
        cells.elem_type = "QUAD4"
        cells[:] = [[1, 2, 3, 4]]
        made = file.createVariable("name_nod_var", "S1", ("num_nod_var", "len_string"))
        for number, name in enumerate(names):
            made[number] = np.frombuffer(name.ljust(33, pad), "S1")
            values = file.createVariable(f"vals_nod_var{number + 1}", "f8", ("time_step", "num_nodes"))
            values[0] = np.arange(4.0) + number
        if model == "NETCDF4":
            made.setncattr("_Encoding", "utf-8")  # which has netCDF4 make texts of the letters
        blocks = file.createVariable("eb_names", "S1", ("num_el_blk", "len_string"))
        blocks[0] = np.frombuffer(block.ljust(33, pad), "S1")


def stored(path, name="name_nod_var"):
    """The rows of letters of a file, as netCDF4 gives them."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        file.set_auto_chartostring(False)
        return [row.tobytes().rstrip(b"\0") for row in file.variables[name][:]]


@pytest.mark.parametrize("model", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize(
    ("name", "read"), [(b"box\0\x14junk", "box"), (b"vel\0\0\xff\xfe\0x", "vel"), (LATIN, "größe")]
)
def test_exodus_names_end_at_the_first_zero_and_keep_their_bytes(model, name, read, tmp_path):
    exodus(tmp_path / "mesh.e", [name, b"p"], model, block=b"rock\0\x01" + LATIN, title=b"Pr\xfcfung")
    mesh = read_mesh(tmp_path / "mesh.e")
    assert {key: values[0] for key, values in mesh.point_data.items()} == {read: 0.0, "p": 1.0}
    assert list(mesh.cell_sets) == ["rock"]
    write_mesh(tmp_path / "out.e", mesh.with_point_data(f"{read}_prediction", np.ones(4)))
    own = name.split(b"\0")[0]
    assert stored(tmp_path / "out.e") == [own, b"p", f"{read}_prediction".encode()]
    assert stored(tmp_path / "out.e", "eb_names") == stored(tmp_path / "mesh.e", "eb_names")
    assert b"Pr\xfcfung" in (tmp_path / "out.e").read_bytes()
    assert set(read_mesh(tmp_path / "out.e").point_data) == {read, "p", f"{read}_prediction"}


@pytest.mark.parametrize("pad", [b"\0", b" "])
def test_exodus_names_that_are_alike_or_empty_are_all_kept(pad, tmp_path):
    exodus(tmp_path / "mesh.e", [LATIN, UTF, b"T", b"T", b"", b"a\x07b", b"vX", b"vY"], pad=pad)
    mesh = read_mesh(tmp_path / "mesh.e")
    names = ["größe", "größe (2)", "T", "T (2)", "unnamed", "a_b", "vX", "vY"]
    assert {name: values[0] for name, values in mesh.point_data.items()} == dict(zip(names, range(8), strict=True))
    said = texts(mesh, "renamed")
    assert len(said) == 5 and "b'gr\\xf6\\xdfe' is called 'größe'" in said[0] and "another has that name" in said[1]
    write_mesh(tmp_path / "out.e", mesh.with_point_data("T (2)", np.full(4, 9.0), "replace"))
    assert stored(tmp_path / "out.e")[:6] == [LATIN, UTF, b"T", b"T", b"", b"a\x07b"]
    with netCDF4.Dataset(tmp_path / "out.e") as file:
        assert file.variables["vals_nod_var4"][0].tolist() == [9] * 4
        assert file.variables["vals_nod_var3"][0].tolist() == [2, 3, 4, 5]


GMSH = b"""$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
4
1 1 "%(latin)b"
1 2 "%(utf)b"
1 3 "wall"
2 1 "wall"
$EndPhysicalNames
$Nodes
3
1 0 0 0
2 1 0 0
3 0 1 0
$EndNodes
$Elements
4
1 1 2 1 1 1 2
2 1 2 2 1 2 3
3 1 2 3 1 3 1
4 2 2 1 1 1 2 3
$EndElements
""" % {b"latin": LATIN, b"utf": UTF}
FIELD = b'$NodeData\n1\n"%b"\n1\n0.0\n3\n0\n1\n3\n1 %d\n2 0\n3 0\n$EndNodeData\n'


def test_gmsh_names_of_any_bytes(tmp_path):
    fields = FIELD % (LATIN, 4) + FIELD % (UTF, 5)
    mesh = written(tmp_path / "mesh.msh", GMSH + fields)
    lines = {name: mesh.cell_sets[name][0].tolist() for name in ("größe", "größe (2)", "wall")}
    assert lines == {"größe": [0], "größe (2)": [1], "wall": [2]}
    assert [part.tolist() for part in mesh.cell_sets["wall (2)"]] == [[], [0]]  # of the same name, but of faces
    assert mesh.point_data["größe"][0] == 4 and mesh.point_data["größe (2)"][0] == 5
    mesh = mesh.with_point_data("größe", np.full(3, 7.0), "replace").with_point_data("größe_prediction", np.ones(3))
    write_mesh(tmp_path / "out.msh", mesh)
    content = (tmp_path / "out.msh").read_bytes()
    assert content.startswith(GMSH) and content.count(b"$NodeData") == 3
    assert b'"%b"\n1\n0.0\n3\n0\n1\n3\n1 7.0\n' % LATIN in content and FIELD % (UTF, 5) in content
    assert b'"%b_prediction"' % UTF in content


@pytest.mark.parametrize(
    ("names", "read"),
    [
        ((b"box\0\x14junk", LATIN), ("box", "größe")),
        ((UTF, LATIN), ("größe", "größe (2)")),
        ((b"skin", b"inlet"), ("skin", "inlet")),
    ],
)
def test_groups_of_med_files(names, read, tmp_path):
    path = tmp_path / "mesh.med"
    tags = {"point_tags": np.array([1, 2, 0, 0])}
    cells = [("triangle", [[0, 1, 2], [0, 2, 3]])]
    mesh = meshio.Mesh(SQUARE, cells, point_data=tags, cell_data={"cell_tags": [np.array([-1, -2])]})
    mesh.point_tags, mesh.cell_tags = {1: ["a"], 2: ["b"]}, {-1: ["a"], -2: ["b"]}
    mesh.write(path)
    with h5py.File(path, "r+") as file:
        for families in file["FAS/mesh"].values():
            for family in families.values():
                group = family["GRO/NOM"]
                name = names[bytes(np.asarray(group[()]).astype(np.int8))[:1] == b"b"]
                letters = np.frombuffer(name.ljust(80, b"\0"), np.int8).copy()
                group.id.write(h5py.h5s.ALL, h5py.h5s.ALL, letters, mtype=group.id.get_type())
    found = read_mesh(path)
    assert listed(found.point_sets) == {read[0]: [0], read[1]: [1]}
    assert {name: parts[0].tolist() for name, parts in found.cell_sets.items()} == {read[0]: [0], read[1]: [1]}


def test_markers_of_su2_stay_apart(tmp_path):
    text = (
        "NDIME= 2\nNELEM= 1\n5 0 1 2 0\nNPOIN= 3\n0 0 0\n1 0 1\n0 1 2\nNMARK= 2\nMARKER_TAG= größe\nMARKER_ELEMS= 1\n"
    )
    text += "3 0 1\nMARKER_TAG= gröÖe\nMARKER_ELEMS= 1\n3 1 2\n"  # as Latin-1 in UTF-8, both would be 'gr??e'
    mesh = written(tmp_path / "mesh.su2", text.encode("latin-1"))
    assert {name: parts[1].tolist() for name, parts in mesh.cell_sets.items()} == {"größe": [0], "gröÖe": [1]}
    assert any("read as Latin-1" in note.text for note in mesh.notes)


def vtk_grid(names):
    """A cube with point fields of any bytes, as a program of VTK makes it."""
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.Cube().triangulate().clean().cast_to_unstructured_grid()
    grid.clear_data()
    for number, name in enumerate(names):
        array = importlib.import_module("vtkmodules.vtkCommonCore").vtkDoubleArray()
        array.SetName(name)
        for point in range(8):
            array.InsertNextValue(point + number)
        grid.GetPointData().AddArray(array)
    return grid


@pytest.mark.parametrize("writer", ["Legacy.vtkUnstructuredGridWriter", "XML.vtkXMLUnstructuredGridWriter"])
def test_names_that_vtk_writes(writer, tmp_path):
    module, _, name = writer.partition(".")
    path = tmp_path / ("mesh.vtk" if module == "Legacy" else "mesh.vtu")
    out = getattr(importlib.import_module(f"vtkmodules.vtkIO{module}"), name)()
    out.SetInputData(vtk_grid([LATIN, b"q\x93"]))
    out.SetFileName(str(path))
    out.Write()
    mesh = read_mesh(path)
    assert {name: values[0] for name, values in mesh.point_data.items()} == {"größe": 0.0, "q“": 1.0}
    assert mesh.notes
    write_mesh(tmp_path / "out.vtu", mesh.with_point_data("größe_prediction", np.ones(8)))
    again = importlib.import_module("pyvista").read(tmp_path / "out.vtu")
    assert set(again.point_data.keys()) == {"größe", "q“", "größe_prediction"} and again.point_data["q“"][7] == 8


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1252", "utf-16"])
def test_encodings_that_xml_files_declare(encoding, tmp_path):
    write_mesh(tmp_path / "mesh.vtu", Mesh(SQUARE, point_data={"größe": np.arange(4.0)}))
    text = (tmp_path / "mesh.vtu").read_text(encoding="utf-8").replace("&#246;", "ö").replace("&#223;", "ß")
    text = text.replace('<?xml version="1.0"?>', f'<?xml version="1.0" encoding="{encoding}"?>')
    assert "größe" in text and encoding in text
    mesh = written(tmp_path / "other.vtu", text.encode(encoding))
    assert mesh.point_data["größe"].tolist() == [0, 1, 2, 3] and not mesh.notes


@pytest.mark.parametrize("ending", ["vtu", "vtk"])
def test_two_fields_of_one_name_are_refused(ending, tmp_path):
    path = tmp_path / f"mesh.{ending}"
    vtk_grid([b"alpha", b"omega"]).save(path, binary=False)
    path.write_bytes(path.read_bytes().replace(b"omega", b"alpha"))
    with pytest.raises(ValueError, match=r"point fields of different names \(got 2 called 'alpha'"):
        read_mesh(path)


def test_names_are_made_different_and_printable():
    notes = []
    given = ["T (2)", "T", "T", "T", "\udcf6", "\ud800", "a\u2028b", "\x1b[0m", "a\tb", "\u200b"]
    names = each_once(given, "field", notes)
    assert names == ["T (2)", "T", "T (3)", "T (4)", "ö", "?", "a_b", "_[0m", "a_b (2)", "\u200b"]
    assert len(notes) == 7 and all(note.text.isprintable() for note in notes[:2])
    assert each_once([b"\x80\x81"], "field", notes) == ["€_"]


def test_a_set_beside_a_field_that_is_one(tmp_path):
    mesh = meshio.Mesh(
        SQUARE,
        [("triangle", [[0, 1, 2], [0, 2, 3]])],
        point_data={"set:a": np.array([1, 0, 0, 0])},
        point_sets={"a": np.array([1, 2])},
    )
    found = from_meshio(mesh)
    assert listed(found.point_sets) == {"a": [0], "a (2)": [1, 2]}
