"""Errors of predictions against plain numpy: offsets, weak components, masks, numbers of meshes, zeros, peaks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
import torch

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.evaluation.measure_table import LEGEND, MOST, WIDTH, format_errors
from pitgeo.measures.measures import NAMES, Measures, measure
from pitgeo.measures.reference import Reference, Values
from pitgeo.measures.relative_error import relative_error

SIZES = (30, 47, 61)


def table(*fields: MeshField) -> FieldTable:
    return FieldTable((), fields or (MeshField("u"),), 2)


def drawn(channels: int = 1, seed: int = 0) -> tuple[list[Values], list[Values], list[Values]]:
    """Truths, predictions and positions of three samples of different sizes."""
    random = np.random.default_rng(seed)
    truths = [3 + random.normal(size=(size, channels)) for size in SIZES]
    return truths, [truth + 0.2 * random.normal(size=truth.shape) for truth in truths], [
        random.random((size, 2)) for size in SIZES
    ]  # fmt: skip


def plain(truth: Values, prediction: Values, mean: Values) -> dict[str, float]:
    """What numpy says of values ``[n, components]``."""
    error, size = (np.linalg.norm(values, axis=1) for values in (prediction - truth, truth))
    norm = np.linalg.norm
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mean_absolute": float(np.mean(error)),
        "largest_absolute": float(np.max(error)),
        "r2": float(1 - np.sum(error**2) / np.sum((truth - truth.mean(0)) ** 2)),
        "relative_l1": float(error.sum() / size.sum()),
        "relative_l2": float(norm(prediction - truth) / norm(truth)),
        "variation_l2": float(norm(prediction - truth) / norm(truth - mean)),
    }


def check(entry: dict[str, Any], truths: Sequence[Values], predictions: Sequence[Values], mean: Values) -> None:
    each = [plain(*pair, mean) for pair in zip(truths, predictions, strict=True)]
    whole = plain(np.concatenate(truths), np.concatenate(predictions), mean)
    for name in NAMES:
        values = [numbers[name] for numbers in each]
        assert entry[name]["mean"] == pytest.approx(np.mean(values), rel=1e-9), name
        assert entry[name]["median"] == pytest.approx(np.median(values), rel=1e-9), name
        assert entry[name]["largest"] == pytest.approx(np.max(values), rel=1e-9), name
        assert entry[name]["pooled"] == pytest.approx(whole[name], rel=1e-9), name
        assert "reason" not in entry[name]


def test_a_field_agrees_with_numpy() -> None:
    truths, predictions, positions = drawn()
    found = measure(table(), truths, predictions, Reference((2.5,), (1.0,)), positions=positions)["u"]
    check(found, truths, predictions, np.array([2.5]))
    assert found["samples"] == 3 and json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_number_of_a_benchmark_is_the_mean_relative_error_to_the_last_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    truths = [1 + torch.rand(size, 3, generator=generator) for size in SIZES]
    predictions = [truth + 0.1 * torch.rand(truth.shape, generator=generator) for truth in truths]
    found = measure(table(MeshField("a"), MeshField("b"), MeshField("c")), truths, predictions)
    norms: tuple[tuple[str, Literal[1, 2]], ...] = (("relative_l1", 1), ("relative_l2", 2))
    for name, norm in norms:
        errors = torch.cat([relative_error(*pair, norm=norm) for pair in zip(predictions, truths, strict=True)])
        for channel, field in enumerate("abc"):
            assert found[field][name]["mean"] == float(errors.double().numpy()[:, channel].mean())


def test_a_vector_as_a_whole_and_a_weak_component_by_its_own_norm() -> None:
    """The whole says 1%, the weak component is predicted as zero throughout: 100% wrong."""
    truths, _, positions = drawn(3)
    truths = [truth * (100, 10, 0.05) for truth in truths]
    predictions = [truth * (1.01, 1.01, 0) for truth in truths]
    mean = np.array([300.0, 30.0, 0.15])
    reference = Reference(tuple(mean), (100.0, 10.0, 0.05))
    found = measure(table(MeshField("v", 3)), truths, predictions, reference, positions=positions)["v"]
    check(found, truths, predictions, mean)
    assert found["relative_l2"]["mean"] == pytest.approx(0.01, rel=1e-2)
    for number, name in enumerate(("v_x", "v_y", "v_z")):
        part = slice(number, number + 1)
        truth, prediction = ([values[:, part] for values in both] for both in (truths, predictions))
        check(found["components"][name], truth, prediction, mean[part])
    assert found["components"]["v_z"]["relative_l2"]["mean"] == pytest.approx(1.0, rel=1e-6)
    assert found["components"]["v_z"]["r2"]["pooled"] < 0


def test_kelvin_and_celsius_have_the_same_numbers() -> None:
    """All but those by the field's own norm, which are of the offset."""
    truths, predictions, positions = drawn()
    numbers = []
    for offset in (0.0, 273.15):
        moved = [[values + offset for values in both] for both in (truths, predictions)]
        training = [PointData(pos=torch.zeros(len(part), 2), y=torch.from_numpy(part + offset)) for part in truths]
        found = measure(table(), *moved, Reference.fit(training), positions=positions)["u"]
        numbers.append(found)
    for name in ("rmse", "mean_absolute", "largest_absolute", "r2", "variation_l2"):
        assert numbers[0][name] == pytest.approx(numbers[1][name], rel=1e-9), name
    assert numbers[0]["relative_l2"]["mean"] > 50 * numbers[1]["relative_l2"]["mean"]
    assert numbers[0]["peak"]["error"] == pytest.approx(numbers[1]["peak"]["error"], rel=1e-9)
    assert numbers[0]["peak"]["distance"] == pytest.approx(numbers[1]["peak"]["distance"])


def test_no_skill_is_a_variation_error_of_one_whatever_the_offset() -> None:
    truths, _, _ = drawn()
    mean = np.concatenate(truths).mean()
    found = measure(table(), [part + 1e4 for part in truths], [np.full_like(part, mean + 1e4) for part in truths],
                    Reference((mean + 1e4,), (1.0,)))["u"]  # fmt: skip
    assert found["variation_l2"]["pooled"] == pytest.approx(1.0) and found["r2"]["pooled"] == pytest.approx(0, abs=1e-9)
    assert found["relative_l2"]["pooled"] < 2e-4


def test_targets_of_points_and_cells_count_where_they_belong() -> None:
    fields = table(MeshField("u"), MeshField("s", place="cell"))
    truths, predictions, positions = drawn(2)
    masks = []
    for number, size in enumerate(SIZES):
        mask = np.zeros((size, 2), bool)
        mask[: size // 2, 0], mask[size // 2 :, 1] = True, True
        masks.append(mask)
        truths[number][~mask], predictions[number][~mask] = 0, 1e9 * (1 + number)
    found = measure(fields, truths, predictions, Reference((3.0, 2.0), (1.0, 1.0)), masks, positions)
    for channel, name in enumerate(("u", "s")):
        parts = [
            [values[mask[:, channel], channel, None] for values, mask in zip(both, masks, strict=True)]
            for both in (truths, predictions)
        ]
        check(found[name], parts[0], parts[1], np.array([(3.0, 2.0)[channel]]))


def test_a_number_of_the_whole_mesh_counts_once_a_sample() -> None:
    fields = table(MeshField("u"), MeshField("drag", place="mesh"))
    truths, predictions, positions = drawn(2)
    drags, guesses = np.array([0.1, -2.0, 4.0]), np.array([0.2, -2.5, 4.0])
    for number in range(3):
        truths[number][:, 1], predictions[number][:, 1] = drags[number], guesses[number]
    found = measure(fields, truths, predictions, Reference((3.0, 1.0), (1.0, 1.0)), positions=positions)["drag"]
    error = np.abs(guesses - drags)
    assert found["rmse"]["pooled"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found["mean_absolute"]["pooled"] == found["mean_absolute"]["mean"] == pytest.approx(error.mean())
    assert found["r2"]["pooled"] == pytest.approx(1 - np.sum(error**2) / np.sum((drags - drags.mean()) ** 2))
    assert found["r2"]["mean"] is None and found["r2"]["reason"] == "one number a sample"
    assert found["relative_l2"]["mean"] == pytest.approx(np.mean(error / np.abs(drags)))
    assert found["variation_l2"]["pooled"] == pytest.approx(np.sqrt(np.sum(error**2) / np.sum((drags - 1) ** 2)))
    assert found["peak"]["error"]["mean"] is None and found["peak"]["error"]["reason"] == "one number a sample"


def test_a_zero_sample_and_a_constant_one_are_null_with_the_reason() -> None:
    truths, predictions, positions = drawn()
    truths[1][:] = 0
    found = measure(table(), truths, predictions, Reference((3.0,), (1.0,)), positions=positions, names=("a", "b", "c"))
    relative, r2 = found["u"]["relative_l2"], found["u"]["r2"]
    assert relative["mean"] is None and relative["reason"] == "the truth is zero everywhere in b"
    whole = plain(np.concatenate(truths), np.concatenate(predictions), np.array([3.0]))
    assert relative["pooled"] == pytest.approx(whole["relative_l2"])
    assert r2["mean"] is None and "the same everywhere in b" in r2["reason"]
    assert r2["pooled"] == pytest.approx(whole["r2"])
    assert found["u"]["rmse"]["mean"] > 0 and found["u"]["variation_l2"]["mean"] > 0
    assert found["u"]["peak"]["distance"]["mean"] is None
    text = "\n".join(format_errors(found))
    assert "u: no relative l2: the truth is zero everywhere in b" in text
    constant = [np.full_like(part, 0.1) for part in truths]  # its mean is not 0.1 to the last bit
    found = measure(table(), constant, predictions, Reference((0.1,), (0.0,)), names=("a", "b", "c"))
    for name in ("r2", "variation_l2"):
        assert found["u"][name]["mean"] is None and found["u"][name]["pooled"] is None
        assert "everywhere in a and 2 more" in found["u"][name]["reason"]
    every = measure(table(), [0 * part for part in truths], predictions)["u"]
    assert every["relative_l1"]["pooled"] is None and "nan" not in json.dumps(every, allow_nan=False).lower()
    assert every["variation_l2"]["reason"] == "no mean of the training set was given"


def test_rounding_of_a_constant_in_single_precision_is_no_variation() -> None:
    truth = torch.full((50, 1), 293.15) * (1 + 1e-7 * (torch.arange(50).reshape(-1, 1) % 2))
    found = measure(table(), [truth], [truth + 1], Reference((293.15,), (1.0,)))["u"]
    assert found["r2"]["pooled"] is None and found["variation_l2"]["pooled"] is None


def test_the_peak_and_its_place() -> None:
    pos = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    truths = [np.array([[1.0], [9.0], [2.0]]), np.array([[-5.0], [-1.0], [-3.0]])]
    predictions = [np.array([[7.5], [3.0], [7.0]]), np.array([[-5.0], [-2.0], [-1.5]])]
    peak = measure(table(), truths, predictions, positions=[pos, pos])["u"]["peak"]
    assert peak["truth"]["mean"] == 4.0 and peak["prediction"]["mean"] == pytest.approx((7.5 - 1.5) / 2)
    assert peak["error"]["mean"] == pytest.approx((1.5 + 0.5) / 2) and peak["error"]["pooled"] == 1.5
    assert peak["distance"]["mean"] == 5.0 and peak["distance"]["pooled"] == 5.0
    lengths = measure(table(MeshField("v", 2)), [np.array([[3.0, 4.0], [-6.0, -8.0]])], [np.eye(2)],
                      positions=[pos[:2]])["v"]  # fmt: skip
    assert lengths["peak"]["truth"]["pooled"] == 10.0 and lengths["peak"]["prediction"]["pooled"] == 1.0
    assert lengths["peak"]["distance"]["reason"] == "the prediction is the same everywhere in a sample"
    assert lengths["components"]["v_x"]["peak"]["truth"]["pooled"] == 3.0


def test_a_flat_peak_is_as_far_as_its_nearest_place() -> None:
    pos = np.arange(6.0)[:, None] * (1, 0)
    truth = np.array([0.0, 1, 1, 1, 0, 0])[:, None]
    prediction = np.array([0.0, 0, 0, 0, 0, 2])[:, None]
    peak = measure(table(), [truth], [prediction], positions=[pos])["u"]["peak"]
    assert peak["distance"]["pooled"] == 2.0


def test_peaks_in_different_samples_have_no_distance() -> None:
    pos = [np.array([[0.0, 0.0], [1.0, 0.0]])] * 2
    truths = [np.array([[1.0], [5.0]]), np.array([[2.0], [3.0]])]
    predictions = [np.array([[1.0], [2.0]]), np.array([[7.0], [3.0]])]
    peak = measure(table(), truths, predictions, positions=pos, names=("a", "b"))["u"]["peak"]
    assert peak["error"]["pooled"] == 2.0 and peak["distance"]["mean"] == 0.5
    assert peak["distance"]["pooled"] is None
    assert peak["distance"]["reason"] == "the largest true value is in a, the largest predicted in b"


def test_roll_outs_are_measured_step_by_step_and_may_differ_in_length() -> None:
    truths, predictions, _ = drawn(4)
    truths[2], predictions[2] = truths[2][:, :2], predictions[2][:, :2]
    fields = table(MeshField("u"), MeshField("w"))
    found = measure(fields, truths, predictions, Reference((3.0, 2.0), (1.0, 1.0)))
    assert list(found) == ["u, step 1", "w, step 1", "u, step 2", "w, step 2"]
    for number, (name, entry) in enumerate(found.items()):
        parts = [[part[:, number, None] for part in both if part.shape[1] > number] for both in (truths, predictions)]
        assert entry["samples"] == len(parts[0]) == (3 if "step 1" in name else 2)
        check(entry, parts[0], parts[1], np.array([3.0 if name.startswith("u") else 2.0]))


def test_a_target_that_a_file_does_not_hold_is_left_out_there() -> None:
    truths, predictions, _ = drawn(2)
    masks = [np.ones(part.shape, bool) for part in truths]
    masks[0][:, 1] = False
    found = Measures(table(MeshField("u"), MeshField("w")), None)
    for number in range(3):
        found.add(str(number), truths[number], predictions[number], masks[number])
    errors = found.result()
    assert errors["u"]["samples"] == 3 and errors["w"]["samples"] == 2
    assert [list(case["errors"]) for case in found.cases()] == [["u"], ["u", "w"], ["u", "w"]]
    assert found.cases()[1]["errors"]["w"]["rmse"] == pytest.approx(
        np.sqrt(np.square(truths[1] - predictions[1])[:, 1].mean())
    )


def test_the_order_of_samples_is_always_defined() -> None:
    truths, predictions, _ = drawn()
    truths[0][:] = 0
    found = Measures(table(), None)
    for truth, prediction in zip(truths, predictions, strict=True):
        found.add("a", truth, prediction)
    typical = np.sqrt(np.mean(np.concatenate(truths) ** 2))
    expected = [np.sqrt(np.mean(predictions[0] ** 2)) / typical]
    expected += [plain(truths[n], predictions[n], np.zeros(1))["relative_l2"] for n in (1, 2)]
    assert found.order() == pytest.approx(expected)


def test_what_does_not_fit_is_refused() -> None:
    found = Measures(table(), None)
    with pytest.raises(ValueError, match=r"mask of a.vtu to have one shape \[M, 1\].*got \[3, 1\], \[2, 1\]"):
        found.add("a.vtu", np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"finite predictions.*in a.vtu"):
        found.add("a.vtu", np.zeros((2, 1)), np.array([[1.0], [np.nan]]))
    found.add("b", np.ones((2, 1)), np.array([[1.0], [np.nan]]), np.array([[True], [False]]))
    with pytest.raises(ValueError, match="at least one sample"):
        measure(table(), [], [])


def test_the_reference_is_pooled_over_points_and_a_number_counts_once() -> None:
    random = np.random.default_rng(0)
    samples, numbers = [], []
    for size in SIZES:
        y = torch.from_numpy(5 + random.normal(size=(size, 3)))
        y[:, 2] = float(random.normal())
        mask = torch.ones(size, 3, dtype=torch.bool)
        mask[: size // 3, 0] = False
        samples.append(PointData(pos=torch.zeros(size, 2), y=y, y_mask=mask))
        numbers.append(float(y[0, 2]))
    found = Reference.fit(samples, scalars=1)
    known = np.concatenate([sample.y[sample.y_mask[:, 0], 0].numpy() for sample in samples])
    whole = np.concatenate([sample.y[:, 1].numpy() for sample in samples])
    assert found.mean == pytest.approx([known.mean(), whole.mean(), np.mean(numbers)])
    assert found.variation == pytest.approx([known.std(), whole.std(), np.std(numbers)])
    assert Reference.parse(json.loads(json.dumps(found.plain()))) == found


def test_scales_of_a_loss_are_positive() -> None:
    found = Reference((5.0, 0.0, 300.0, 0.0, 1.0), (2.0, 1e-9, 1e-6, 0.0, 0.5)).scales((2, 1, 1, 1))
    group = 0.01 * np.sqrt((2**2 + 1e-18) / 2)  # of a component that is nearly zero
    assert found == pytest.approx((2.0, group, 300.0, 1.0, 0.5))


def test_the_table_fits_a_screen() -> None:
    entry = {name: {"mean": -1.23456e-30, "pooled": -1.23456e-30} for name in NAMES}
    lines = format_errors({f"a field whose name is longer than {number}": entry for number in range(60)})
    assert max(map(len, lines)) <= WIDTH and len(lines) == MOST + 3
    assert lines[MOST // 2 + 1] == "... 36 more rows ..." and lines[-1] == LEGEND
