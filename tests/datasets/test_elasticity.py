"""The Elasticity benchmark, on small files written in the originals' layout."""

import numpy as np
import pytest
import torch

from pitgeo.data.transforms import LatentMesh
from pitgeo.datasets import Elasticity, ElasticityOptions
from pitgeo.datasets.elasticity import FILES, MESH_FILE
from pitgeo.models.registry import PiTOptions
from pitgeo.testing import assert_dataset

TOTAL = 12


@pytest.fixture
def root(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    random = np.random.default_rng(0)
    arrays = {
        "XY": random.random((972, 2, TOTAL)),
        "sigma": 100 + random.random((972, TOTAL)),
        "rr": 0.2 + 0.2 * random.random((42, TOTAL)),
    }
    for name, file in FILES.items():
        np.save(raw / file, arrays[name])
    return tmp_path


def change(root, name, edit):
    path = root / "raw" / FILES[name]
    np.save(path, edit(np.load(path)))


def test_the_first_samples_train_and_the_last_ones_test(root):
    train, test = Elasticity(root, "train", samples=5), Elasticity(root, "test", samples=3)
    assert [int(one.sample_id) for one in train] == [0, 1, 2, 3, 4]
    assert [int(one.sample_id) for one in test] == [9, 10, 11]
    raw = {name: np.load(root / "raw" / file) for name, file in FILES.items()}
    sample = test[1]
    assert np.allclose(sample.pos, raw["XY"][:, :, 10]) and sample.pos.dtype == torch.float32
    assert np.allclose(sample.y, raw["sigma"][:, 10, None])
    assert np.allclose(sample.x, 5 * raw["rr"][None, :, 10] - 1, atol=1e-6) and sample.x.shape == (972, 42)
    assert sample.input_dim == 44


@pytest.mark.parametrize("protocol", ["radii", "coordinates"])
def test_it_is_what_every_data_set_is(root, protocol):
    data = Elasticity(root, protocol=protocol, samples=6)
    assert_dataset(data)
    assert_dataset(data[2:])


def test_coordinates_alone(root):
    sample = Elasticity(root, protocol="coordinates", samples=2)[0]
    assert sample.x.shape == (972, 0) and sample.input_dim == 2


def test_transforms_are_cached_under_what_made_them(root):
    calls = []

    class Counted(LatentMesh):
        def __call__(self, data):
            calls.append(1)
            return super().__call__(data)

    def load(number):
        return Elasticity(root, samples=4, pre_transform=Counted("farthest", number=number))

    assert load(16)[0].pos_latent.shape == (16, 2) and len(calls) == 4
    assert load(16)[3].pos_latent.shape == (16, 2) and len(calls) == 4  # read from the cache
    assert load(9)[0].pos_latent.shape == (9, 2) and len(calls) == 8  # another transform
    change(root, "sigma", lambda array: array + 1)
    assert float(load(9)[0].y.mean()) > 101 and len(calls) == 12  # other files


def test_a_broken_cache_is_made_again(root, caplog):
    made = Elasticity(root, samples=2)
    with open(made.processed_paths[0], "r+b") as file:
        file.truncate(100)
    assert torch.equal(Elasticity(root, samples=2)[1].pos, made[1].pos)
    assert "made again" in caplog.text


def test_a_cached_sample_has_its_graphs(root):
    transform = PiTOptions(latent={"method": "farthest", "number": 20}).transform()
    data = Elasticity(root, samples=2).with_transform(transform)
    direct = transform(Elasticity(root, samples=2)[1])
    assert torch.equal(data[1].graph("encoder").edge_index, direct.graph("encoder").edge_index)
    assert torch.equal(data[1].graph("decoder").edge_index, direct.graph("decoder").edge_index)


def test_a_subset_keeps_its_numbers_when_transformed(root):
    data = Elasticity(root, samples=6)[4:].with_transform(LatentMesh("farthest", number=5))
    assert [int(one.sample_id) for one in data] == [4, 5]


def test_splits_of_the_options(root):
    options = ElasticityOptions(root=str(root), train=6, validation=2, test=3, generate=TOTAL)
    numbers = [
        [int(one.sample_id) for one in options.split_samples(split)] for split in ("train", "validation", "test")
    ]
    assert numbers == [[0, 1, 2, 3], [4, 5], [9, 10, 11]]
    assert options.is_ready() and options.template().x.shape == (972, 42)
    for bad in ({"train": 2, "validation": 2}, {"train": 2000, "test": 1}):
        with pytest.raises(ValueError, match="Expected"):
            ElasticityOptions(**bad)


def test_files_with_too_few_samples_are_refused_lest_test_samples_are_trained_on(root):
    options = ElasticityOptions(root=str(root), train=10, test=6, generate=16)
    for split in ("train", "validation", "test"):
        with pytest.raises(ValueError, match=r"at least 16 samples .* \(got 12\)"):
            options.split_samples(split)


def test_a_file_without_axes_is_refused_by_the_options_too(root):
    change(root, "XY", lambda array: np.float64(1))
    with pytest.raises(ValueError, match=r"got 0"):
        ElasticityOptions(root=str(root), train=2, test=1).training_parts()


def test_transforms_that_do_not_say_what_they_do_are_refused(root):
    with pytest.raises(ValueError, match="dataclass"):
        Elasticity(root, samples=2, pre_transform=lambda data: data)


def test_originals_have_no_mesh(root):
    data = Elasticity(root, samples=2)
    assert data.polygons(0) is None
    assert data.mesh(0).cells == () and data.mesh(0).points.shape == (972, 2)


def test_generated_files_have_one(tmp_path):
    generators = pytest.importorskip("elasticity_samples")
    generators.generate(tmp_path / "raw", samples=3, processes=1, progress=False)
    data = Elasticity(tmp_path, "test", samples=2)
    mesh, polygons = data.mesh(1), data.polygons(1)
    assert np.allclose(mesh.points, data[1].pos)
    assert np.allclose(mesh.point_data["von_mises"], data[1].y[:, 0])
    assert np.allclose(mesh.point_data["shape"], data[1].x, atol=1e-6)
    x, y = polygons[..., 0], polygons[..., 1]
    area = 0.5 * abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1))
    with np.load(tmp_path / "raw" / MESH_FILE) as file:
        assert polygons.shape == (len(file["subcells"]), 4, 2)
    assert 0.4 < area.sum() < 0.9  # the plate without its void
    inside = (polygons.min(1) - 1e-6 <= mesh.points) & (mesh.points <= polygons.max(1) + 1e-6)
    assert inside.all() and mesh.cells[0][1].shape == (864, 4)
    change(tmp_path, "XY", lambda array: array[::-1])  # other data beside a mesh that is not theirs
    other = Elasticity(tmp_path, "test", samples=2)
    assert other.polygons(1) is None and other.mesh(1).cells == ()
    (tmp_path / "raw" / MESH_FILE).write_bytes(b"PK")
    with pytest.raises(ValueError, match="complete mesh file"):
        Elasticity(tmp_path, "test", samples=2).polygons(1)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda root: change(root, "XY", lambda a: a[:900]), r"XY_10.npy to hold an array of shape \(972, 2, 12\)"),
        (lambda root: change(root, "sigma", lambda a: a[:, :5]), "sigma_10.npy to hold an array of shape"),
        (lambda root: change(root, "rr", lambda a: a.T), "rr_10.npy to hold an array of shape"),
        (lambda root: change(root, "XY", lambda a: np.float64(1)), "XY_10.npy to hold"),
        (
            lambda root: change(root, "sigma", lambda a: np.where(a == a[3, 7], np.nan, a)),
            "NaN or infinity in sample 7",
        ),
        (lambda root: (root / "raw" / FILES["XY"]).write_bytes(b"\x93NUMPY\x01\x00"), "truncated"),
        (lambda root: (root / "raw" / FILES["rr"]).write_bytes(b""), "truncated"),
    ],
)
def test_bad_files_are_refused(root, edit, message):
    edit(root)
    with pytest.raises(ValueError, match=message):
        Elasticity(root, samples=2)


def test_missing_files_say_how_to_get_them(root):
    (root / "raw" / FILES["rr"]).unlink()
    with pytest.raises(FileNotFoundError, match=r"generate\.py"):
        Elasticity(root, samples=2)


@pytest.mark.parametrize(
    "options", [{"split": "validation"}, {"protocol": "radius"}, {"samples": 0}, {"samples": TOTAL + 1}]
)
def test_bad_options_are_refused(root, options):
    with pytest.raises(ValueError, match="Expected"):
        Elasticity(root, **options)
