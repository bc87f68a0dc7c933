"""What is in mesh files, and what could go wrong: each check sees its flaw, and nothing where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import meshio
import numpy as np
import pytest

from pitgeo.cli.main import main
from pitgeo.config.toml import tomllib
from pitgeo.data.fields import FieldTable
from pitgeo.describe import Description, describe, format_description
from pitgeo.describe.cells import flaws, measures
from pitgeo.describe.checks import FIELD_CHECKS, MESH_CHECKS
from pitgeo.describe.files import mesh_files
from pitgeo.mesh import Mesh, result_name, write_mesh

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "cases"
SIDE = 5
QUADS = np.array([[i, i + 1, i + SIDE + 1, i + SIDE] for i in range(SIDE * (SIDE - 1)) if i % SIDE < SIDE - 1])


def plate(seed: int = 0, **fields: np.ndarray | float) -> Mesh:
    """A planar mesh of 5 x 5 points with a displacement ``u``, and other fields."""
    random = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).reshape(-1, 2)
    mesh = Mesh(grid + 0.2 * random.random(grid.shape), (("quad", QUADS),))
    mesh = mesh.with_point_data("u", random.random((len(grid), 2)))
    for name, values in fields.items():
        mesh = mesh.with_point_data(name, np.broadcast_to(values, (len(grid), *np.shape(values)[1:])).copy())
    return mesh


def written(folder: Path, *meshes: Mesh) -> list[Path]:
    """Files ``0.vtu``, ``1.vtu``, ..."""
    paths = [folder / f"{number}.vtu" for number in range(len(meshes))]
    for path, mesh in zip(paths, meshes, strict=True):
        write_mesh(path, mesh)
    return paths


def findings(folder: Path, *meshes: Mesh) -> dict[str, list[str]]:
    """What the checks say, but for that on few files."""
    return by_check(describe(written(folder, *meshes)))


def by_check(description: Description) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in description.findings:
        found.setdefault(finding.check, []).append(finding.text)
    assert set(found) <= {*MESH_CHECKS, *FIELD_CHECKS} and all(
        "\n" not in finding.text for finding in description.findings
    )
    found.pop("few files", None)
    return found


def test_good_files_are_described_without_findings(tmp_path: Path) -> None:
    paths = written(tmp_path, *(plate(seed, heat=np.linspace(seed, 30, 25)) for seed in range(20)))
    description = describe([tmp_path])
    assert description.findings == () and description.unreadable == {}
    assert set(description.files) == {path.as_posix() for path in paths}
    assert description.points == (25, 25) and description.cells == (16, 16)
    assert description.cell_types == {"quad": (20, 16, 16)}
    assert description.dimensions == (2,) and description.is_planar_in_space and not description.is_shared_mesh
    u, heat = description.fields
    assert (u.place, u.name, u.components, u.dtypes, u.files) == ("points", "u", (2,), ("float64",), 20)
    assert (heat.components, heat.low, heat.high) == ((1,), 0.0, 30.0)
    values = np.concatenate([plate(seed).point_data["u"] for seed in range(20)])
    assert u.ranges == tuple(zip(values.min(0).tolist(), values.max(0).tolist(), strict=True))
    assert (u.low, u.high) == (values.min(), values.max())
    assert "Nothing found that could go wrong" in format_description(description)
    assert json.loads(json.dumps(description.to_dict(), allow_nan=False))["fields"][1]["high"] == 30


def test_few_files(tmp_path: Path) -> None:
    assert describe(written(tmp_path, plate())).findings[0].text.startswith("1 file, fewer than 20")


def test_a_shared_mesh_is_recognised(tmp_path: Path) -> None:
    first = plate()
    second = replace(first, point_data={"u": first.point_data["u"] + 1})
    description = describe(written(tmp_path, first, second))
    assert description.is_shared_mesh and "identical files" not in by_check(description)
    assert "the same points and cells in all files" in format_description(description)
    moved = replace(second, cells=(("quad", QUADS[::-1]),))
    assert not describe(written(tmp_path, first, moved)).is_shared_mesh
    assert not describe(written(tmp_path, first)).is_shared_mesh


def test_identical_files(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(0), plate(1), plate(0))
    assert list(found) == ["identical files"]
    assert "1 file with the content of another, first 2.vtu (as 0.vtu)" in found["identical files"][0]


def test_mixed_dimensions(tmp_path: Path) -> None:
    flat = plate()
    curved = replace(flat, points=np.column_stack([flat.points, flat.points[:, 0] ** 2]))
    found = findings(tmp_path, flat, curved)
    assert list(found) == ["dimensions"]
    assert "2D in 1 file (first 0.vtu), 3D in 1 file (first 1.vtu)" in found["dimensions"][0]


def test_planes_in_space(tmp_path: Path) -> None:
    flat = plate()
    tilted = replace(
        flat, points=np.column_stack([flat.points, 2 + flat.points[:, 1]]).astype(np.float32).astype(float)
    )
    found = findings(tmp_path, tilted)
    assert list(found) == ["planes in space"]
    assert "points of 0.vtu" in found["planes in space"][0] and "0.707" in found["planes in space"][0]


def test_coordinates_in_other_units(tmp_path: Path) -> None:
    meshes = [plate(seed) for seed in range(4)]
    meshes[1] = replace(meshes[1], points=1000 * meshes[1].points)
    found = findings(tmp_path, *meshes)
    assert list(found) == ["coordinate units"]
    assert (
        "1 file (first 1.vtu" in found["coordinate units"][0] and "3 files (first 0.vtu" in found["coordinate units"][0]
    )
    spread = [replace(plate(seed), points=8.0**seed * plate(seed).points) for seed in range(5)]
    assert findings(tmp_path, *spread) == {}


def test_values_in_other_units(tmp_path: Path) -> None:
    meshes = [plate(seed, p=10**6 * np.linspace(-1, 1, 25)) for seed in range(4)]
    meshes[2] = plate(2, p=np.linspace(-1, 1, 25))
    found = findings(tmp_path, *meshes)
    assert list(found) == ["field units"]
    text = found["field units"][0]
    assert text.startswith(
        "point field 'p': values up to 1e+06 in 3 files (first 0.vtu), but 1 in 1 file (first 2.vtu)"
    )


def test_large_meshes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written(tmp_path, plate())
    assert by_check(describe(paths)) == {}
    monkeypatch.setattr("pitgeo.describe.checks.LARGE", 24)
    assert "at most 25 in 0.vtu" in by_check(describe(paths))["large meshes"][0]


def test_orphan_points(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(1), replace(plate(), cells=(("quad", QUADS[1:]),)))
    assert list(found) == ["orphan points"]
    assert found["orphan points"][0].startswith("1.vtu: 1 points") and "(in 1 of 2 files)" in found["orphan points"][0]
    assert findings(tmp_path, replace(plate(), cells=())) == {}


def test_repeated_cells(tmp_path: Path) -> None:
    mesh = plate()
    twice = replace(mesh, cells=(*mesh.cells, ("quad", QUADS[:3, [1, 2, 3, 0]])))
    found = findings(tmp_path, mesh, twice)
    assert found["repeated cells"] == ["1.vtu: 3 cells have the nodes of another, and count twice (in 1 of 2 files)"]
    assert "repeated cells" not in findings(tmp_path / "other", mesh)


def test_numbers_of_pieces_are_no_field(tmp_path: Path) -> None:
    mesh = plate().with_cell_data("pitgeo:piece", np.arange(len(QUADS)) // 4)
    assert not [field for field in describe(written(tmp_path, mesh)).fields if field.name == "pitgeo:piece"]


def test_duplicated_points(tmp_path: Path) -> None:
    points = plate().points.copy()
    points[7] = points[3]
    found = findings(tmp_path, replace(plate(), points=points))
    assert found["duplicated points"][0].startswith("0.vtu: 1 points lie exactly on another")


def test_degenerate_and_inverted_cells(tmp_path: Path) -> None:
    cells = QUADS.copy()
    cells[3] = cells[3, ::-1]
    assert findings(tmp_path, replace(plate(), cells=(("quad", cells),)))["inverted cells"][0].startswith(
        "0.vtu: 1 cells"
    )
    assert findings(tmp_path, replace(plate(), cells=(("quad", QUADS[:, ::-1]),))) == {}
    cells = np.concatenate([QUADS, [[0, 1, 1, 0]]])
    found = findings(tmp_path, replace(plate(), cells=(("quad", cells),)))
    assert list(found) == ["degenerate cells"] and found["degenerate cells"][0].startswith("0.vtu: 1 cells")


def test_formats_that_are_not_written(tmp_path: Path) -> None:
    corners = "\n".join(["0 0 0", "2 0 0", "0 1 0.5", "1 1 3"])
    text = f"OFF\n4 4 0\n{corners}\n3 0 1 2\n3 0 1 3\n3 1 2 3\n3 0 2 3\n"
    (tmp_path / "a.off").write_text(text)
    found = by_check(describe([tmp_path / "a.off"]))
    assert list(found) == ["unwritable formats"]
    assert found["unwritable formats"][0] == (
        "a.off: predictions will be a .vtu file, since .off files do not keep every field"
    )


@pytest.mark.parametrize(("version", "binary"), [("2.2", False), ("2.2", True), ("4.1", False)])
def test_formats_that_predictions_keep_are_those_of_predict(tmp_path: Path, version: str, binary: bool) -> None:
    mesh = plate()
    made = meshio.Mesh(mesh.points_in_space(), [("quad", QUADS)])
    path = tmp_path / "a.msh"
    meshio.gmsh.write(path, made, fmt_version=version, binary=binary)
    assert result_name(path) == "a.msh" and "unwritable formats" not in by_check(describe([path]))


def test_exodus_files_are_kept_but_for_those_with_groups(tmp_path: Path) -> None:
    exodus = pytest.importorskip("netCDF4")
    path = tmp_path / "a.e"
    meshio.exodus.write(path, meshio.Mesh(plate().points_in_space(), [("quad", QUADS)]))
    assert result_name(path) == "a.e" and "unwritable formats" not in by_check(describe([path]))
    with exodus.Dataset(path, "a") as file:
        file.createGroup("more")
    found = by_check(describe([path]))
    assert result_name(path) == "a.vtu"
    assert found["unwritable formats"] == ["a.e: predictions will be a .vtu file, since it holds groups"]


def test_gmsh_files_whose_numbers_are_shared_are_not_kept(tmp_path: Path) -> None:
    """As ``predict`` finds it, and for the reason that it logs."""
    text = tmp_path / "a.msh"
    meshio.gmsh.write(text, meshio.Mesh(plate().points_in_space(), [("quad", QUADS)]), "2.2", binary=False)
    lines = text.read_text().splitlines()
    start = lines.index("$Elements") + 2
    lines[start + 1] = " ".join([lines[start].split()[0], *lines[start + 1].split()[1:]])
    text.write_text("\n".join(lines) + "\n")
    found = by_check(describe([text]))
    assert result_name(text) == "a.vtu"
    assert found["unwritable formats"] == [
        "a.msh: predictions will be a .vtu file, since points or cells share a number"
    ]


def test_a_name_of_two_fields(tmp_path: Path) -> None:
    mesh = replace(plate(), cell_data={"u": (np.linspace(0, 1, 16),)})
    found = findings(tmp_path, plate(1), mesh)
    assert "'u' is a field of points (first in 0.vtu) and one of cells (first in 1.vtu)" in found["two places"][0]
    assert "'point:u' or 'cell:u'" in found["two places"][0] and "rename" not in found["two places"][0]
    assert FieldTable.infer(mesh, ["point:u"], ["cell:u"]).output_places == ("cell",)  # they are what is understood
    write_mesh(tmp_path / "0.vtu", mesh)
    suggested = tomllib.loads(describe([tmp_path / "0.vtu", tmp_path / "1.vtu"]).suggestion)
    assert suggested["data"]["meshes"]["targets"] == ["point:u"]


def test_missing_fields(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(0, T=np.linspace(0, 1, 25)), plate(1), plate(2))
    assert found == {"missing": ["point field 'T': missing in 2 of 3 files, first 1.vtu"]}


def test_different_components(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    found = findings(tmp_path, plate(0, v=random.random((25, 3))), plate(1, v=random.random(25)))
    assert found == {"components": ["point field 'v': components differ: 1 in 1.vtu, 3 in 0.vtu"]}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(tmp_path: Path, bad: float) -> None:
    values = np.linspace(-1, 1, 25)
    values[[6, 9]] = bad
    mesh = plate(1, T=values)
    mesh = replace(mesh, cell_data={"c": (np.where(np.arange(16) == 5, bad, np.arange(16) / 7),)})
    description = describe(written(tmp_path, plate(0, T=np.linspace(0, 2, 25)), mesh))
    found = by_check(description)["not finite"]
    assert found[0] == "point field 'T': NaN or infinite in 1.vtu, first at point 6, 2 in all (in 1 of 2 files)"
    assert found[1].startswith("cell field 'c': NaN or infinite in 1.vtu, first at cell 5, 1 in all")
    field = next(field for field in description.fields if field.name == "T")
    assert (field.low, field.high) == (-1, 2)
    json.dumps(description.to_dict(), allow_nan=False)
    assert tomllib.loads(description.suggestion)["data"]["meshes"]["targets"] == ["u"]


def test_a_field_of_nan_alone(tmp_path: Path) -> None:
    description = describe(written(tmp_path, plate(T=np.nan)))
    assert description.fields[1].low is None and description.fields[1].ranges == ()
    assert "not finite" in by_check(description)
    assert "  T     points  1           float64                     all" in format_description(description)


def test_constant_fields(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(0, rho=7.5), plate(1, rho=7.5))
    assert found == {
        "constant": ["point field 'rho': constant (7.5) in 2 files, first 0.vtu: nothing to learn, and no information"]
    }
    description = describe(written(tmp_path, plate(0, load=7.5), plate(1, load=8.5)))
    assert by_check(description) == {} and 'One value a file, so taken for inputs: "load"' in description.suggestion
    table = tomllib.loads(description.suggestion)["data"]["meshes"]
    assert table["inputs"] == ["load"] and table["targets"] == ["u"]


def test_fields_at_rest_in_some_files(tmp_path: Path) -> None:
    values = np.linspace(1, 2, 25)
    found = findings(tmp_path, plate(0, lift=values), plate(1, lift=0 * values), plate(2, lift=values + 1))
    assert found["at rest"][0].startswith("point field 'lift': zero throughout in 1 file, first 1.vtu: as a target")
    loads = [plate(number, load=0 * values + 0.3 * number) for number in range(3)]  # one value a file: an input
    assert findings(tmp_path, *loads) == {}


def test_constant_fields_of_the_mesh(tmp_path: Path) -> None:
    meshes = [replace(plate(seed), field_data={"mach": np.array([0.8])}) for seed in range(2)]
    assert findings(tmp_path, meshes[0]) == {}
    assert "field of the mesh 'mach': constant (0.8)" in findings(tmp_path, *meshes)["constant"][0]


def test_fields_over_many_decades(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(0, k=np.geomspace(1e-3, 50, 25)))
    assert found == {"logarithm": ["point field 'k': positive, from 0.001 (in 0.vtu) to 50: consider its logarithm"]}
    assert findings(tmp_path, plate(0, k=np.geomspace(1e-3, 9, 25))) == {}
    assert findings(tmp_path, plate(0, k=np.geomspace(1e-3, 50, 25) - 0.002)) == {}


def test_categories(tmp_path: Path) -> None:
    found = findings(tmp_path, plate(0, material=np.arange(25) % 2), plate(1, material=np.arange(25.0) % 3))
    assert found["category"][0].startswith(
        "point field 'material': 3 different whole numbers (0, 1, 2; first in 0.vtu)"
    )
    assert findings(tmp_path, plate(0, wall=np.arange(25) % 2)) == {}
    assert findings(tmp_path, plate(0, number=np.arange(25))) == {}


def test_text_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = written(tmp_path, plate())
    named = replace(
        plate(), field_data={"solver": np.array(["steady", "k-eps"])}, point_data={"tag": np.array(["a"] * 25)}
    )
    monkeypatch.setattr("pitgeo.describe.description.read", lambda path: named)
    found = by_check(describe([path]))["text"]
    assert found[0].startswith("point field 'tag': not numbers (<U1 in 0.vtu)")
    assert found[1].startswith("field of the mesh 'solver': not numbers")


def test_unreadable_files_do_not_stop_the_rest(tmp_path: Path) -> None:
    written(tmp_path, plate())
    (tmp_path / "bad.vtu").write_text("no mesh")
    description = describe([tmp_path / "none.vtu", tmp_path / "*.vtu"])
    assert description.files == ((tmp_path / "0.vtu").as_posix(),)
    assert list(description.unreadable) == [str(tmp_path / "none.vtu"), str(tmp_path / "bad.vtu")]
    assert description.unreadable[str(tmp_path / "bad.vtu")].startswith("Expected a mesh file")
    text = format_description(description)
    assert "(2 more cannot be read)" in " ".join(text.split()) and "Left out, since 2 cannot be read" in text
    assert tomllib.loads(description.suggestion)["data"]["meshes"]["files"] == (tmp_path / "0.vtu").as_posix()
    with pytest.raises(ValueError, match=r"can be read \(got 1, of which none can; the first is .*bad\.vtu: Expected"):
        describe([tmp_path / "bad.vtu"])


def test_progress_sees_every_file(tmp_path: Path) -> None:
    seen: list[Path] = []
    paths = written(tmp_path, plate(0), plate(1))
    describe(paths, lambda files: (seen.append(file) or file for file in files))
    assert seen == paths


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in "ab":
        write_mesh(tmp_path / name / "mesh.vtu", plate(0, T=1.5) if name == "a" else plate(1))
    assert f"first {tmp_path}/b/mesh.vtu" in by_check(describe([str(tmp_path / "*" / "mesh.vtu")]))["missing"][0]


def test_patterns_and_folders(tmp_path: Path) -> None:
    paths = written(tmp_path, plate(0), plate(1))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".part-1.vtu").write_text("half")
    odd = tmp_path / "[1].vtu"
    write_mesh(odd, plate())
    assert mesh_files([tmp_path]) == [*paths, odd]
    assert mesh_files([str(tmp_path / "?.vtu"), tmp_path / "0.vtu", f"{tmp_path}/./1.vtu"]) == paths
    assert mesh_files([odd]) == [odd]
    for wrong, message in {"*.vtk": "that match .*vtk", "empty": "in the folder .*give the files by name"}.items():
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(ValueError, match=message):
            mesh_files([paths[0], tmp_path / wrong])
    write_mesh(tmp_path / "deep" / "down" / "a.vtu", plate())
    with pytest.raises(ValueError, match=r"deep/\*\*/\*\.vtu"):
        mesh_files([tmp_path / "deep"])
    assert mesh_files([f"{tmp_path}/deep/**/*.vtu"]) == [tmp_path / "deep" / "down" / "a.vtu"]
    with pytest.raises(ValueError, match="at least one"):
        mesh_files([])


def test_the_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        fields = {'von "mises"': np.linspace(0, 1, 25), "rho": 1.5, "part": np.arange(25) % 3}
        mesh = replace(
            plate(number, **fields), cell_data={"q": (np.linspace(0, 1, 16),)}, field_data={"mach": number + 0.5}
        )
        write_mesh(f"cases/run_{number}.vtu", mesh)
    write_mesh("cases/other.vtu", plate(5))

    def suggested(*paths: str | Path) -> dict[str, object]:
        return tomllib.loads(describe(paths).suggestion)["data"]["meshes"]

    few = {"geometry": "auto", "validation": 0, "test": 1}
    found = {"files": "cases/run_*.vtu", "inputs": ["mach"], "targets": ["u", 'von "mises"'], **few}
    assert suggested("cases/run_*.vtu") == found
    assert suggested("cases") == {"files": "cases/*.vtu", "inputs": [], "targets": ["u"], **few}
    assert suggested("cases/run_2.vtu")["files"] == "cases/run_2.vtu"
    assert suggested(*(f"cases/run_{number}.vtu" for number in range(3)))["files"] == "cases/run_*.vtu"
    assert suggested("cases/run_2.vtu", "cases/run_0.vtu")["files"] == ["cases/run_2.vtu", "cases/run_0.vtu"]
    text = describe(["cases/run_*.vtu"]).suggestion
    assert '# Left out, since constant: "rho".\n' in text
    assert '# Left out, since not floating-point numbers: "part".\n' in text
    assert '# Fields of cells, also in every file: "q".\n' in text
    assert 'taken for inputs: "mach"; results' in text


def test_a_suggestion_of_cell_fields(tmp_path: Path) -> None:
    mesh = replace(plate(), point_data={}, cell_data={"q": (np.linspace(0, 1, 16),)})
    text = describe(written(tmp_path, mesh)).suggestion
    assert tomllib.loads(text)["data"]["meshes"]["targets"] == ["q"] and "no field of points will do" in text


def test_text_fits_a_terminal(tmp_path: Path) -> None:
    names = {
        f"a rather long name of a field that has {'no ' * 9} number {number}": np.linspace(0, 1, 25)
        for number in range(9)
    }
    meshes = [plate(0, **names), plate(1), plate(2, **names)]
    meshes[2] = replace(meshes[2], point_sets={"inlet": np.array([0, 1])})
    paths = written(tmp_path, *meshes[:2])
    lines = format_description(describe(paths)).splitlines()
    body = lines[: lines.index("For the configuration")]
    assert all(len(line) <= 100 or "/" in line for line in body)
    assert sum(line.startswith("  a rather long name") and line.endswith("1 of 2") for line in body) == 9
    assert len({line for line in body if "..." in line}) == 9


def test_sets_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written(tmp_path, plate(0), plate(1))
    inlet = replace(plate(0), point_sets={"inlet": np.array([0, 1])}, cell_sets={"steel": (np.array([3]),)})
    monkeypatch.setattr("pitgeo.describe.description.read", {paths[0]: inlet, paths[1]: plate(1)}.__getitem__)
    description = describe(paths)
    assert description.point_sets == {"inlet": 1} and description.cell_sets == {"steel": 1}
    assert "inlet (1 of 2 files)" in format_description(description)


CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
SOLIDS = {  # corners in VTK's order, and the volume
    "tetra": (CUBE[[0, 1, 3, 4]], 1 / 6),
    "pyramid": (np.concatenate([CUBE[:4], [[0.2, 0.7, 1]]]), 1 / 3),
    "wedge": (CUBE[[0, 1, 3, 4, 5, 7]], 1 / 2),
    "hexahedron": (CUBE, 1.0),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_volumes(name: str) -> None:
    corners, volume = SOLIDS[name]
    stretch = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.0, 0.6, 0.5]])
    values, dimension = measures(name, np.stack([corners, corners @ stretch + 7, corners * [1, 1, -1]]))
    assert dimension == 3
    np.testing.assert_allclose(values, [volume, volume * np.linalg.det(stretch), -volume], rtol=1e-12)


@pytest.mark.parametrize("corners", [CUBE[:4, :2], CUBE[:3, :2], CUBE[[0, 1, 5, 4]], CUBE[:2]])
def test_areas_and_lengths(corners: np.ndarray) -> None:
    name = {2: "line", 3: "triangle", 4: "quad"}[len(corners)]
    measure = {2: 1.0, 3: 0.5, 4: 1.0}[len(corners)]
    values, dimension = measures(name, np.stack([corners, 3 * corners]))
    np.testing.assert_allclose(values, [measure, measure * 3**dimension], rtol=1e-12)


def test_cells_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    points, cells = plate().points, QUADS.copy()
    cells[[2, 9, 15]] = cells[[2, 9, 15], ::-1]
    cells[7] = [1, 1, 2, 2]
    whole = flaws(points, (("quad8", cells),))
    monkeypatch.setattr("pitgeo.describe.cells.CHUNK", 3)
    assert flaws(points, (("quad8", cells),)) == whole
    assert (whole.degenerate, whole.turned) == (1, 3)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, plate(0), plate(1, T=1.5))
    file = tmp_path / "out" / "description.json"
    assert main(["describe", str(tmp_path / "*.vtu"), "--json", str(file), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "point field 'T': missing in 1 of 2 files" in out and out.count("seed = 0") == 1 and not err
    found = json.loads(file.read_text())
    assert found["points"] == [25, 25] and found["fields"][1]["files"] == 1
    assert {"check": "missing", "text": "point field 'T': missing in 1 of 2 files, first 0.vtu"} in found["findings"]
    assert main(["describe", str(tmp_path)]) == 0
    assert "2/2" in capsys.readouterr().err


def test_mistakes_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in {"*.vtu": "files that match", "none.vtu": "got no such file", ".": "in the folder"}.items():
        assert main(["describe", str(tmp_path / wrong), "--quiet"]) == 2
        err = capsys.readouterr().err.strip().splitlines()
        assert len(err) == 1 and err[0].startswith("pitgeo: error: Expected") and message in err[0]


def test_the_script(tmp_path: Path) -> None:
    (path,) = written(tmp_path, plate())
    command = [sys.executable, "-W", "ignore", str(ROOT / "scripts" / "describe.py"), str(path), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "16 quad" in done.stdout, done.stderr


@pytest.mark.skipif(not CASES.exists(), reason="no real meshes in ../shared/cases")
def test_real_cars() -> None:
    description = describe([str(CASES / "fields" / "car_*.vtu")])
    assert description.points == (3586, 3586) and description.cell_types == {"triangle": (3, 7168, 7168)}
    assert description.dimensions == (3,) and not description.is_shared_mesh and not description.is_planar_in_space
    assert [(field.name, field.components) for field in description.fields] == [("pressure", (1,)), ("normal", (3,))]
    assert by_check(description) == {}
    table = tomllib.loads(description.suggestion)["data"]["meshes"]
    assert table["targets"] == ["pressure"] and 'since normals of the mesh: "normal"' in description.suggestion
