"""Evaluation: numbers that match a plain computation, files that are complete, models that have diverged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pitgeo.config.config import EvaluationConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.datasets import ListedSamples
from pitgeo.evaluation import evaluation, plots
from pitgeo.evaluation.evaluation import evaluate, format_table
from pitgeo.measures.measures import Measures
from pitgeo.measures.reference import Reference
from pitgeo.nn import PiT, PointwiseMLP

REFERENCE = Reference((1.25,), (0.3,))


def make(count: int = 5, targets: int = 1, axes: int = 2) -> list[PointData]:
    generator = torch.Generator().manual_seed(0)
    samples = []
    for number in range(count):
        pos = torch.rand(20 + number, axes, generator=generator)
        samples.append(
            PointData(pos=pos, y=1 + torch.rand(len(pos), targets, generator=generator), sample_id=90 + number)
        )
    return samples


class Options:
    """Stands in for a data set's options."""

    protocol = "radii"
    rollout = 1

    def __init__(self, samples: list[PointData]) -> None:
        self.samples = samples

    def split_samples(self, split: str, progress: bool) -> ListedSamples:
        return ListedSamples(self.samples if split == "test" else [])

    def split_files(self) -> None:
        return None

    def counts(self) -> tuple[int, int, int]:
        return 10, 0, len(self.samples)

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"train": 10, "test": len(self.samples)}


class Predictor:
    """Stands in for a trained model: ``predict`` is wrong by a known factor."""

    bounds = None

    def __init__(
        self, samples: list[PointData], predict: Callable[[PointData], Tensor], targets: Sequence[str]
    ) -> None:
        self._predict, self.data_options = predict, Options(samples)
        self.targets = tuple(targets)
        self.module = SimpleNamespace(typical=None, groups=None)
        self.table = FieldTable((), tuple(MeshField(target) for target in targets), 2)
        self.transform = Compose((LatentMesh("farthest", number=5), AttentionGraphs(0.2, 0.2)))
        dim, channels = samples[0].input_dim, len(targets)
        self.model = PiT(dim, channels, channels=8, heads=2) if dim == 2 else PointwiseMLP(dim, channels, 8, 2)
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.facts = {"shape": {"spacing": 0.05, "extent": 1.0}, "versions": {"pitgeo": "0"}, "box_scale": None}
        self.config = SimpleNamespace(
            data=SimpleNamespace(name="fake", options=self.data_options),
            model=SimpleNamespace(name="pit"),
            training=SimpleNamespace(seed=7, epochs=3, batch_size=2, window=0, schedule="cosine"),
            evaluation=EvaluationConfig(),
        )

    def measures(self) -> Measures:
        return Measures(self.table, REFERENCE if len(self.targets) == 1 else None)

    def predict(self, samples: Sequence[PointData], steps: int) -> Tensor:
        assert len(samples) <= 2 and steps == 0
        return torch.cat([self._predict(sample) for sample in samples])


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[PointData]]:
    def install(predict: Callable[[PointData], Tensor], targets: Sequence[str] = ("stress",), axes: int = 2) -> Any:
        samples = make(targets=len(targets), axes=axes)
        monkeypatch.setattr(evaluation, "load", lambda path, device: Predictor(samples, predict, targets))
        return samples

    return install


def off_by_number(sample: PointData) -> Tensor:
    """Wrong by 1% in sample 90, 2% in sample 91, and so on."""
    return torch.mul(sample.y, 1 + 0.01 * (int(sample.sample_id) - 89))


def test_numbers(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    samples = install(off_by_number)
    (tmp_path / "metrics.csv").write_text("epoch,train_loss\n1,0.5\n")
    result = evaluate(tmp_path / "best.ckpt")
    for norm in ("relative_l1", "relative_l2"):
        numbers = result["errors"]["stress"][norm]
        expected = {"mean": 0.03, "median": 0.03, "lower_quartile": 0.02, "upper_quartile": 0.04}
        order = 1 if norm == "relative_l1" else 2
        truth = np.concatenate([sample.y[:, 0].numpy() for sample in samples])
        error = np.concatenate([off_by_number(sample)[:, 0].numpy() for sample in samples]) - truth
        pooled = np.linalg.norm(error, order) / np.linalg.norm(truth, order)
        assert numbers == pytest.approx({**expected, "smallest": 0.01, "largest": 0.05, "pooled": pooled}, rel=1e-4)
    assert [result[which]["sample_id"] for which in ("best", "median", "worst")] == [90, 92, 94]
    assert result["protocol"] == "radii" and result["samples"] == 5 and result["seed"] == 7
    assert result["data"] == {"train": 10, "test": 5} and result["parameters"] > 0
    assert json.loads((tmp_path / "evaluation.json").read_text()) == result
    pictures = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert pictures == {"fields.png", "latent_mesh.png", "length_scales.png", "loss.png", "scatter.png"}
    assert not list(tmp_path.glob(".part-*"))
    table = format_table(result)
    assert "worst sample 94 (0.05)" in table and result["format"] == 2
    shown = table.splitlines()[4].split()
    assert shown[0] == "stress" and float(shown[4]) == pytest.approx(0.03, rel=1e-3)
    assert float(shown[1]) == pytest.approx(np.sqrt(np.square(error).mean()), rel=1e-3)
    assert float(shown[2]) == pytest.approx(np.abs(error).max(), rel=1e-3)
    assert float(shown[3]) == pytest.approx(1 - np.square(error).sum() / np.square(truth - truth.mean()).sum(), 1e-3)
    assert float(shown[5]) == pytest.approx(np.linalg.norm(error) / np.linalg.norm(truth - 1.25), rel=1e-3)


def test_agrees_with_a_plain_computation(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    samples = install(lambda sample: sample.y + 0.1 * sample.pos, ("a", "b"))
    result = evaluate(tmp_path / "last.ckpt", tmp_path / "elsewhere")
    for channel, target in enumerate(("a", "b")):
        for norm, order in (("relative_l1", 1), ("relative_l2", 2)):
            errors = [
                np.linalg.norm(0.1 * sample.pos[:, channel].numpy(), order)
                / np.linalg.norm(sample.y[:, channel].numpy(), order)
                for sample in samples
            ]
            numbers = result["errors"][target][norm]
            assert numbers["mean"] == pytest.approx(np.mean(errors), rel=1e-5)
            assert numbers["upper_quartile"] == pytest.approx(np.quantile(errors, 0.75), rel=1e-5)
    assert {path.name for path in (tmp_path / "elsewhere").iterdir()} == {"evaluation.json", "pictures", "report.html"}
    assert (tmp_path / "elsewhere" / "pictures" / "fields_b.png").exists()


def test_samples_in_space_have_no_fields_picture(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    install(off_by_number, axes=3)
    assert evaluate(tmp_path / "last.ckpt")["samples"] == 5
    assert not (tmp_path / "pictures" / "fields.png").exists()


def test_a_diverged_model_is_named(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    install(lambda sample: sample.y * (torch.nan if int(sample.sample_id) == 93 else 1.0))
    with pytest.raises(ValueError, match="NaN or infinity in sample 93"):
        evaluate(tmp_path / "last.ckpt")
    assert not (tmp_path / "evaluation.json").exists()


def test_splits(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    install(off_by_number)
    with pytest.raises(ValueError, match="'split' to be one of"):
        evaluate(tmp_path / "last.ckpt", split="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="validation split of 'fake' to hold samples"):
        evaluate(tmp_path / "last.ckpt", split="validation")


def test_a_head_that_looks_infinitely_far_is_null(tmp_path: Path, install: Callable[..., list[PointData]]) -> None:
    samples = install(off_by_number)
    predictor = Predictor(samples, off_by_number, ("stress",))
    with torch.no_grad():
        predictor.model.encoder.attention.scale.raw[0] = 0.0
    evaluation.load = lambda path, device: predictor  # the fixture puts it back
    result = evaluate(tmp_path / "best.ckpt")
    assert result["length_scales"]["encoder"][0] is None
    assert "inf" in format_table(result)


def test_lengths_are_in_the_unit_of_the_files(
    tmp_path: Path, install: Callable[..., list[PointData]], monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor, drawn = Predictor(install(off_by_number), off_by_number, ("stress",)), []
    own = {name: lengths.tolist() for name, lengths in predictor.model.length_scales()}  # type: ignore[operator]
    predictor.facts["box_scale"] = 0.005  # files 200 long, the model's box 1
    monkeypatch.setattr(evaluation, "load", lambda path, device: predictor)
    monkeypatch.setattr(plots, "length_scales", lambda rows, path, *marks: drawn.append((rows, *marks)))
    result = evaluate(tmp_path / "best.ckpt")["length_scales"]
    assert {*result} == {*own}
    for name, lengths in own.items():
        assert result[name] == pytest.approx([200 * length for length in lengths])
    rows, spacing, extent = drawn[0]
    assert (spacing, extent) == pytest.approx((10.0, 200.0))
    assert all(lengths.tolist() == pytest.approx(result[name]) for name, _, lengths in rows)
