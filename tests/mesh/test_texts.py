"""Texts in mesh files, compared with what VTK wrote and reads."""

import importlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from pitgeo.data.fields import MeshField
from pitgeo.data.fields.reading import field_values, find_field
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from tests.mesh import vtk_xml
from tests.mesh.helpers import listed_cells
from tests.mesh.zoo import ZOO

pyvista = pytest.importorskip("pyvista")

TEXTS = ["steel <1> & é\n x", "", " b "]


def vtk_texts_of(fields, name):
    """What VTK itself finds in an array of texts."""
    held = fields.GetAbstractArray(name)
    return [held.GetValue(k) for k in range(held.GetNumberOfValues())]


def vtk_texts(name, values, width=1):
    made = importlib.import_module("vtkmodules.vtkCommonCore").vtkStringArray()
    made.SetName(name)
    made.SetNumberOfComponents(width)
    for value in values:
        made.InsertNextValue(value)
    return made


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("ending", ["vtu", "vtk", "vtp"])
def test_texts_of_vtk_come_through(ending, binary, tmp_path):
    surface = pyvista.Cube().triangulate().clean()
    surface.clear_data()
    data = surface if ending == "vtp" else surface.cast_to_unstructured_grid()
    places = [f"point {k}" for k in range(8)]
    data.GetFieldData().AddArray(vtk_texts("material é", TEXTS))
    data.GetFieldData().AddArray(vtk_texts("pairs", "abcd", 2))
    data.GetFieldData().AddArray(vtk_texts("bytes", [b"\xff\xfe"]))
    data.GetPointData().AddArray(vtk_texts("place", places))
    data.GetCellData().AddArray(vtk_texts("kind", "abcdefghijkl"))
    data.point_data["heat"] = np.arange(8.0)
    data.field_data["time"] = [0.25]
    data.save(tmp_path / f"mesh.{ending}", binary=binary)
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert mesh.field_data["material é"].tolist() == TEXTS and mesh.field_data["time"] == 0.25
    assert mesh.field_data["pairs"].tolist() == [["a", "b"], ["c", "d"]]
    assert mesh.field_data["bytes"].tolist() == ["ÿþ"] and "'ÿþ'" in " ".join(note.text for note in mesh.notes)
    assert mesh.point_data["place"].tolist() == places
    assert np.concatenate(mesh.cell_data["kind"]).tolist() == list("abcdefghijkl")
    mesh = mesh.with_point_data("heat_prediction", np.arange(8.0) / 3)
    write_mesh(tmp_path / f"result.{ending}", mesh)
    found = pyvista.read(tmp_path / f"result.{ending}")
    assert vtk_texts_of(found.GetFieldData(), "material é") == TEXTS
    assert vtk_texts_of(found.GetFieldData(), "pairs") == list("abcd")
    assert found.GetFieldData().GetAbstractArray("pairs").GetNumberOfComponents() == 2
    assert vtk_texts_of(found.GetFieldData(), "bytes") == ["ÿþ"]
    assert vtk_texts_of(found.GetPointData(), "place") == places
    assert vtk_texts_of(found.GetCellData(), "kind") == list("abcdefghijkl")
    assert np.array_equal(found.point_data["heat_prediction"], np.arange(8.0) / 3)
    assert np.array_equal(found.point_data["heat"], np.arange(8.0)) and found.field_data["time"] == 0.25
    if ending == "vtu":
        assert vtk_xml.arrays(tmp_path / "result.vtu")["PointData", "place"].tolist() == places


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=strategies.lists(
        strategies.text(strategies.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
        min_size=9,
        max_size=9,
    ),
    metadata=strategies.lists(
        strategies.text(strategies.characters(codec="utf-8", exclude_characters="\0")), min_size=1
    ),
    kind=strategies.sampled_from(["vtu", "vtk", "vtp"]),
)
def test_any_text_comes_back(words, metadata, kind, tmp_path):
    mesh = ZOO["mixed"].with_point_data("word", np.array(words)).with_point_data("number", np.arange(9.0))
    mesh = mesh.with_field_data("metadata", np.array(metadata)).with_field_data("one", np.array(metadata[0]))
    write_mesh(tmp_path / f"mesh.{kind}", mesh)
    again = read_mesh(tmp_path / f"mesh.{kind}")
    assert again.point_data["word"].tolist() == words and again.field_data["metadata"].tolist() == metadata
    assert again.field_data["one"].tolist() == [metadata[0]] and again.point_data["number"].tolist() == [*range(9)]
    assert listed_cells(again) == listed_cells(mesh)


def test_texts_beside_wedges_and_sets(tmp_path):
    mesh = ZOO["wedges and pyramids"].with_field_data("by", "a program").with_cell_data("c", np.arange(3))
    mesh = replace(mesh, point_sets={"left": np.array([1, 5])})
    for kind in ("vtu", "vtk"):
        write_mesh(tmp_path / f"mesh.{kind}", mesh)
        again = read_mesh(tmp_path / f"mesh.{kind}")
        assert [nodes.tolist() for _, nodes in again.cells] == [nodes.tolist() for _, nodes in mesh.cells]
        assert again.field_data["by"].tolist() == ["a program"] and again.point_sets["left"].tolist() == [1, 5]


def test_texts_that_a_format_has_no_place_for_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"mesh\.vtu: Expected fields .*code 0"):
        write_mesh(tmp_path / "mesh.vtu", ZOO["quads"].with_field_data("a", np.array(["x\0y"])))
    with pytest.raises(ValueError, match=r"mesh\.xdmf: Expected fields"):
        write_mesh(tmp_path / "mesh.xdmf", ZOO["quads"].with_point_data("a", np.array(["x"] * 9)))
    with pytest.raises(ValueError, match=r"mesh\.xdmf: Expected fields .*single ones"):
        write_mesh(tmp_path / "mesh.xdmf", ZOO["quads"].with_field_data("a", np.array(["x", "y"])))
    assert not list(tmp_path.iterdir())


def test_objects_that_are_texts_are_texts(tmp_path):
    write_mesh(tmp_path / "mesh.vtu", ZOO["quads"].with_point_data("words", np.array(["ab"] * 9, dtype=object)))
    assert read_mesh(tmp_path / "mesh.vtu").point_data["words"].tolist() == ["ab"] * 9


def test_blocks_keep_texts_and_metadata_apart(tmp_path):
    parts = pyvista.MultiBlock([pyvista.Cube().cast_to_unstructured_grid() for _ in range(2)])
    for number, part in enumerate(parts):
        part.clear_data()
        part.GetFieldData().AddArray(vtk_texts("name", [f"part {number}"]))
        part.field_data["same"] = [3]
    parts[0].GetPointData().AddArray(vtk_texts("word", ["w"] * parts[0].n_points))
    parts.save(tmp_path / "mesh.vtm")
    mesh = read_mesh(tmp_path / "mesh.vtm")
    assert mesh.field_data["name"].tolist() == ["part 0"] and mesh.field_data["name (block 1)"].tolist() == ["part 1"]
    assert mesh.field_data["same"].tolist() == [3] and "same (block 1)" not in mesh.field_data
    count = parts[0].n_points
    assert mesh.point_data["word"].tolist() == ["w"] * count + [""] * (len(mesh.points) - count)


XDMF = """<Xdmf Version="{version}"><Domain><Grid Name="g" GridType="Uniform">
<Topology TopologyType="Triangle" NumberOfElements="1"><DataItem Dimensions="1 3" NumberType="Int" Format="XML">0 1 2
</DataItem></Topology>
<Geometry GeometryType="XYZ"><DataItem Dimensions="3 3" Precision="8" Format="XML">0 0 0 1 0 0 0 1 0
</DataItem></Geometry>
<Attribute Name="drag" AttributeType="Scalar" Center="Grid"><DataItem Dimensions="1" Precision="8" Format="XML">0.1
</DataItem></Attribute>
<Attribute Name="held" Center="Grid"><DataItem Dimensions="2" Precision="8" Format="HDF">numbers.h5:/a/b
</DataItem></Attribute>
<Attribute Name="p" AttributeType="Scalar" Center="Node"><DataItem Dimensions="3" NumberType="Int" Format="XML">4 5 6
</DataItem></Attribute>
<Information Name="solver" Value="made by &lt;X&gt;"/>
</Grid></Domain></Xdmf>"""


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_xdmf_files_keep_what_belongs_to_the_whole(version, tmp_path):
    h5py = importlib.import_module("h5py")
    (tmp_path / "mesh.xdmf").write_text(XDMF.format(version=version))
    with h5py.File(tmp_path / "numbers.h5", "w") as file:
        file["a/b"] = np.array([1.5, 2.5])
    mesh = read_mesh(tmp_path / "mesh.xdmf")
    assert mesh.field_data["drag"].tolist() == [0.1] and mesh.field_data["held"].tolist() == [1.5, 2.5]
    assert mesh.field_data["solver"].tolist() == ["made by <X>"] and mesh.point_data["p"].tolist() == [4, 5, 6]
    third = np.array([[1 / 3, 2.0], [3.0, np.nan]])
    mesh = mesh.with_field_data("drag_prediction", third).with_field_data("count", np.array([2**40]))
    write_mesh(tmp_path / "result.xdmf", mesh)
    (grid,) = ElementTree.parse(tmp_path / "result.xdmf").getroot().iter("Grid")
    whole = {part.get("Name"): part.find("DataItem") for part in grid if part.get("Center") == "Grid"}
    assert set(whole) == {"drag", "held", "drag_prediction", "count"}
    assert [float(word) for word in whole["drag_prediction"].text.split()[:3]] == [1 / 3, 2, 3]
    assert whole["drag_prediction"].get("Dimensions") == "2 2" and whole["count"].text.strip() == str(2**40)
    assert [part.get("Value") for part in grid.iter("Information")] == ["made by <X>"]
    again = read_mesh(tmp_path / "result.xdmf")
    assert set(again.field_data) == set(mesh.field_data)
    for name, values in mesh.field_data.items():
        is_text = values.dtype.kind == "U"
        assert (
            np.array_equal(again.field_data[name], values, equal_nan=not is_text)
            and again.field_data[name].dtype == values.dtype
        )


def test_steps_of_xdmf_series_have_metadata_of_their_own(tmp_path):
    steps = "".join(
        f'<Grid Name="s"><Time Value="{k}"/><Attribute Name="drag" Center="Grid"><DataItem Dimensions="1" '
        f'Precision="8" Format="XML">{k / 3}</DataItem></Attribute></Grid>'
        for k in range(2)
    )
    text = XDMF.format(version="3.0")
    shared = text[text.index("<Topology") : text.index("<Attribute")]
    steps = steps.replace("<Time", shared + "<Time", 1)
    (tmp_path / "run.xdmf").write_text(
        f'<Xdmf Version="3.0"><Domain><Grid GridType="Collection" CollectionType="Temporal">{steps}</Grid></Domain>'
        "</Xdmf>"
    )
    series = importlib.import_module("pitgeo.mesh").read_series(tmp_path / "run.xdmf")
    assert [series.mesh(k).field_data["drag"].tolist() for k in range(2)] == [[0.0], [1 / 3]]


def test_texts_are_no_inputs(tmp_path):
    write_mesh(tmp_path / "mesh.vtu", Mesh(np.eye(3), field_data={"material": np.array(["steel"])}))
    mesh = read_mesh(tmp_path / "mesh.vtu")
    with pytest.raises(ValueError, match=r"Expected numbers in the field 'material' \(got texts\)"):
        find_field(mesh, "material", {})
    with pytest.raises(ValueError, match=r"Expected a number 'material' of the whole mesh \(got texts\)"):
        field_values(mesh, MeshField("material", 1, "mesh"), "point", 3, {})
