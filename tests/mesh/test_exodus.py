"""Exodus files, read as the format says, and results in copies of them, looked at with netCDF4 and VTK."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pitgeo.geometry import geometry_values
from pitgeo.mesh import Mesh, read_mesh, result_name, write_mesh
from tests.mesh.helpers import CORNERS, EDGES, assert_same_data, listed, listed_cells, texts

pytest.importorskip("netCDF4")
pyvista = pytest.importorskip("pyvista")
from netCDF4 import Dataset  # noqa: E402 (skipped without)

from tests.mesh import exodus_files  # noqa: E402

CASES = Path(__file__).parents[3] / "shared" / "cases"
NOH = CASES / "hard/exodusii_noh.exo"

PLANE = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]
random = np.random.default_rng(0)
NODAL = {"heat": random.random((3, 6)), "vX": random.random((3, 6)), "vY": random.random((3, 6))}
NODAL["vZ"] = np.zeros((3, 6))
CELLS = {"damage": [None, random.random((3, 2))], "stress": [random.random((3, 1)), random.random((3, 2))]}
GLOBAL = {"energy": random.random(3), "mass": random.random(3)}


def plate(path, form="NETCDF3_64BIT_OFFSET"):
    """A quadrilateral and two triangles, at three times."""
    exodus_files.write(
        path,
        PLANE,
        [("QUAD4", [[0, 1, 4, 3]], "steel"), ("TRI3", [[1, 2, 5], [1, 5, 4]], "")],
        sides=[("inflow", [1], [4]), ("", [1, 2], [1, 1]), ("out", [2], [2])],
        nodes=[("out", [1, 2]), ("", [4])],
        elements=[("pair", [3, 1])],
        steps=3,
        form=form,
        nod=NODAL,
        elem=CELLS,
        glo=GLOBAL,
    )


def test_a_file_is_read_whole(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    plate(tmp_path / "plate.exo")
    mesh = read_mesh(tmp_path / "plate.exo")
    assert mesh.points.tolist() == PLANE
    assert listed_cells(mesh) == [("quad", [[0, 1, 4, 3]]), ("triangle", [[1, 2, 5], [1, 5, 4]])]
    assert np.array_equal(mesh.point_data["heat"], NODAL["heat"][0]) and set(mesh.point_data) == {"heat", "v"}
    assert np.array_equal(mesh.point_data["v"], np.stack([NODAL[f"v{axis}"][0] for axis in "XYZ"], 1))
    assert np.isnan(mesh.cell_data["damage"][0]).all()
    assert np.array_equal(mesh.cell_data["damage"][1], CELLS["damage"][1][0])
    for part, values in zip(mesh.cell_data["stress"], CELLS["stress"], strict=True):
        assert np.array_equal(part, values[0])
    assert {name: values.tolist() for name, values in mesh.field_data.items()} == {
        name: [values[0]] for name, values in GLOBAL.items()
    }
    assert listed(mesh.point_sets) == {
        "out": [0, 1],
        "node set 101": [3],
        "inflow": [0, 3],
        "side set 101": [0, 1, 2],
        "out (sides)": [2, 5],
    }
    assert listed(mesh.cell_sets) == {"steel": [[0], []], "pair": [[0], [1]]}
    assert "the first of 3 time steps" in caplog.text
    distance = geometry_values(mesh, "boundary_distance:inflow", "point")
    assert distance.ravel().tolist() == [0, 1, 2, 0, 1, 2]
    again = tmp_path / "plate.vtu"  # sets live on in other formats
    write_mesh(again, mesh)
    assert_same_data(mesh, read_mesh(again), "point_sets")


def add_everything(mesh):
    mesh = mesh.with_point_data("heat_prediction", random.random(6))
    mesh = mesh.with_point_data("v_prediction", random.random((6, 3)))
    mesh = mesh.with_point_data("pair", random.random((6, 2)).astype(np.float32))
    mesh = mesh.with_cell_data("stress_prediction", random.random(3)).with_cell_data("tensor", random.random((3, 6)))
    mesh = mesh.with_field_data("energy_prediction", 0.1).with_field_data("force", np.array([1.0, 1 / 3]))
    return mesh


@pytest.mark.parametrize(
    "form", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"]
)
def test_results_are_a_copy_with_more_fields(form, tmp_path):
    source, target = tmp_path / "plate.exo", tmp_path / "results" / "plate.exo"
    plate(source, form)
    before = source.read_bytes()
    mesh = add_everything(read_mesh(source))
    assert result_name(source) == "plate.exo"
    write_mesh(target, mesh)
    assert source.read_bytes() == before and [file.name for file in target.parent.iterdir()] == ["plate.exo"]
    old, new = exodus_files.variables(source), exodus_files.variables(target)
    remade = {"name_nod_var", "name_elem_var", "name_glo_var", "elem_var_tab", "vals_glo_var"}
    for name, held in old[0].items():
        assert name in remade or new[0][name] == held, name
    assert all(new[1][name] == size for name, size in old[1].items() if not name.endswith("_var"))
    assert all(new[2][key] == value for key, value in old[2].items())
    with Dataset(target) as file:
        assert file.data_model == form
        file.set_auto_maskandscale(False)
        names = [b"".join(row).split(b"\0")[0].decode() for row in file["name_nod_var"][:]]
        assert names[:5] == [*NODAL, "heat_prediction"]
        assert names[5:10] == ["v_predictionX", "v_predictionY", "v_predictionZ", "pairX", "pairY"]
        assert np.array_equal(file["vals_nod_var5"][0], mesh.point_data["heat_prediction"])
        assert np.isnan(file["vals_nod_var5"][1:]).all()
        assert np.array_equal(file["vals_nod_var7"][0], mesh.point_data["v_prediction"][:, 1])
        assert file["vals_nod_var9"].dtype == np.float32
        assert np.array_equal(file["vals_glo_var"][:, :2], np.stack(list(GLOBAL.values()), 1))
        assert (
            file["vals_glo_var"][0, 2:].tolist() == [0.1, 1.0, 1 / 3] and np.isnan(file["vals_glo_var"][1:, 2:]).all()
        )
        assert file["elem_var_tab"][:].tolist() == [[0] + [1] * 8, [1] * 9]
        parts = [file[f"vals_elem_var3eb{block}"][0] for block in (1, 2)]
        assert np.array_equal(np.concatenate(parts), np.concatenate(mesh.cell_data["stress_prediction"]))
    again = read_mesh(target)
    assert_same_data(mesh, again, "point_data", "cell_data", "point_sets", "cell_sets")
    assert set(again.field_data) == set(mesh.field_data) and again.field_data["force"].tolist() == [1.0, 1 / 3]


def test_results_are_read_by_vtk(tmp_path):
    plate(tmp_path / "plate.exo")
    longest = "a name that is longer than Exodus files had room for"
    mesh = add_everything(read_mesh(tmp_path / "plate.exo")).with_point_data(longest, np.arange(6))
    write_mesh(tmp_path / "result.exo", mesh)
    assert set(read_mesh(tmp_path / "result.exo").point_sets) == set(mesh.point_sets)
    blocks = pyvista.read(tmp_path / "result.exo")["Element Blocks"]
    place = {tuple(point): k for k, point in enumerate(np.pad(mesh.points, ((0, 0), (0, 1))).tolist())}
    start = 0
    for block in blocks:
        own = [place[tuple(point)] for point in block.points.tolist()]
        assert np.array_equal(block.point_data["heat_prediction"], mesh.point_data["heat_prediction"][own])
        assert np.array_equal(block.point_data["v_prediction"], mesh.point_data["v_prediction"][own])
        assert np.array_equal(block.point_data[longest], mesh.point_data[longest][own])
        assert np.array_equal(block.point_data["heat"], mesh.point_data["heat"][own])
        values = np.concatenate(mesh.cell_data["stress_prediction"])[start : start + block.n_cells]
        assert np.array_equal(block.cell_data["stress_prediction"], values)
        start += block.n_cells
    assert start == 3


def test_results_of_results_are_replaced(tmp_path):
    plate(tmp_path / "a.exo")
    write_mesh(tmp_path / "b.exo", add_everything(read_mesh(tmp_path / "a.exo")))
    mesh = read_mesh(tmp_path / "b.exo")
    mesh = mesh.with_point_data("v_prediction", np.ones((6, 3)), "replace").with_point_data(
        "heat", np.zeros(6), "replace"
    )
    mesh = mesh.with_cell_data("damage", np.array([1.0, 2, 3]), "replace")
    write_mesh(tmp_path / "c.exo", mesh)
    old, new = exodus_files.variables(tmp_path / "b.exo"), exodus_files.variables(tmp_path / "c.exo")
    changed = {name for name in new[0] if new[0][name] != old[0].get(name)}
    assert changed == {
        *(f"vals_nod_var{k}" for k in (1, 6, 7, 8)), "vals_elem_var1eb1", "vals_elem_var1eb2", "elem_var_tab"
    }  # fmt: skip
    again = read_mesh(tmp_path / "c.exo")
    assert (again.point_data["v_prediction"] == 1).all() and not again.point_data["heat"].any()
    assert np.concatenate(again.cell_data["damage"]).tolist() == [1, 2, 3]
    with Dataset(tmp_path / "c.exo") as file:
        assert np.array_equal(file["vals_nod_var1"][1:], NODAL["heat"][1:])
    with pytest.raises(ValueError, match="'v_prediction' has 1 components in place of 3"):
        write_mesh(tmp_path / "d.exo", mesh.with_point_data("v_prediction", np.ones(6), "replace"))


def test_a_file_without_times_gets_one(tmp_path):
    exodus_files.write(tmp_path / "a.e", PLANE, [("QUAD", [[0, 1, 4, 3], [1, 2, 5, 4]], "")])
    mesh = read_mesh(tmp_path / "a.e").with_point_data("p", np.arange(6.0)).with_cell_data("c", np.arange(2.0))
    write_mesh(tmp_path / "b.e", mesh)
    with Dataset(tmp_path / "b.e") as file:
        assert file["time_whole"][:].tolist() == [0] and file["vals_nod_var1"][:].tolist() == [[0, 1, 2, 3, 4, 5]]
        assert file["vals_elem_var1eb1"][:].tolist() == [[0, 1]]
    assert pyvista.read(tmp_path / "b.e")["Element Blocks"][0].point_data["p"].size == 6


def test_fields_of_old_files_are_one_variable(tmp_path):
    exodus_files.write(tmp_path / "a.e", PLANE, [("QUAD", [[0, 1, 4, 3], [1, 2, 5, 4]], "")], steps=2)
    with Dataset(tmp_path / "a.e", "a") as file:
        file.createDimension("num_nod_var", 2)
        exodus_files.put_names(file, "name_nod_var", "num_nod_var", ["p", "q"])
        made = file.createVariable("vals_nod_var", "f8", ("time_step", "num_nod_var", "num_nodes"))
        made[:] = np.arange(24).reshape(2, 2, 6)
    mesh = read_mesh(tmp_path / "a.e")
    assert mesh.point_data["q"].tolist() == [*range(6, 12)]
    write_mesh(tmp_path / "b.e", mesh.with_point_data("r", np.ones(6)))
    with Dataset(tmp_path / "b.e") as file:
        file.set_auto_mask(False)
        assert np.array_equal(file["vals_nod_var"][:, :2], np.arange(24).reshape(2, 2, 6))
        assert (file["vals_nod_var"][0, 2] == 1).all() and np.isnan(file["vals_nod_var"][1, 2]).all()


@pytest.mark.parametrize("is_old", [True, False])
def test_results_in_files_of_single_precision_are_double(is_old, tmp_path):
    exodus_files.write(tmp_path / "a.e", PLANE, [("QUAD", [[0, 1, 4, 3], [1, 2, 5, 4]], "")], steps=2)
    values = random.random((2, 6)).astype(np.float32)
    with Dataset(tmp_path / "a.e", "a") as file:
        file.createDimension("num_nod_var", 1)
        file.createDimension("num_glo_var", 1)
        exodus_files.put_names(file, "name_nod_var", "num_nod_var", ["p"])
        exodus_files.put_names(file, "name_glo_var", "num_glo_var", ["drag"])
        file.createVariable("vals_glo_var", "f4", ("time_step", "num_glo_var"))[:] = [[1 / 3], [2 / 3]]
        if is_old:
            made = file.createVariable("vals_nod_var", "f4", ("time_step", "num_nod_var", "num_nodes"))
            made[:] = values[:, None]
        else:
            file.createVariable("vals_nod_var1", "f4", ("time_step", "num_nodes"))[:] = values
    mesh = read_mesh(tmp_path / "a.e")
    assert np.array_equal(mesh.point_data["p"], values[0])
    mesh = mesh.with_point_data("p_error", np.arange(6) / 3).with_field_data("drag_error", 0.1)
    write_mesh(tmp_path / "b.e", mesh)
    with Dataset(tmp_path / "b.e") as file:
        file.set_auto_mask(False)
        assert np.array_equal(file["vals_nod_var"][:, 0] if is_old else file["vals_nod_var1"][:], values)
        assert np.array_equal(file["vals_nod_var"][0, 1] if is_old else file["vals_nod_var2"][0], np.arange(6) / 3)
        assert file["vals_glo_var"][:].tolist()[0] == [float(np.float32(1 / 3)), 0.1]
    mesh = read_mesh(tmp_path / "b.e").with_point_data("p", np.arange(6) / 7, "replace")
    write_mesh(tmp_path / "c.e", mesh)
    assert np.array_equal(read_mesh(tmp_path / "c.e").point_data["p"], np.arange(6) / 7)


def test_what_does_not_fit_into_a_copy_is_refused(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    plate(tmp_path / "plate.exo")
    mesh = read_mesh(tmp_path / "plate.exo")
    target = tmp_path / "result.exo"
    without = {name: values for name, values in mesh.point_data.items() if name != "heat"}
    for broken, message in (
        (replace(mesh, points=mesh.points + 1), "the points are not those of"),
        (replace(mesh, point_sets={}), "the point sets are not those of"),
        (replace(mesh, point_data=without), "heat of .* is no longer there"),
        (mesh.with_point_data("words", np.array(["a"] * 6)), "'words' is no number"),
        (mesh.with_point_data("heat ", np.zeros(6)), "came back changed|there already"),
        (mesh.with_point_data("large", np.full(6, 2**60 + 1)), "'large' came back changed"),
        (replace(mesh, path=None), r"no file that it came from.*write to result\.vtu instead"),
        (Mesh(mesh.points, path=tmp_path / "gone.exo"), "there is no such file"),
    ):
        with pytest.raises(ValueError, match=message):
            write_mesh(target, broken)
    assert [file.name for file in tmp_path.iterdir()] == ["plate.exo"]
    exodus_files.write(tmp_path / "odd.exo", np.eye(3), [("NSIDED", [[0, 1, 2]], "")])
    assert result_name(tmp_path / "odd.exo") == "odd.vtu"
    assert "odd.vtu, since elements 'NSIDED' of 3 nodes are not known" in caplog.text
    (tmp_path / "broken.exo").write_bytes(b"CDF\1 and so on")
    assert result_name(tmp_path / "broken.exo") == "broken.vtu"
    with pytest.raises(ValueError, match=r"broken\.exo: Expected a mesh file"):
        read_mesh(tmp_path / "broken.exo")


FAMILIES = {
    "HEX": "hexahedron",
    "WEDGE": "wedge",
    "TETRA": "tetra",
    "PYRAMID": "pyramid",
    "SHELL": "quad",
    "TRI": "triangle",
}
SIDES = {"HEX": 6, "WEDGE": 5, "TETRA": 4, "PYRAMID": 5, "SHELL": 6, "TRI": 5}


def element(name):
    """The points of an element whose middle nodes are in the middles, in the order of Exodus."""
    family = name.rstrip("0123456789")
    points = np.array(CORNERS[FAMILIES[family]], float)
    if points.shape[1] == 2:  # a shell, curved so that its first corner is above the others
        points = np.c_[points, [0.5, *[0] * (len(points) - 1)]]
    nodes = int(name[len(family) :])
    if nodes > len(points):
        points = np.concatenate([points, [points[list(edge)].mean(0) for edge in EDGES[FAMILIES[family]]]])
    if name == "HEX27":
        faces = [[0.5, 0.5, 0], [0.5, 0.5, 1], [0, 0.5, 0.5], [1, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 1, 0.5]]
        points = np.concatenate([points, [[0.5, 0.5, 0.5]], faces])
    if name == "SHELL9":
        points = np.concatenate([points, [points[:4].mean(0)]])
    return family, points


@pytest.mark.parametrize(
    "name",
    [
        *("HEX8", "HEX20", "HEX27", "WEDGE6", "WEDGE15", "TETRA4", "TETRA10"),
        *("PYRAMID5", "PYRAMID13", "SHELL4", "SHELL8", "SHELL9", "TRI3", "TRI6"),
    ],
)
def test_cells_and_sides_are_vtk_s(name, tmp_path):
    family, points = element(name)
    count = SIDES[family]
    sides = [(f"side {k}", [1], [k]) for k in range(1, count + 1)]
    exodus_files.write(tmp_path / "mesh.e", points, [(name, [range(len(points))], "")], sides=sides)
    mesh = read_mesh(tmp_path / "mesh.e")
    reader = pyvista.get_reader(tmp_path / "mesh.e")
    reader.side_sets.enable_all()
    found = reader.read()
    (grid,) = found["Element Blocks"]
    own = mesh.points_in_space()[mesh.cells[0][1][0]]
    if family != "WEDGE":  # VTK turns wedges round, meshio's are those of Exodus
        theirs = grid.points[grid.get_cell(0).point_ids]  # without the middle of a shell
        assert np.array_equal(own[: len(theirs)], theirs) and len(own) - len(theirs) == (name == "SHELL9")
    else:
        assert np.array_equal(own[:9], points[:9])
        middles = [own[list(edge)].mean(0) for edge in (*EDGES["wedge"][6:], *EDGES["wedge"][3:6])]  # top, upright
        assert np.array_equal(own[9:], np.reshape(middles, (-1, 3))[: len(own) - 6])
    assert grid.n_cells == 1 and len(mesh.point_sets) == count
    for k in range(1, count + 1):
        theirs = found["Side Sets"][f"side {k}"].points
        mine = mesh.points_in_space()[mesh.point_sets[f"side {k}"]]
        assert sorted(mine.tolist()) == sorted(theirs.tolist()), k


@pytest.mark.skipif(not NOH.is_file(), reason="other programs' meshes are not beside the project")
def test_a_file_of_another_program(tmp_path):
    mesh = read_mesh(NOH)
    with Dataset(NOH) as file:
        file.set_auto_maskandscale(False)
        names = [b"".join(row).split(b"\0")[0].decode() for row in file["name_elem_var"][:]]
        for k, name in enumerate(names, start=1):
            for block, part in enumerate(mesh.cell_data[name], start=1):
                assert np.array_equal(part, file[f"vals_elem_var{k}eb{block}"][0])
        assert [float(values[0]) for values in mesh.field_data.values()] == file["vals_glo_var"][0].tolist()
    mesh = mesh.with_point_data("p_prediction", np.arange(22) / 7).with_cell_data("c_prediction", np.arange(10) / 7)
    write_mesh(tmp_path / result_name(NOH), mesh)
    assert result_name(NOH) == NOH.name
    old, new = exodus_files.variables(NOH), exodus_files.variables(tmp_path / NOH.name)
    for name, held in old[0].items():
        assert name in ("name_nod_var", "name_elem_var", "elem_var_tab") or new[0][name] == held
    blocks = pyvista.read(tmp_path / NOH.name)["Element Blocks"]
    assert np.array_equal(np.concatenate([b.cell_data["c_prediction"] for b in blocks]), np.arange(10) / 7)


def test_sets_that_share_a_name_are_both_kept(tmp_path):
    path = tmp_path / "plate.exo"
    blocks = [("QUAD4", [[0, 1, 4, 3]], "steel"), ("TRI3", [[1, 2, 5], [1, 5, 4]], "")]
    exodus_files.write(path, PLANE, blocks, elements=[("steel", [3])])
    sets = read_mesh(path).cell_sets
    assert listed(sets) == {"steel": [[0], []], "steel (elements)": [[], [1]]}


def test_a_set_with_sides_that_are_not_known_is_left_out_whole(tmp_path):
    path = tmp_path / "mixed.exo"
    blocks = [("QUAD4", [[0, 1, 4, 3]], "plate"), ("BAR2", [[1, 2]], "bar")]
    exodus_files.write(path, PLANE, blocks, sides=[("inflow", [1, 2], [4, 1]), ("left", [1], [4])])
    mesh = read_mesh(path)
    assert set(mesh.point_sets) == {"left"}
    assert texts(mesh) == ["the set 'inflow' is left out: its sides of BAR2 elements are not known"]


def test_a_cell_set_in_another_block_is_not_that_of_the_file(tmp_path):
    plate(tmp_path / "plate.exo")
    mesh = read_mesh(tmp_path / "plate.exo")
    moved = {**mesh.cell_sets, "steel": tuple(reversed(mesh.cell_sets["steel"]))}
    with pytest.raises(ValueError, match="the cell sets are not those of"):
        write_mesh(tmp_path / "new.exo", replace(mesh, cell_sets=moved))


def test_variables_that_had_no_step_have_no_value_at_the_new_one(tmp_path):
    path = tmp_path / "plate.exo"
    exodus_files.write(path, PLANE, [("TRI3", [[1, 2, 5]], "")], nod={"T": np.zeros((0, 6))})
    write_mesh(tmp_path / "new.exo", read_mesh(path).with_point_data("u", np.arange(6.0)))
    again = read_mesh(tmp_path / "new.exo")
    assert np.isnan(again.point_data["T"]).all() and again.point_data["u"].tolist() == list(range(6))
