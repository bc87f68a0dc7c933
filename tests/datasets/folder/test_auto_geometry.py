"""Geometry inputs that are chosen by the meshes themselves."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from pitgeo.datasets.folder import MeshOptions, cache
from pitgeo.mesh import Mesh, read_mesh, write_mesh, write_series

from .conftest import small_mesh

SIDE = 5
QUADS = np.array([[i, i + 1, i + SIDE + 1, i + SIDE] for i in range(SIDE * (SIDE - 1)) if i % SIDE < SIDE - 1])


def plate(width=1.0, **sets):
    """A plate of 5 x 5 points from 0 to ``width`` and from 0 to 1, with named sets of points."""
    x, y = np.meshgrid(np.linspace(0, width, SIDE), np.linspace(0, 1, SIDE))
    points = np.stack([x.ravel(), y.ravel()], 1)
    return Mesh(points, (("quad", QUADS),), {"u": 1 + points[:, 0]}, point_sets=sets)


def surface(number, flip=False):
    """An open surface over the unit square."""
    mesh = plate()
    x, y = mesh.points.T
    points = np.stack([x, y, 0.1 * (1 + number) * x * y], 1)
    return Mesh(points, (("quad", QUADS[:, ::-1] if flip else QUADS),), mesh.point_data)


LEFT, BOTTOM = np.arange(0, 25, 5), np.arange(5)
RIM = np.array([i for i in range(25) if i % 5 in (0, 4) or i // 5 in (0, 4)])


def made(folder, meshes, **changes):
    for number, mesh in enumerate(meshes):
        write_mesh(folder / "cases" / f"case_{number}.vtu", mesh)
    given = {"files": str(folder / "cases" / "*.vtu"), "targets": ("u",), "cache": str(folder / "cache")}
    return MeshOptions(**{**given, **changes})


def test_distances_to_the_boundary_and_to_sets_that_all_files_share(tmp_path, caplog):
    def mesh(k):
        sets = {"left": LEFT, "rim": RIM, "all": np.arange(25), "again": LEFT, "bottom": BOTTOM}
        return plate(1 + k / 10, **{name: sets[name] for name in sets if name != "bottom" or k != 3})

    options = made(tmp_path, [mesh(k) for k in range(6)])
    with caplog.at_level(logging.INFO, "pitgeo"):
        samples = options.training_parts()[0]
    assert options.resolved().geometry == ("boundary_distance", "boundary_distance:left")
    said = [record.getMessage() for record in caplog.records if "'auto'" in record.getMessage()]
    assert len(said) == 1 and said[0].endswith("boundary_distance, boundary_distance:left")
    assert "'boundary_distance:bottom', which 1 of 6 files lack" in caplog.text
    for sample in samples:
        x, y = sample.pos.numpy().T
        width = x.max()
        nearest = np.minimum.reduce([x, width - x, y, 1 - y])
        assert np.allclose(sample.x, np.stack([nearest, x], 1), atol=1e-6)


def test_normals_of_surfaces(tmp_path):
    options = made(tmp_path, [surface(k) for k in range(6)])
    assert options.resolved().geometry == ("boundary_distance", "normals")
    sample = options.training_parts()[0][0]
    assert np.allclose(np.linalg.norm(sample.x[:, 1:], axis=1), 1, atol=1e-6) and (sample.x[:, 3] > 0.5).all()


def test_a_file_with_its_faces_turned_over_is_named(tmp_path, caplog):
    made(tmp_path / "a", [surface(k) for k in range(6)]).training_parts()
    assert "one side" not in caplog.text
    made(tmp_path / "b", [surface(k, flip=k == 4) for k in range(6)]).training_parts()
    assert "case_4.vtu: Expected normals that point to one side in all files (got the other side)" in caplog.text


def test_a_closed_surface_has_normals_alone(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    meshes = [Mesh(corners * (1 + k / 10), (("triangle", faces),), {"u": np.ones(4)}) for k in range(5)]
    assert made(tmp_path, meshes).resolved().geometry == ("normals",)


def test_nothing_on_one_mesh_of_points_alone_or_where_it_is_said(tmp_path):
    one = [replace(plate(left=LEFT), point_data={"u": np.linspace(1, 2 + k, 25)}) for k in range(5)]
    assert made(tmp_path / "one", one).resolved().geometry == ()
    clouds = [Mesh(plate(1 + k).points, (), plate().point_data) for k in range(5)]
    assert made(tmp_path / "clouds", clouds).resolved().geometry == ()
    several = made(tmp_path / "several", [plate(1 + k / 9) for k in range(5)], geometry=())
    assert several.resolved().geometry == () and several.training_parts()[0][0].x.shape[1] == 0


def test_several_load_cases_of_each_shape_are_not_one_mesh(tmp_path, monkeypatch):
    shapes = [1.0, 1.0, 1.0, 1.5, 1.5, 2.0]
    meshes = [replace(plate(w), point_data={"u": np.linspace(1, 2 + k, 25)}) for k, w in enumerate(shapes)]
    options = made(tmp_path, meshes)
    samples = options.training_parts()[0]
    assert options.resolved().geometry == ("boundary_distance",)
    for sample in samples:
        assert float(sample.x.max()) == pytest.approx(0.5)
    monkeypatch.setattr(cache, "read", lambda path: pytest.fail("a file was read again"))
    assert len(options.resolved().test_samples()) == 1


def test_files_are_read_once(tmp_path, monkeypatch):
    options, calls = made(tmp_path, [plate(1 + k / 9) for k in range(6)]), []
    monkeypatch.setattr(cache, "read", lambda path: calls.append(path.name) or read_mesh(path))
    options.training_parts(), options.test_samples(), options.resolved().test_samples()
    assert sorted(calls) == [f"case_{k}.vtu" for k in range(6)]


def test_at_most_eight_sets(tmp_path):
    def mesh(k):
        return plate(1 + k / 10, **{f"p{i}": np.array([i]) for i in range(12)})

    names = made(tmp_path, [mesh(k) for k in range(5)]).resolved().geometry
    assert names == ("boundary_distance", *(f"boundary_distance:p{i}" for i in range(8)))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8])
def test_fields_of_zeros_and_ones_are_sets(kind, tmp_path):
    def mesh(k):
        marks = np.isin(np.arange(25), LEFT).astype(kind)
        return plate(1 + k / 10).with_point_data("inlet", marks).with_point_data("hot", 2.0 * marks)

    options = made(tmp_path, [mesh(k) for k in range(5)], inputs=("inlet", "hot"))
    assert options.resolved().geometry == ("boundary_distance", "boundary_distance:inlet")
    sample = options.training_parts()[0][0]
    assert np.allclose(sample.x[:, 3], sample.pos[:, 0], atol=1e-6)
    wrong = options.model_copy(update={"geometry": ("boundary_distance:hot",)})
    with pytest.raises(ValueError, match=r"case_\d.vtu: Expected zeros and ones in the field 'hot'"):
        wrong.training_parts()


def test_sets_of_cells_that_are_fields(tmp_path):
    def mesh(k):
        return replace(plate(1 + k / 10), cell_data={"solid": ((np.arange(16) % 4 == 0).astype(float),)})

    options = made(tmp_path, [mesh(k) for k in range(5)], geometry=("boundary_distance:solid",))
    sample = options.training_parts()[0][0]
    x, width = sample.pos[:, 0].numpy(), float(sample.pos[:, 0].max())
    assert np.allclose(sample.x[:, 0], np.maximum(x - width / 4, 0), atol=1e-6)


def test_series_have_them_before_the_state(tmp_path):
    for k in range(4):
        mesh = plate(1 + k / 10)
        states = [replace(mesh, point_data={"u": mesh.point_data["u"] + step}) for step in range(3)]
        write_series(tmp_path / f"run_{k}.pvd", states, [0.0, 0.5, 1.0])
    options = MeshOptions(
        files=str(tmp_path / "*.pvd"),
        series="file",
        targets=("u",),
        cache=str(tmp_path / "cache"),
        test=1,
        validation=0,
    )
    train = options.training_parts()[0]
    assert train.table.input_labels == ("boundary_distance", "u")
    x, y = train[1].pos.numpy().T
    assert np.allclose(train[1].x[:, 0], np.minimum.reduce([x, x.max() - x, y, 1 - y]), atol=1e-6)
    assert np.allclose(train[1].x[:, 1], 2 + x) and np.allclose(train[1].y[:, 0], 3 + x)
    widest = max(float(sample.pos[:, 0].max()) for sample in train)
    assert train.ranges() == [(0.0, pytest.approx(0.5)), (1.0, pytest.approx(3 + widest))]
    assert train.mesh_sizes().time_step == 0.5


def test_at_the_centers_of_cells(tmp_path):
    def mesh(k):
        return replace(plate(1 + k / 10), point_data={}, cell_data={"q": (np.linspace(1, 2, 16),)})

    options = made(tmp_path, [mesh(k) for k in range(5)], targets=("q",))
    sample = options.training_parts()[0][0]
    x, y = sample.pos.numpy().T
    width = x.max() + x.min()
    assert np.allclose(sample.x[:, 0], np.minimum.reduce([x, width - x, y, 1 - y]), atol=1e-6)


def test_without_pyvista_it_is_said_once(tmp_path, monkeypatch, caplog):
    def missing():
        raise ImportError("Expected PyVista")

    monkeypatch.setattr("pitgeo.geometry.grid.pyvista", missing)
    monkeypatch.setattr("pitgeo.geometry.distance.pyvista", missing)
    monkeypatch.setattr("pitgeo.geometry.cells._kind", lambda name, width: missing())
    options = made(tmp_path, [plate(1 + k / 9) for k in range(5)])
    assert options.resolved().geometry == () and options.training_parts()[0][0].x.shape[1] == 0
    assert caplog.text.count("PyVista is missing") == 1
    one = made(tmp_path / "one", [plate()] * 5)
    assert one.resolved().geometry == () and caplog.text.count("PyVista is missing") == 1


def test_other_words_than_auto_are_refused():
    with pytest.raises(ValueError, match=r"Expected a list of names, \['normals'\]"):
        MeshOptions(geometry="normals")


def test_sizes_of_the_meshes(tmp_path):
    sizes = (
        made(tmp_path, [plate(1 + k) for k in range(3)], validation=0, test=1, seed=1).training_parts()[0].mesh_sizes()
    )
    assert sizes.time_step is None and sizes.normal == () and sizes.spacing == (0.25, 0.25)
    assert sizes.extent[0] in (pytest.approx(2**0.5), pytest.approx(5**0.5))
    assert small_mesh(0).points.shape == (30, 2)
