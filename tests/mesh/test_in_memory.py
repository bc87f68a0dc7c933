"""What people have in memory as meshes of pitgeo, compared with the arrays it was made of."""

import importlib

import meshio
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from pitgeo.mesh import Mesh
from pitgeo.mesh.in_memory import as_mesh, sample_meshes
from tests.mesh.helpers import listed_cells

random = np.random.default_rng(0)
PLACE = random.random((5, 2))
SPACE = random.random((5, 3))
U = random.random(5)


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (torch.tensor(U, requires_grad=True), U),
        (torch.tensor([1.5, 2, 3, 4, 5]).bfloat16(), [1.5, 2, 3, 4, 5]),
        (torch.tensor([1.5, 2, 3, 4, 5]).half(), [1.5, 2, 3, 4, 5]),
        (torch.tensor(U).repeat_interleave(2)[::2], U),
        (torch.tensor([True, False, True, True, False]), [1, 0, 1, 1, 0]),
        (U.astype(">f4"), U.astype("f4")),
        (np.repeat(U, 2)[::2], U),
        (U.astype(np.longdouble), U),
        (np.ma.masked_invalid(U), U),
        (U.tolist(), U),
        ([torch.tensor(value, requires_grad=True) for value in U], U),
    ],
)
@pytest.mark.parametrize("kind", ["dictionary", "data"])
def test_numbers_of_every_kind(kind, values, read):
    mesh = as_mesh(Data(pos=torch.tensor(PLACE), w=values) if kind == "data" else {"points": PLACE, "w": values})
    found = mesh.point_data["w"]
    assert np.array_equal(found, read) and found.dtype.isnative and np.array_equal(mesh.points, PLACE)


@pytest.mark.parametrize("kind", ["dictionary", "data"])
def test_numbers_of_the_whole_mesh_and_tensors(kind):
    stress = random.random((5, 3, 3))
    given = {"mach": 0.5, "drag": [0.1], "wind": [[1.0, 2.0, 3.0]], "count": np.int64(3)}
    if kind == "data":
        given = {name: torch.tensor(values) for name, values in given.items()}
        sample = Data(pos=torch.tensor(PLACE), S=torch.tensor(stress), edge_index=torch.zeros(2, 7).long(), **given)
    else:
        sample = {"points": PLACE, "S": stress, **given}
    mesh = as_mesh(sample)
    whole = {name: values.tolist() for name, values in mesh.field_data.items()}
    assert whole == {"mach": 0.5, "drag": [pytest.approx(0.1)], "wind": [1, 2, 3], "count": 3}
    assert set(mesh.point_data) == {"S"}
    for row in range(3):
        for column in range(3):
            assert np.array_equal(mesh.point_data["S"][:, 3 * row + column], stress[:, row, column])


def test_a_dictionary_of_everything():
    triangles, quads = np.array([[0, 1, 2], [1, 2, 3]]), np.array([[0, 1, 2, 4]])
    mesh = as_mesh({
        "points": PLACE,
        "cells": {"triangle": triangles, "quad": quads},
        "point_data": {"u": U},
        "cell_data": {"c": [1.0, 2.0, 3.0], "d": [[4, 5], [6]]},
        "field_data": {"load": [1.0, 2.0]},
        "point_sets": {"left": [0, 3]},
        "cell_sets": {"steel": [[1], []]},
        "w": U + 1,
    })  # fmt: skip
    assert listed_cells(mesh) == [("triangle", triangles.tolist()), ("quad", quads.tolist())]
    assert {name: [part.tolist() for part in parts] for name, parts in mesh.cell_data.items()} == {
        "c": [[1, 2], [3]],
        "d": [[4, 5], [6]],
    }
    assert np.array_equal(mesh.point_data["u"], U) and np.array_equal(mesh.point_data["w"], U + 1)
    assert mesh.field_data["load"].tolist() == [1, 2] and mesh.point_sets["left"].tolist() == [0, 3]
    assert [part.tolist() for part in mesh.cell_sets["steel"]] == [[1], []]


def test_faces_of_data():
    pos, face = torch.tensor(SPACE), torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4]])
    assert as_mesh(Data(pos=pos, face=face)).cells[0][0] == "tetra"
    ((kind, nodes),) = as_mesh(Data(pos=pos, face=face[:3])).cells
    assert kind == "triangle" and nodes.tolist() == [[0, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (Data(pos=torch.rand(5, 2), face=torch.zeros(4, 2).long()), r"'face' of shape \[3, F\].*got \[4, 2\] in 2D"),
        (Data(pos=torch.rand(5, 3), face=torch.zeros(7, 3).long()), r"'face' of shape \[3, F\].*got \[7, 3\] in 3D"),
        (Data(pos=torch.rand(5, 3), face=torch.zeros(3)), r"'face' of shape .*got \[3\]"),
        (Data(pos=torch.rand(5, 3), face=torch.zeros(3, 2)), "whole numbers .got float32"),
        (Data(pos=torch.rand(5, 2), w=torch.rand(3)), r"'w' to have 5 rows, .*got shape \[3\]"),
        (Data(pos=torch.rand(1, 2), w=torch.rand(1)), "Expected more than one point .*'w' of shape"),
        (Data(pos=torch.rand(5, 2), w=torch.rand(5) * 1j), "'w' to be an array of real numbers .got complex64"),
        (Data(pos=torch.rand(5, 2), w={"a": 1}), "'w' to be an array of real numbers .got objects"),
        (Data(pos=torch.rand(5, 2).to_sparse()), "'pos' to be an array of real numbers .got Tensor"),
        (Data(pos=torch.rand(5, 2, device="meta")), "'pos' to be an array of real numbers .got Tensor"),
        (Batch.from_data_list([Data(pos=torch.rand(5, 2))] * 2), "Expected one sample .got a batch of 2"),
        ({"points": PLACE, "w": np.array([1, None, 2, 3, 4])}, "'w' to be an array of real numbers .got objects"),
        ({"points": PLACE, "w": [[1, 2], [3]]}, "'w' to be an array of real numbers .got list, of which"),
        ({"points": PLACE, "w": np.ma.masked_less(U, 0.5)}, "masked values"),
        ({"points": PLACE, "w": np.array(["2020-01-01"] * 5, "M8")}, "got datetime64"),
        ({"points": PLACE, "cells": [("triangle", [[0, 1, 2, 3]])]}, r"\[cells, 3\] as nodes of triangle"),
        ({"points": PLACE, "cells": [("hexahedron20", [[0, 1, 2, 3]])]}, r"\[cells, 20\]"),
        ({"points": PLACE, "cells": [("triangle", [0, 1, 2])]}, r"got int64 of shape \[3\]"),
        (
            {"points": PLACE, "cells": [("triangle", [[0.0, 1, 2]])]},
            "'triangle' cells to be whole numbers .got float64",
        ),
        ({"points": PLACE, "cells": [5]}, "'cells' to be pairs"),
        ({"points": PLACE, "cells": [("triangle", [[0, 1, 2]])], "cell_data": {"c": [1.0, 2.0]}}, "1 rows, one a cell"),
        ({"points": PLACE, "point_data": {"w": U[:3]}}, "'point_data' 'w' to have 5 rows"),
        ({"points": PLACE, "point_data": [U]}, "'point_data' to be a dictionary"),
        ({"points": PLACE, "point_data": {"w": U}, "w": U}, "'w' once"),
        ({"points": PLACE, 3: U}, "names of fields that are texts .got 3"),
        ({"points": [["a", "b"]]}, "numbers as positions"),
        ({"points": PLACE + 1j}, "'points' to be an array of real numbers"),
        (meshio.Mesh(PLACE, [], point_data={"w": U * 1j}), "'w' to be an array of real numbers .got complex128"),
        (Mesh(PLACE, point_data={"w": U * 1j}), "'w' to be an array of real numbers .got complex128"),
        (np.zeros((5, 2)), "got ndarray"),
    ],
)
def test_what_cannot_be_taken_is_one_clear_error(sample, message):
    with pytest.raises(ValueError, match=message):
        as_mesh(sample)


@pytest.mark.parametrize("kind", ["unstructured", "image", "structured", "rectilinear", "surface", "blocks"])
def test_data_sets_of_pyvista(kind):
    pyvista = importlib.import_module("pyvista")
    image = pyvista.ImageData(dimensions=(3, 4, 2))
    grids = {
        "unstructured": image.cast_to_unstructured_grid(),
        "image": image,
        "structured": image.cast_to_structured_grid(),
        "rectilinear": image.cast_to_rectilinear_grid(),
        "surface": pyvista.Plane(i_resolution=2, j_resolution=3),
        "blocks": image.cast_to_unstructured_grid(),
    }
    grid = grids[kind]
    grid.clear_data()
    grid.point_data["u"] = np.asarray(grid.points)[:, :1] ** 2 + 1
    grid.cell_data["c"] = np.arange(grid.n_cells)
    grid.field_data["mach"] = [0.5]
    before = grid.copy()
    mesh = as_mesh(pyvista.MultiBlock({"all": grid}) if kind == "blocks" else grid)
    assert np.allclose(mesh.points_in_space(), grid.points)
    assert np.allclose(np.ravel(mesh.point_data["u"]), mesh.points_in_space()[:, 0] ** 2 + 1)
    assert mesh.field_data["mach"].tolist() == [0.5] and mesh.path is None
    centers = [mesh.points_in_space()[nodes].mean(1) for _, nodes in mesh.cells]
    assert np.allclose(np.concatenate(centers), grid.cell_centers().points)
    assert np.concatenate(mesh.cell_data["c"]).tolist() == [*range(grid.n_cells)] and grid == before
    with pytest.raises(ValueError, match="Expected a data set of PyVista"):
        as_mesh(pyvista.Table({"a": np.arange(3)}))


def test_lists_of_samples():
    samples = [{"points": PLACE, "u": U}, Data(pos=torch.tensor(PLACE), u=torch.tensor(U))]
    assert all(np.array_equal(mesh.point_data["u"], U) for mesh in sample_meshes(iter(samples)))
    with pytest.raises(ValueError, match=r"sample 1: Expected 'w' to have 5 rows"):
        sample_meshes([samples[0], {"points": PLACE, "w": U[:2]}])
    for one in (samples[0], samples[1], Mesh(PLACE), "cases/*.vtu", 3):
        with pytest.raises(ValueError, match="'samples' to be a list"):
            sample_meshes(one)
