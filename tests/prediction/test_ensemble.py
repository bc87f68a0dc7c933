"""Ensembles: spreads and shares in closed form, members that belong together, a tiny training from end to end."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import elasticity_samples as elasticity
import numpy as np
import pytest
import torch
from torch import Tensor

from pitgeo.cli.main import main
from pitgeo.config.config import EvaluationConfig, RunConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.datasets import ListedSamples
from pitgeo.evaluation import plots
from pitgeo.evaluation.calibration import calibrate, evaluate_ensemble, format_ensemble
from pitgeo.measures.reference import Reference
from pitgeo.mesh import Mesh, read_mesh, read_series, write_mesh, write_series
from pitgeo.prediction.ensemble import Calibration, Ensemble, Moments, read_ensemble
from pitgeo.prediction.files import predict_files
from pitgeo.prediction.mesh_predictor import MeshPredictor
from pitgeo.prediction.predictor import load, load_ensemble
from pitgeo.prediction.roll_out import write_roll_out
from pitgeo.training import OperatorModule
from tests.pictures import without_pictures

POINTS = 4000


class Options:
    """Stands in for a data set's options."""

    protocol = None
    is_in_space = True
    rollout = 1

    def __init__(self, splits: dict[str, list[PointData]]) -> None:
        self.splits = splits

    def counts(self) -> tuple[int, ...]:
        return tuple(len(self.splits.get(name, [])) for name in ("train", "validation", "test"))

    def split_samples(self, split: str, progress: bool) -> ListedSamples:
        return ListedSamples(self.splits.get(split, []))


class Fake(MeshPredictor):
    """Stands in for a trained model: the truth, which the input field holds, and noise of its own."""

    def __init__(
        self,
        seed: int,
        noise: Callable[[int, PointData], Tensor],
        splits: dict[str, list[PointData]] | None = None,
        targets: Sequence[str] = ("u",),
        learning_rate: float = 1e-3,
    ) -> None:
        fields = tuple(MeshField(name) for name in targets)
        table = FieldTable((MeshField("f", len(targets)),), fields, 2)
        plain = {"training": {"seed": seed, "learning_rate": learning_rate}, "data": {"fake": {"root": f"disk {seed}"}}}
        config = SimpleNamespace(
            data=SimpleNamespace(name="fake", options=Options(splits or {})),
            model=SimpleNamespace(name="fake"),
            evaluation=EvaluationConfig(),
            scaling=SimpleNamespace(box="unit"),
            training=SimpleNamespace(seed=seed, batch_size=2),
            plain=lambda: plain,
        )
        super().__init__(cast(RunConfig, config), {"table": table.plain()}, Path(f"member_{seed}") / "best.ckpt")
        self.noise = noise
        self.module = SimpleNamespace(floor=None, groups=None, typical=None)

    def predict(self, data: PointData | Sequence[PointData], steps: int = 0) -> Tensor:
        samples = [data] if isinstance(data, PointData) else data
        return torch.cat([sample.x + self.noise(self.config.training.seed, sample) for sample in samples])

    def fields(self, data: PointData | Sequence[PointData], steps: int = 0) -> dict[str, Tensor]:
        return {"_prediction": self.predict(data, steps)}


def make(count: int, points: int = POINTS, targets: int = 1, first: int = 0) -> list[PointData]:
    """Samples whose input is the truth."""
    generator = torch.Generator().manual_seed(first)
    samples = []
    for number in range(count):
        y = 5 + torch.rand(points + number, targets, generator=generator)
        pos = torch.rand(len(y), 2, generator=generator)
        samples.append(PointData(pos=pos, x=y.clone(), y=y, sample_id=first + number))
    return samples


def drawn(scale: float = 0.1, shared: float = 0.0) -> Callable[[int, PointData], Tensor]:
    """Normal noise, larger by one more ``scale`` in every sample; a part of it is the same for all members."""

    def noise(seed: int, sample: PointData) -> Tensor:
        number = int(sample.sample_id)
        parts = []
        for size, start in ((1.0, 1000 * (seed + 1) + number), (shared, number)):
            parts.append(size * torch.randn(sample.x.shape, generator=torch.Generator().manual_seed(start)))
        return scale * (1 + number % 10) * (parts[0] + parts[1])

    return noise


def fakes(noise: Callable[[int, PointData], Tensor], count: int = 4, **others: Any) -> Ensemble:
    return Ensemble([Fake(seed, noise, **others) for seed in range(count)])


def test_mean_and_spread_agree_with_a_plain_computation() -> None:
    (sample,) = make(1, 50, targets=2)
    ensemble = fakes(drawn(), 5, targets=("u", "v"))
    values = torch.stack([member.fields(sample)["_prediction"] for member in ensemble.members]).double()
    mean, spread = ensemble.predict(sample)
    assert mean.shape == spread.shape == (50, 2) and mean.dtype == spread.dtype == torch.float32
    torch.testing.assert_close(mean, values.mean(0).float())
    torch.testing.assert_close(spread, values.std(0).float())
    ensemble = Ensemble(ensemble.members, Calibration((2.0, 0.5), 3))
    torch.testing.assert_close(ensemble.predict(sample)[1], values.std(0).float() * torch.tensor([2.0, 0.5]))


def test_moments_of_large_values_are_not_cancelled() -> None:
    moments = Moments()
    values = 1e8 + torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    for value in values:
        moments.add(value)
    torch.testing.assert_close(moments.spread, values.std(0), rtol=1e-8, atol=0)


def test_later_steps_have_the_last_factors() -> None:
    scaled = Calibration((2.0, 3.0)).scale(torch.ones(1, 6), 2)
    assert scaled.tolist() == [[2.0, 3.0, 2.0, 3.0, 2.0, 3.0]]
    assert Calibration((1.0, 2.0, 3.0, 4.0)).scale(torch.ones(1, 6), 2).tolist() == [[1.0, 2.0, 3.0, 4.0, 3.0, 4.0]]
    assert Calibration().scale(torch.ones(1, 2), 2).tolist() == [[1.0, 1.0]]


def test_the_factor_is_that_of_the_noise() -> None:
    """Members are truth + common + own noise: E e^2 = c^2 + 1/n, E spread^2 = 1."""
    for shared in (0.0, 2.0):
        ensemble = fakes(drawn(shared=shared), splits={"validation": make(3)})
        found = calibrate(ensemble, progress=False)
        assert found.samples == 3
        assert found.factors == pytest.approx([math.sqrt(shared**2 + 0.25)], rel=0.03)


def test_calibrated_shares_are_those_of_the_distributions(tmp_path: Path) -> None:
    """With 64 members the spread is nearly constant, so that errors are normal in units of it; two factors."""
    count, shared = 64, 2.0

    def noise(seed: int, sample: PointData) -> Tensor:
        values = drawn(shared=shared)(seed, sample)
        return torch.cat([values[:, :1], values[:, 1:] / 10], 1)

    splits = {"validation": make(3, 2000, 2), "test": make(4, 2000, 2, first=20)}
    ensemble = fakes(noise, count, splits=splits, targets=("u", "v"))
    ensemble.calibration = calibrate(ensemble, progress=False)
    result = evaluate_ensemble(ensemble, tmp_path, progress=False)
    assert json.loads((tmp_path / "ensemble.json").read_text()) == result
    assert result["calibration"]["samples"] == 3 and result["seeds"] == list(range(count))
    for numbers in result["spread"].values():
        assert numbers["within_1"] == pytest.approx(0.683, abs=0.02)
        assert numbers["within_2"] == pytest.approx(0.954, abs=0.01)
        assert numbers["error_over_spread"] == pytest.approx(1.0, abs=0.03)
        assert numbers["rank_correlation"] == 1.0  # every sample's noise is larger than the last one's
    for name, values in result["reliability"]["observed"].items():
        assert np.abs(np.subtract(values, result["reliability"]["expected"])).max() < 0.02, name
    members, mean = result["errors"]["u"]["relative_l2"]["members"], result["errors"]["u"]["relative_l2"]["mean"]
    assert len(members) == count
    # of the same sums, the common part stays and the own part shrinks
    assert mean / np.mean(members) == pytest.approx(math.sqrt((4 + 1 / count) / 5), rel=0.02)
    assert "calibrated on 3 validation samples" in format_ensemble(result)
    assert (tmp_path / "pictures" / "calibration.png").exists()


def test_too_small_a_spread_shows(tmp_path: Path) -> None:
    """Without validation samples the factor is 1, and a spread that is too small by half covers too little."""
    ensemble = fakes(drawn(shared=2.0), 64, splits={"test": make(2, 2000)})
    assert calibrate(ensemble, progress=False) == Calibration((1.0,), 0)
    result = evaluate_ensemble(ensemble, tmp_path, progress=False)
    assert result["spread"]["u"]["within_1"] == pytest.approx(math.erf(0.5 / math.sqrt(2)), abs=0.03)
    assert result["spread"]["u"]["error_over_spread"] == pytest.approx(2.0, rel=0.05)
    assert "not calibrated, without validation samples" in format_ensemble(result)


def test_targets_that_are_not_known_everywhere_count_where_they_are(tmp_path: Path) -> None:
    def noise(seed: int, sample: PointData) -> Tensor:
        values = drawn()(seed, sample)
        values[100:, 1] += 1e6  # nothing is asked for here
        return values

    splits = {"validation": make(2, 200, 2), "test": make(2, 200, 2, first=20)}
    for sample in (*splits["validation"], *splits["test"]):
        sample.y_mask = torch.ones_like(sample.y, dtype=torch.bool)
        sample.y_mask[100:, 1] = False
        sample.y[100:, 1] = 0.0
    ensemble = fakes(noise, 4, splits=splits, targets=("u", "v"))
    assert calibrate(ensemble, progress=False).factors == pytest.approx([0.5, 0.5], rel=0.15)
    result = evaluate_ensemble(ensemble, tmp_path, progress=False)
    assert result["spread"]["v"]["error_over_spread"] == pytest.approx(0.5, rel=0.15)


def test_bounds_go_with_the_spread_and_are_kept_in_the_file(tmp_path: Path) -> None:
    splits = {"validation": make(20, 200), "test": make(40, 200, first=20)}
    ensemble = fakes(drawn(shared=0.5), splits=splits)
    ensemble.facts["reference"] = Reference((5.5,), (0.3,)).plain()
    ensemble.calibration = calibrate(ensemble, progress=False)
    assert ensemble.bounds is not None and ensemble.bounds.has_spread and ensemble.bounds.samples["u"] == 20
    result = evaluate_ensemble(ensemble, tmp_path, progress=False)
    for share, level in zip(result["bounds"]["within"]["u"], (0.8, 0.9, 0.95), strict=True):
        assert level - 0.03 <= share <= level + 0.06
    assert "bounds of 90%:" in format_ensemble(result)
    assert read_ensemble(tmp_path / "ensemble.json")[2] == ensemble.bounds
    prediction, spread = ensemble.predict(splits["test"][0])
    width = ensemble.bounds.of(ensemble.table, {"u": prediction.numpy()}, {"u": spread.numpy()}, 90)["u"]
    floor = math.hypot(5.5, 0.3) / 1000  # where members agree by chance
    factor = ensemble.bounds.factors["u"][1]
    assert factor is not None and width == pytest.approx(factor * np.hypot(spread.numpy(), floor))


def test_members_that_agree_have_no_spread_and_no_nan(tmp_path: Path) -> None:
    for shared in (0.0, 1.0):  # exactly right, and wrong alike
        ensemble = fakes(
            lambda seed, sample, shared=shared: shared * drawn()(0, sample),  # type: ignore[misc]
            splits={"validation": make(2, 30), "test": make(2, 30)},
        )
        ensemble.calibration = calibrate(ensemble, progress=False)
        assert ensemble.calibration == Calibration((1.0,), 2)
        assert not ensemble.predict(make(1, 30)[0])[1].any()
        result = evaluate_ensemble(ensemble, tmp_path, progress=False)
        share = 1.0 - shared
        expected = {"within_1": share, "within_2": share, "error_over_spread": None, "rank_correlation": None}
        assert result["spread"]["u"] == expected
        assert format_ensemble(result).splitlines()[-1].split()[-2:] == ["-", "-"]


def test_a_mesh_gets_prediction_spread_and_error() -> None:
    points = np.random.default_rng(0).random((30, 2))
    truth = points.sum(1)

    def noise(seed: int, sample: PointData) -> Tensor:
        return torch.full_like(sample.x, float(seed))

    ensemble = Ensemble([Fake(seed, noise) for seed in range(3)], Calibration((3.0,), 1))
    after = ensemble.predict_mesh(Mesh(points, (), {"f": truth, "u": truth}))
    assert set(after.point_data) == {"f", "u", "u_prediction", "u_spread", "u_error"}
    np.testing.assert_allclose(after.point_data["u_prediction"], truth + 1, rtol=1e-5)
    np.testing.assert_allclose(after.point_data["u_error"], np.ones(30), rtol=1e-5)
    np.testing.assert_allclose(after.point_data["u_spread"], np.full(30, 3.0), rtol=1e-5)
    assert set(ensemble.predict_mesh(Mesh(points, (), {"f": truth})).point_data) == {"f", "u_prediction", "u_spread"}


class Walker(Fake):
    """Adds its seed to the state in every step."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, drawn())
        self.table = FieldTable((MeshField("f"), MeshField("u")), (MeshField("u"),), 2)
        self.facts = {"table": self.table.plain()}

    def fields(self, data: PointData | Sequence[PointData], steps: int = 0) -> dict[str, Tensor]:
        assert isinstance(data, PointData)
        return {
            "_prediction": torch.cat([data.x[:, 1:] + self.config.training.seed * (k + 1) for k in range(steps)], 1)
        }


def test_a_series_of_states_has_a_spread_that_grows(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((8, 2))
    times = (0.0, 0.5, 1.0)
    meshes = [Mesh(points, (), {"f": points[:, 0], "u": points[:, 1] + 10 * time}) for time in times]
    write_series(tmp_path / "truth.pvd", meshes, times)
    ensemble = Ensemble([Walker(seed) for seed in range(3)], Calibration((2.0,), 1))
    write_roll_out(ensemble, tmp_path / "truth.pvd", tmp_path / "new" / "result.pvd", 3)
    series = read_series(tmp_path / "new" / "result.pvd")
    assert list(series.times) == [0.0, 0.5, 1.0, 1.5]
    for step in range(4):
        fields = series.mesh(step).point_data
        np.testing.assert_allclose(fields["u_prediction"], points[:, 1] + step, rtol=1e-6)
        np.testing.assert_allclose(fields["u_spread"], np.full(8, 2.0 * step), rtol=1e-6)
        if step < 3:
            np.testing.assert_allclose(fields["u_error"], np.full(8, -4.0 * step), rtol=1e-6)
        assert ("u" in fields, "u_error" in fields) == (step < 3, step < 3)


def test_members_must_belong_together() -> None:
    one, other = Fake(0, drawn()), Fake(1, drawn())
    assert len(Ensemble([one, other]).members) == 2  # another seed, another root
    with pytest.raises(ValueError, match=r"at least 2 members .*got 1"):
        Ensemble([one])
    with pytest.raises(ValueError, match=r"got member_1.best.ckpt, which differs .* in training.learning_rate\)"):
        Ensemble([one, Fake(1, drawn(), learning_rate=0.1)])
    with pytest.raises(ValueError, match="same inputs and targets"):
        Ensemble([one, Fake(1, drawn(), targets=("w",))])
    with pytest.raises(ValueError, match=r"a factor for every one of 2 target channels \(got 1\)"):
        Ensemble([Fake(0, drawn(), targets=("u", "v")), Fake(1, drawn(), targets=("u", "v"))], Calibration((1.0,), 1))


def test_splits(tmp_path: Path) -> None:
    ensemble = fakes(drawn(), splits={"test": make(2, 20)})
    with pytest.raises(ValueError, match="'split' to be one of"):
        evaluate_ensemble(ensemble, tmp_path, split="all", progress=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="validation split of 'fake' to hold samples"):
        evaluate_ensemble(ensemble, tmp_path, split="validation", progress=False)


def test_reliability_names_what_does_not_fit(tmp_path: Path) -> None:
    many = {f"step {number}": [0.5, 0.9] for number in range(9)}
    assert plots.reliability(many, [0.4, 0.8], tmp_path / "new" / "c.png").exists()
    with pytest.raises(ValueError, match=r"hold \[2\] shares for every target \(got {'u': \[3\]}\)"):
        plots.reliability({"u": [0.1, 0.2, 0.3]}, [0.4, 0.8], tmp_path / "c.png")
    with pytest.raises(ValueError, match="for every target"):
        plots.reliability({}, [0.4, 0.8], tmp_path / "c.png")


CONFIG = """
[data]
name = "elasticity"
[data.elasticity]
root = "{root}"
protocol = "coordinates"
train = 4
validation = 1
test = 2
generate = 6
[model]
name = "pit"
[model.pit]
channels = 8
heads = 2
layers = 1
[model.pit.latent]
method = "farthest"
number = 9
[training]
epochs = 1
batch_size = 2
device = "cpu"
seed = 5
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished ensemble of two tiny models."""
    folder = tmp_path_factory.mktemp("ensemble")
    elasticity.generate(folder / "raw", samples=6, processes=1, progress=False)
    (folder / "tiny.toml").write_text(CONFIG.format(root=folder))
    assert train(folder, folder / "out") == 0
    return folder


def train(run: Path, output: Path, *others: str, members: int = 2) -> int:
    command = ["train", str(run / "tiny.toml"), "--output", str(output), "--quiet"]
    with without_pictures():  # of single members
        return main([*command, "--members", str(members), *others])


def error(capsys: pytest.CaptureFixture[str]) -> str:
    text = capsys.readouterr().err.strip().splitlines()[-1]
    assert text.startswith("pitgeo: error: ")
    return text.removeprefix("pitgeo: error: ")


def test_training_leaves_members_and_what_they_say_together(run: Path) -> None:
    out = run / "out"
    assert {path.name for path in out.iterdir()} == {"member_0", "member_1", "ensemble.json", "pictures"}
    content = json.loads((out / "ensemble.json").read_text())
    assert content["members"] == ["member_0/best.ckpt", "member_1/best.ckpt"] and content["seeds"] == [5, 6]
    assert content["samples"] == 2 and content["calibration"]["samples"] == 1
    assert content["calibration"]["factors"]["von_mises"] > 0
    alone = [json.loads((out / f"member_{number}" / "evaluation.json").read_text()) for number in range(2)]
    for norm in ("relative_l1", "relative_l2"):
        expected = [evaluation["errors"]["von_mises"][norm]["mean"] for evaluation in alone]
        assert content["errors"]["von_mises"][norm]["members"] == pytest.approx(expected, rel=1e-6)
    assert (out / "pictures" / "calibration.png").exists()


@without_pictures()
def test_a_member_is_the_run_of_its_seed(run: Path, tmp_path: Path) -> None:
    command = ["train", str(run / "tiny.toml"), "--output", str(tmp_path / "alone"), "--quiet"]
    assert main([*command, "--set", "training.seed=6"]) == 0
    first, second = (load(folder / "last.ckpt") for folder in (tmp_path / "alone", run / "out" / "member_1"))
    weights = first.module.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in second.module.state_dict().items())


def test_a_finished_ensemble_is_left_alone_and_one_more_member_is_added(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(shutil.copytree(run / "out", tmp_path / "out"))
    before = {path: path.read_bytes() for path in out.rglob("*.ckpt")} | {
        out / "ensemble.json": (out / "ensemble.json").read_bytes()
    }
    assert train(run, out, "--resume") == 0
    text = capsys.readouterr()
    assert "The ensemble in" in text.err and "ensemble of 2" in text.out
    assert all(path.read_bytes() == content for path, content in before.items())
    shutil.rmtree(out / "member_1")  # as if stopped before the second had begun
    (out / "ensemble.json").write_text("{")
    assert train(run, out, "--resume") == 0
    both = [json.loads(text) for text in (before[out / "ensemble.json"], (out / "ensemble.json").read_text())]
    assert all(content["errors"] == both[0]["errors"] and content["spread"] == both[0]["spread"] for content in both)
    assert train(run, out, "--resume", members=3) == 0
    assert json.loads((out / "ensemble.json").read_text())["seeds"] == [5, 6, 7]
    assert (out / "member_0" / "best.ckpt").read_bytes() == before[out / "member_0" / "best.ckpt"]


def test_a_stopped_ensemble_goes_on_with_the_member_it_was_at(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[int] = []
    optimizer_step = OperatorModule.optimizer_step

    def signalled(module: OperatorModule, *given: Any, **others: Any) -> None:
        optimizer_step(module, *given, **others)
        steps.append(module.global_step)
        if len(steps) == 3:  # of two steps a member
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(OperatorModule, "optimizer_step", signalled)
    out = tmp_path / "out"
    assert train(run, out) == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in capsys.readouterr().err and not (out / "ensemble.json").exists()
    first = (out / "member_0" / "last.ckpt").read_bytes()
    assert (out / "member_1" / "last.ckpt").exists() and not (out / "member_1" / "evaluation.json").exists()
    assert train(run, out, "--resume") == 0
    assert len(steps) == 4 and (out / "member_0" / "last.ckpt").read_bytes() == first
    for number in range(2):
        weights, straight = (load(path / f"member_{number}" / "last.ckpt").module for path in (out, run / "out"))
        expected = straight.state_dict()
        assert all(torch.equal(value, expected[name]) for name, value in weights.state_dict().items())


def test_data_are_read_once(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pitgeo.workflows import train_ensemble

    calls = []
    monkeypatch.setattr(
        train_ensemble, "read_data", lambda *given, read=train_ensemble.read_data: calls.append(1) or read(*given)
    )
    assert train(run, tmp_path / "out") == 0
    assert calls == [1]
    assert train(run, tmp_path / "out", "--resume") == 0
    assert calls == [1]


def test_other_runs_are_not_overwritten_unasked(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(shutil.copytree(run / "out", tmp_path / "out"))
    assert train(run, out) == 2
    assert "hold no other run (got ensemble.json)" in error(capsys)
    assert main(["train", str(run / "tiny.toml"), "--output", str(out), "--quiet"]) == 2
    assert "hold no other run (got ensemble.json)" in error(capsys)
    (out / "ensemble.json").unlink()
    (out / "member_0").rename(out / "elsewhere")
    assert train(run, out) == 2
    assert "member_1 to hold no other run" in error(capsys)
    assert train(run, out, "--resume") == 2
    assert "to resume from (got none)" in error(capsys)
    (out / "elsewhere").rename(out / "member_0")
    assert train(run, out, "--resume", "--set", "training.epochs=2") == 2
    assert "training.epochs was 1 and is 2" in error(capsys)
    assert train(run, out, "--resume", "--overwrite") == 2
    assert "either to resume a run or to overwrite it" in error(capsys)
    shutil.copytree(out / "member_0", out / "member_2")
    (out / "member_1" / "notes.md").write_text("mine")
    assert train(run, out, "--overwrite") == 0
    assert (out / "member_1" / "notes.md").exists() and not (out / "member_2").exists()


def test_impossible_ensembles_get_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(run, tmp_path / "out", members=1) == 2
    assert "at least 2 members of an ensemble (got 1)" in error(capsys)
    assert train(run, tmp_path / "out", "--set", "training.devices=2") == 2
    assert "training.devices = training.nodes = 1, with --members (got 2)" in error(capsys)
    assert not (tmp_path / "out").exists()


def test_mesh_files_are_predicted_with_their_spread(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = run / "out" / "ensemble.json"
    file = next((run / "out" / "member_0" / "meshes").glob("best_*.vtu"))
    assert main(["predict", str(source), str(file), "--output", str(tmp_path), "--quiet"]) == 0
    after = read_mesh(tmp_path / file.name)
    assert {"von_mises", "von_mises_prediction", "von_mises_spread", "von_mises_error"} <= set(after.point_data)
    alone = []
    for number in range(2):
        checkpoint = run / "out" / f"member_{number}" / "best.ckpt"
        (written,) = predict_files(checkpoint, [file], tmp_path / str(number))
        alone.append(read_mesh(written).point_data["von_mises_prediction"])
    factor = json.loads(source.read_text())["calibration"]["factors"]["von_mises"]
    np.testing.assert_allclose(after.point_data["von_mises_prediction"], np.mean(alone, 0), rtol=1e-5)
    expected = factor * np.std(alone, 0, ddof=1)
    np.testing.assert_allclose(after.point_data["von_mises_spread"], expected, rtol=1e-3, atol=1e-5 * expected.max())
    write_mesh(tmp_path / "new.vtu", Mesh(after.points, after.cells, {}))
    (written,) = predict_files(source, [tmp_path / "new.vtu"], tmp_path / "out")
    assert set(read_mesh(written).point_data) == {"von_mises_prediction", "von_mises_spread"}


def test_an_ensemble_is_evaluated_again(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = run / "out" / "ensemble.json"
    assert main(["evaluate", str(source), "--output", str(tmp_path / "again"), "--quiet", "--device", "cpu"]) == 0
    before, after = (json.loads(path.read_text()) for path in (source, tmp_path / "again" / "ensemble.json"))
    assert all(after[key] == before[key] for key in ("errors", "spread", "calibration", "reliability"))
    assert len(load_ensemble(tmp_path / "again" / "ensemble.json").members) == 2  # paths lead back from there
    assert main(["evaluate", str(source), "--split", "validation", "--quiet"]) == 0
    assert "1 validation samples" in capsys.readouterr().out
    shutil.rmtree(run / "out" / "validation")
    assert main(["evaluate", str(source), "--set", "data.elasticity.test=1"]) == 2
    assert "no --set with an ensemble" in error(capsys)


def test_damaged_ensembles_are_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(shutil.copytree(run / "out", tmp_path / "out"))
    path = out / "ensemble.json"
    content = json.loads(path.read_text())
    file = next((out / "member_0" / "meshes").glob("*.vtu"))

    def refuse(text: str) -> str:
        path.write_text(text)
        assert main(["predict", str(path), str(file), "--output", str(tmp_path / "new"), "--quiet"]) == 2
        assert main(["evaluate", str(path), "--quiet"]) == 2
        return error(capsys)

    for text in (
        "{",
        "[]",
        json.dumps({**content, "members": "member_0/best.ckpt"}),
        json.dumps({**content, "calibration": {"samples": 1}}),
        json.dumps({**content, "calibration": {"samples": 1, "factors": {}}}),
        json.dumps({**content, "calibration": {"samples": 1, "factors": {"von_mises": -1}}}),
        json.dumps({**content, "calibration": {"samples": 1, "factors": {"von_mises": "x"}}}),
    ):
        assert f"Expected {path} to be an ensemble.json" in refuse(text)
    assert "at least 2 members" in refuse(json.dumps({**content, "members": content["members"][:1]}))
    none = refuse(json.dumps({**content, "members": ["member_0/best.ckpt", "member_7/best.ckpt"]}))
    assert "Expected a checkpoint at" in none and "member_7" in none
    path.unlink()
    assert main(["evaluate", str(path), "--quiet"]) == 2
    assert f"Expected an ensemble at {path} (got no such file)" in error(capsys)
