"""Poisson's equation round a hole: small files in the same layout, and the real one."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

from pitgeo.config.config import load_config
from pitgeo.data.transforms import LatentMesh
from pitgeo.datasets import DATASETS, HoledPoisson, holed_poisson
from pitgeo.mesh import read_mesh, write_mesh
from pitgeo.workflows.run import dry_run
from tests.datasets.test_dual_cells import areas, mesh

CASES = Path(__file__).parents[3] / "shared" / "cases" / "operators"
CONFIG = Path(__file__).parents[2] / "configs" / "holed_poisson.toml"
real_file = pytest.mark.skipif(not (CASES / holed_poisson.FILE).exists(), reason="PINA's file is not there")


def content(samples=9):
    """A mesh that is stretched, a sample after the other; every second triangle is listed clockwise."""
    points, triangles = mesh()
    triangles[::2] = triangles[::2, [0, 2, 1]]
    stretched = points[..., None] * np.linspace(1, 2, samples)
    random = np.random.default_rng(1)
    arrays = {"x": stretched[:, 0], "y": points[:, 1:].repeat(samples, 1), "u": random.random((25, samples))}
    arrays["mu"] = random.random((samples, 2))
    return {name: torch.tensor(array).float() for name, array in arrays.items()} | {"triang": torch.tensor(triangles)}


@pytest.fixture
def write(tmp_path, monkeypatch):
    def write(**change):
        path = tmp_path / "raw" / holed_poisson.FILE
        path.parent.mkdir(exist_ok=True)
        torch.save({**content(), **change}, path)
        monkeypatch.setattr(holed_poisson, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
        return tmp_path

    return write


@pytest.fixture
def real(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / holed_poisson.FILE).symlink_to(CASES / holed_poisson.FILE)
    return tmp_path


def numbers(samples):
    return [int(sample.sample_id) for sample in samples]


def test_samples_are_those_of_the_permutation(write):
    root, raw = write(), content()
    train, test = HoledPoisson(root, "train", samples=5), HoledPoisson(root, "test", samples=3)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0)).tolist()
    assert numbers(train) == order[:5] and numbers(test) == order[6:]
    sample, number = test[1], order[7]
    assert torch.equal(sample.pos, torch.stack([raw["x"][:, number], raw["y"][:, number]], 1))
    assert torch.equal(sample.y, raw["u"][:, number, None]) and sample.x.shape == (25, 0)
    assert len(train) == 5 and numbers(train[1:3]) == order[1:3] and train[-1] is train[4]


def test_the_place_of_the_hole_is_an_input_by_protocol(write):
    data = HoledPoisson(write(), "train", "parameters", 4)
    for sample in data:
        assert torch.equal(sample.x, content()["mu"][sample.sample_id].expand(25, 2))
    assert data.inputs == ("hole",) and data.mesh(2).point_data["hole"].shape == (25, 2)


def test_splits_of_the_options(write):
    options = DATASETS["holed_poisson"](root=str(write()), train=6, validation=2, test=3, generate=9)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0)).tolist()
    parts = (options.split_samples(split) for split in ("train", "validation", "test"))
    assert [numbers(part) for part in parts] == [order[:4], order[4:6], order[6:]]
    assert options.is_ready() and options.template().num_nodes == 25
    options.prepare()
    with pytest.raises(ValueError, match=r"1 to 6 \(and 3 of the other split\).*got 7"):
        DATASETS["holed_poisson"](root=str(write()), train=7, test=3).training_parts()[0]


def test_meshes_have_the_triangles_and_polygons_cover_them(write, tmp_path):
    data = HoledPoisson(write(), "test", samples=3).with_transform(LatentMesh("farthest", number=6))
    assert data[0].pos_latent.shape == (6, 2)
    found = data[1:].mesh(0)
    kind, triangles = found.cells[0]
    assert kind == "triangle" and (areas(found.points[triangles]) > 0).all()
    assert np.array_equal(np.sort(triangles, 1), np.sort(content()["triang"].numpy(), 1))
    assert np.isclose(areas(data[1:].polygons(0)).sum(), areas(found.points[triangles]).sum())
    write_mesh(tmp_path / "sample.vtu", found)
    again = read_mesh(tmp_path / "sample.vtu")
    assert np.array_equal(again.points, data[1].pos.double()) and np.array_equal(again.cells[0][1], triangles)
    assert np.array_equal(again.point_data["u"], data[1].y[:, 0].double())


def test_there_is_no_generator(tmp_path):
    options = DATASETS["holed_poisson"](root=str(tmp_path))
    for refuse in (options.prepare, lambda: options.make(False)):
        with pytest.raises(FileNotFoundError, match=r"holed_poisson\.pt.*cannot be generated.*mathLab/PINA.*'root'"):
            refuse()
    with pytest.raises(FileNotFoundError, match=r"put it there, it comes from .*mathLab/PINA"):
        options.training_parts()[0]


def test_another_file_is_refused(write):
    path = write() / "raw" / holed_poisson.FILE
    expected = holed_poisson.SHA256
    path.write_bytes(path.read_bytes() + b"0")
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=rf"SHA-256 {expected} \(got {got}\).*get it again from .*mathLab/PINA"):
        HoledPoisson(path.parents[1])


def not_a_number(name):
    values = content()[name]
    values[3, 1] = float("nan")
    return {name: values}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": [1]}, "tensors x, y, u, triang, mu"),
        ({"x": torch.zeros(25, 8)}, r"'x' .* shape \[25, 9\] \(got \[25, 8\]\)"),
        ({"u": torch.zeros(9)}, r"'x' .* shape \[1352, 121\]"),
        ({"mu": torch.zeros(9, 3)}, r"'mu' .* shape \[9, 2\]"),
        ({"triang": torch.zeros(4, 4)}, r"'triang' .* shape \[4, 3\]"),
        ({"triang": torch.full((4, 3), 25)}, "from 0 to 24.*from 25 to 25"),
        ({"triang": torch.zeros(4, 3)}, "whole numbers.*float32"),
        ({"triang": torch.zeros(0, 3, dtype=torch.long)}, "whole numbers.*none"),
        ({"triang": torch.tensor([[0, 1, 6], [0, 1, 1]])}, "got triangle 1 flat"),
        ({"x": content()["x"] * torch.linspace(1, -1, 9)}, "in sample 4"),
        (not_a_number("u"), "'u' .* finite .* sample 1"),
        (not_a_number("mu"), "'mu' .* finite .* sample 3"),
    ],
)
def test_files_laid_out_otherwise_are_refused(write, change, message):
    with pytest.raises(ValueError, match=message):
        HoledPoisson(write(**change), samples=2)


def test_options_out_of_range_are_refused(write):
    root = write()
    for arguments in ({"split": "validation"}, {"protocol": "radii"}, {"samples": 10}, {"samples": 0}):
        with pytest.raises(ValueError, match="Expected"):
            HoledPoisson(root, **{"samples": 2, **arguments})


@real_file
def test_the_real_file_and_its_split(real):
    options = DATASETS["holed_poisson"](root=str(real))
    train, test = options.training_parts()[0], options.test_samples()
    assert len(train) == 96 and len(test) == 25 and sorted(numbers(train) + numbers(test)) == list(range(121))
    assert numbers(test)[:3] == torch.randperm(121, generator=torch.Generator().manual_seed(0))[96:99].tolist()
    mean = torch.stack([sample.y for sample in train]).double().mean(0)
    errors = [float((sample.y - mean).norm() / sample.y.double().norm()) for sample in test]
    assert np.mean(errors) == pytest.approx(0.487, abs=5e-4)
    assert dry_run(load_config(CONFIG, [f"data.holed_poisson.root={real}"]))[-1] == "parameters: 107,609"


@real_file
def test_the_mean_error_of_another_permutation(real):
    ordered = sorted(HoledPoisson(real, samples=121), key=lambda sample: sample.sample_id)
    values = torch.stack([sample.y[:, 0] for sample in ordered])
    order = torch.randperm(121, generator=torch.Generator().manual_seed(0))
    test, mean = values[order[96:]], values[order[:96]].mean(0)
    assert float(((test - mean).norm(dim=1) / test.norm(dim=1)).mean()) == pytest.approx(0.487, abs=5e-4)


@real_file
@pytest.mark.parametrize("number", [0, 60, 120])
def test_the_real_samples_solve_the_equation(real, number):
    """Linear finite elements on the file's triangles, assembled here, give the file's solution."""
    data = HoledPoisson(real, protocol="parameters", samples=121)
    index = numbers(data).index(number)
    found = data.mesh(index)
    triangles, u = found.cells[0][1], found.point_data["u"]
    corners = found.points[triangles]
    area = areas(corners)
    opposite = np.roll(corners, -2, 1) - np.roll(corners, -1, 1)  # the edge that faces each corner
    local = np.einsum("mid,mjd->mij", opposite, opposite) / (4 * area)[:, None, None]
    rows, columns = np.repeat(triangles, 3, 1).ravel(), np.tile(triangles, (1, 3)).ravel()
    stiffness = coo_matrix((local.ravel(), (rows, columns))).tocsr()
    load = 10 * np.bincount(triangles.ravel(), np.repeat(area / 3, 3))
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), 1)
    once, uses = np.unique(edges, axis=0, return_counts=True)
    boundary = np.unique(once[uses == 1])
    inside = np.setdiff1d(np.arange(len(u)), boundary)
    assert len(boundary) == 171 and not u[boundary].any() and (u[inside] > 0).all()
    assert area.min() > 1e-5 and np.isclose(area.sum(), 1 - 0.3**2, atol=1e-6)
    residual = (stiffness @ u - load)[inside]
    assert np.linalg.norm(residual) < 1e-4 * np.linalg.norm(load[inside])
    solved = spsolve(stiffness[inside][:, inside].tocsc(), load[inside])
    assert np.linalg.norm(solved - u[inside]) < 1e-6 * np.linalg.norm(u)
    place = found.points[boundary]
    hole = place[((place > 1e-6) & (place < 1 - 1e-6)).all(1)]
    mu = found.point_data["hole"][0]
    assert np.allclose(hole.min(0), mu, atol=1e-6) and np.allclose(hole.max(0), mu + 0.3, atol=1e-6)
    assert np.isclose(areas(data.polygons(index)).sum(), 0.91, atol=1e-6)
