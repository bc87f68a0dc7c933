"""Files of AVS UCD against the arrays that they were written from."""

import meshio
import numpy as np
import pytest

from pitgeo.mesh import read_mesh
from pitgeo.mesh.cell_types import CORNERS

KINDS = {"hex": "hexahedron", "tet": "tetra", "prism": "wedge", "pyr": "pyramid", "quad": "quad", "tri": "triangle"}
KINDS |= {"line": "line", "pt": "vertex"}
random = np.random.default_rng(0)
POINTS = random.random((9, 3))
IDS = [10, 20, 30, 7, 50, 60, 5, 80, 95]
NODES = {kind: random.permutation(9)[: CORNERS[kind]] for kind in KINDS.values()}
T, V, C, W = random.random(9), random.random((9, 3)), random.random(8), random.random((8, 2))


def text(order=range(9)):
    rows = [f"{IDS[k]} {' '.join(map(repr, POINTS[k].tolist()))}" for k in range(9)]
    cells = [
        f"{k + 100} {k // 2} {name} {' '.join(str(IDS[node]) for node in NODES[kind])}"
        for k, (name, kind) in enumerate(KINDS.items())
    ]
    values = [f"{IDS[k]} {float(T[k])!r} {' '.join(map(repr, V[k].tolist()))}" for k in order]
    more = [f"{k + 100} {float(C[k])!r} {' '.join(map(repr, W[k].tolist()))}" for k in range(8)]
    fields = ["2 1 3", "T, K", "velocity of it, m/s", *values, "2 1 2", "c,", "w, -", *more, "1 1", "Re, -", "1 1e5"]
    return "\n".join(["# by hand", "9 8 4 3 1", *rows, *cells, *fields, ""])


@pytest.mark.parametrize("ending", ["inp", "avs"])
@pytest.mark.parametrize("order", [range(9), range(8, -1, -1)])
def test_every_kind_of_cell_and_field(ending, order, tmp_path):
    (tmp_path / f"mesh.{ending}").write_text(text(order))
    mesh = read_mesh(tmp_path / f"mesh.{ending}")
    assert np.array_equal(mesh.points, POINTS)
    assert [kind for kind, _ in mesh.cells] == list(KINDS.values())
    assert all(set(nodes[0]) == set(NODES[kind]) for kind, nodes in mesh.cells)
    assert dict(mesh.cells)["pyramid"][0].tolist() == [*NODES["pyramid"][1:], NODES["pyramid"][0]]  # the apex last
    assert np.array_equal(mesh.point_data["T"], T) and np.array_equal(mesh.point_data["velocity of it"], V)
    assert np.array_equal(np.concatenate(mesh.cell_data["c"]), C)
    assert np.array_equal(np.concatenate(mesh.cell_data["w"]), W)
    assert np.concatenate(mesh.cell_data["Material Id"]).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert mesh.field_data["Re"].tolist() == [1e5] and not mesh.notes


@pytest.mark.parametrize("kind", list(KINDS.values()))
def test_what_meshio_writes(kind, tmp_path):
    cells = [(kind, np.stack([random.permutation(9)[: CORNERS[kind]] for _ in range(3)]))]
    meshio.Mesh(POINTS, cells, {"a": T, "b": V}, {"c": [C[:3]]}).write(tmp_path / "mesh.avs", file_format="avsucd")
    mesh = read_mesh(tmp_path / "mesh.avs")
    assert np.allclose(mesh.points, POINTS) and mesh.cells[0][0] == kind
    found = mesh.cells[0][1] if kind != "tetra" else mesh.cells[0][1][:, [0, 1, 3, 2]]  # which meshio turns round
    assert np.array_equal(found, cells[0][1])
    assert np.allclose(mesh.point_data["a"], T) and np.allclose(mesh.point_data["b"], V)
    assert np.allclose(mesh.cell_data["c"][0], C[:3])


@pytest.mark.parametrize("line", range(2, len(text().splitlines())))
def test_files_cut_short_are_refused(line, tmp_path):
    (tmp_path / "mesh.inp").write_text("\n".join(text().splitlines()[:line]))
    with pytest.raises(ValueError, match=r"mesh\.inp: Expected .* lines of .* is the file whole"):
        read_mesh(tmp_path / "mesh.inp")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("95 ", "96 "), "got others|other numbers"),
        (("tet", "tetra"), "in line 13"),
        (("7 0.", "10 0."), "once"),
        (("2 1 3\n", "2 1 2\n"), "Expected 4 components of points .got '2 1 2' in line 20"),
        (("1 1e5", "1 1e5 2"), "Expected 2 numbers .got '1 1e5 2' in line"),
        (("1 1e5", "1 x"), "Expected numbers"),
        (("1 1e5\n", "1 1e5\n1 2 3\n"), "Expected the end of the file"),
    ],
)
def test_errors(change, message, tmp_path):
    (tmp_path / "mesh.inp").write_text(text().replace(*change, 1))
    with pytest.raises(ValueError, match=message) as caught:
        read_mesh(tmp_path / "mesh.inp")
    assert "mesh.inp: Expected" in str(caught.value)
