"""Surface fields of an airfoil over the angle of attack: small files in the same layout, and the real ones."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo.cli.main import main
from pitgeo.config.config import load_config
from pitgeo.datasets import DATASETS, airfoil_transonic
from pitgeo.datasets.airfoil_transonic import FILES, missing, order, read
from pitgeo.workflows.run import dry_run

CASES = Path(__file__).parents[3] / "shared" / "cases" / "operators" / "airfoil_transonic"
CONFIG = Path(__file__).parents[2] / "configs" / "airfoil_transonic.toml"
real_files = pytest.mark.skipif(not CASES.exists(), reason="Smithers' files are not there")
ANGLE = 2 * np.pi * (np.arange(12) + 0.5) / 12


def arrays(samples=6):
    """An ellipse, counter-clockwise from behind, its points shuffled."""
    shuffled = np.random.default_rng(5).permutation(12)
    coordinates = np.stack([0.5 + 0.5 * np.cos(ANGLE), 0.1 * np.sin(ANGLE)])
    attack = np.arange(1.0, samples + 1)
    pressure = 1e5 + 1e3 * attack[:, None] * np.cos(ANGLE)
    shear = attack[:, None] + np.arange(12)
    return {
        "coords_airfoil.npy": coordinates[:, shuffled],
        "params.npy": attack[:, None],
        "snapshots_p_airfoil.npy": pressure[:, shuffled],
        "snapshots_wn_airfoil.npy": shear[:, shuffled],
    }


@pytest.fixture
def write(tmp_path, monkeypatch):
    def write(**change):
        (tmp_path / "raw").mkdir(exist_ok=True)
        for name, array in arrays().items():
            path = tmp_path / "raw" / name
            np.save(path, change.get(path.stem, array))
            monkeypatch.setitem(FILES, name, hashlib.sha256(path.read_bytes()).hexdigest())
        return tmp_path

    return write


def test_points_come_along_the_curve_and_samples_by_the_permutation(write):
    raw = write() / "raw"
    fields = read(raw, "train", 4, ("pressure", "wall_shear"))
    assert np.allclose(fields.pos, np.stack([0.5 + 0.5 * np.cos(ANGLE), 0.1 * np.sin(ANGLE)], -1))
    drawn = torch.randperm(6, generator=torch.Generator().manual_seed(0)).numpy()
    assert fields.numbers.tolist() == drawn[:4].tolist() and read(raw, "test", 2).numbers.tolist() == drawn[4:].tolist()
    attack = drawn[:4] + 1.0
    assert np.array_equal(fields.x, np.tile(attack[:, None, None], (1, 12, 1)))
    assert np.allclose(fields.y[..., 0], 1e5 + 1e3 * attack[:, None] * np.cos(ANGLE))
    assert np.allclose(fields.y[..., 1], attack[:, None] + np.arange(12))
    assert read(raw, "train", 1, ("wall_shear",)).y.shape == (1, 12, 1) and missing(raw) == []


def test_the_curve_is_closed(write):
    options = DATASETS["airfoil_transonic"](root=str(write()), train=4, validation=1, test=2, predict="both")
    found = options.test_samples()[1:].mesh(0)
    kind, lines = found.cells[0]
    assert kind == "line" and sorted(found.point_data) == ["angle_of_attack", "pressure", "wall_shear"]
    assert np.bincount(lines.ravel()).tolist() == [2] * 12
    x, y = found.points[lines].transpose(2, 1, 0)
    assert np.isclose(0.5 * (x[0] * y[1] - y[0] * x[1]).sum(), 0.05 * 6 * np.sin(np.pi / 6))  # of the 12-gon
    parts = (options.split_samples(split) for split in ("train", "validation", "test"))
    drawn = torch.randperm(6, generator=torch.Generator().manual_seed(0)).numpy().tolist()
    assert [part.numbers.tolist() for part in parts] == [drawn[:3], drawn[3:4], drawn[4:]]


def test_a_run_and_a_prediction_on_the_file_it_leaves(write, tmp_path):
    changes = [f"data.airfoil_transonic.{key}={value}" for key, value in
               (("root", write()), ("train", 4), ("validation", 1), ("test", 2))]  # fmt: skip
    changes += ["model.pit.channels=8", "model.pit.latent.number=6", "training.epochs=1"]
    sets = [part for change in changes for part in ("--set", change)]
    output = tmp_path / "run"
    assert main(["train", str(CONFIG), "--quiet", "--output", str(output), *sets]) == 0
    assert json.loads((output / "evaluation.json").read_text())["errors"]["pressure"]["relative_l2"]["mean"] > 0
    assert (output / "pictures" / "fields.png").exists()
    mesh = next((output / "meshes").glob("best*.vtu"))
    assert main(["predict", str(output / "best.ckpt"), str(mesh), "--output", str(tmp_path / "p"), "--quiet"]) == 0


def test_there_is_no_generator(write):
    options = DATASETS["airfoil_transonic"](root=str(write()))
    options.prepare()
    (options.raw / "params.npy").unlink()  # the other files are there
    for refuse in (options.prepare, lambda: options.make(False)):
        with pytest.raises(FileNotFoundError, match=r"Expected params\.npy .*cannot be generated.*mathLab/Smithers"):
            refuse()
    with pytest.raises(FileNotFoundError, match=r"put it there, it comes from .*mathLab/Smithers"):
        options.training_parts()[0]


def test_another_file_is_refused(write):
    path = write() / "raw" / "snapshots_p_airfoil.npy"
    np.save(path, np.zeros((6, 12)))
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=rf"SHA-256 {FILES[path.name]} \(got {got}\)"):
        read(path.parent, "train", 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coords_airfoil": np.zeros((3, 12))}, r"shape \(2, N\) \(got \(3, 12\)"),
        ({"coords_airfoil": np.zeros((2, 12))}, "y = 0 .got point 0"),
        ({"coords_airfoil": np.full((2, 12), np.inf)}, "finite"),
        ({"params": np.zeros(6)}, r"shape \(N, 1\)"),
        ({"params": np.full((6, 1), np.nan)}, "'x' to be finite"),
        ({"snapshots_p_airfoil": np.zeros((6, 11))}, r"shape \(6, 12\) \(got \(6, 11\)"),
        ({"snapshots_p_airfoil": np.full((6, 12), np.nan)}, "'y' to be finite"),
    ],
)
def test_files_laid_out_otherwise_are_refused(write, change, message):
    with pytest.raises(ValueError, match=message):
        read(write(**change) / "raw", "train", 2)


def test_splits_do_not_overlap(write):
    raw = write() / "raw"
    for split, samples, others in (("train", 5, 2), ("test", 7, 0), ("train", 0, 0), ("validation", 1, 0)):
        with pytest.raises(ValueError, match="Expected"):
            read(raw, split, samples, others=others)


@pytest.fixture
def real(tmp_path):
    (tmp_path / "raw").mkdir()
    for name in FILES:
        (tmp_path / "raw" / name).symlink_to(CASES / name)
    return tmp_path


@real_files
def test_the_real_files(real):
    options = DATASETS["airfoil_transonic"](root=str(real), predict="both")
    train, test = options.training_parts()[0], options.test_samples()
    assert sorted(train.numbers.tolist() + test.numbers.tolist()) == list(range(100)) and len(test) == 20
    for channel, error in enumerate((0.0901, 0.1976)):  # of the mean of the training samples
        truth, mean = test.y[..., channel].double(), train.y[..., channel].double().mean(0)
        assert float(((truth - mean).norm(dim=1) / truth.norm(dim=1)).mean()) == pytest.approx(error, abs=1e-4)
    angles = np.round(10 * np.concatenate([train.x[:, 0, 0], test.x[:, 0, 0]])).astype(int)
    assert sorted(angles.tolist()) == list(range(1, 101))
    assert dry_run(load_config(CONFIG, [f"data.airfoil_transonic.root={real}"]))[-1] == "parameters: 107,673"


@real_files
def test_the_real_curve_is_an_airfoil_naca_0012(real):
    pos = airfoil_transonic.read(real / "raw", "train", 1).pos
    x, y = pos.T
    half = 0.6 * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
    assert np.abs(np.abs(y) - half).max() < 3e-4
    steps = np.linalg.norm(np.roll(pos, -1, 0) - pos, axis=1)
    assert len(pos) == 448 and steps.max() < 0.0063  # the next point along the curve is a near one, the last one too
    area = 0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum()
    line = np.linspace(0, 1, 100001)
    exact = 0.6 * (0.2969 * np.sqrt(line) - 0.126 * line - 0.3516 * line**2 + 0.2843 * line**3 - 0.1036 * line**4)
    assert area == pytest.approx(2 * exact.mean(), rel=6e-3)
    assert np.array_equal(order(pos), np.arange(448))
    pressure = np.load(CASES / "snapshots_p_airfoil.npy")
    again = airfoil_transonic.read(real / "raw", "test", 1)
    shuffled = np.load(CASES / "coords_airfoil.npy").T
    places = [int(np.flatnonzero((shuffled == place).all(1))[0]) for place in pos]
    assert np.array_equal(again.y[0, :, 0], pressure[again.numbers[0], places].astype(np.float32))
