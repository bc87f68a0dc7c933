"""The made-up problem, against sums over a grid, and what points tell."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from pitgeo.datasets.smoothing import Smoothing, SmoothingOptions
from pitgeo.testing import assert_dataset


def test_the_target_is_the_average_under_a_gaussian() -> None:
    size, width = 40, 0.07
    samples = Smoothing(range(2), "grid", size, width)
    away = np.minimum(np.arange(size), size - np.arange(size)) / size
    kernel = np.exp(-(away**2) / (2 * width**2))  # on a periodic grid that resolves it, sums are integrals
    kernel /= kernel.sum()
    weights = np.stack([np.roll(kernel, number) for number in range(size)])
    for sample in samples:
        field, smoothed = (values.reshape(size, size).double().numpy() for values in (sample.x, sample.y))
        assert np.allclose(weights @ field @ weights.T, smoothed, atol=1e-5)
        assert abs(field.mean()) < 1e-6 and 0.5 < field.std() < 1.5


@pytest.mark.parametrize("points", ["grid", "random"])
def test_samples_are_a_data_set(points: str) -> None:
    options = SmoothingOptions(points=points, size=10, train=4, validation=1, test=2)
    for part in (options.training_parts()[0], options.test_samples()):
        assert_dataset(part)
    train, validation = options.training_parts()
    numbers = [[int(sample.sample_id) for sample in part] for part in (train, validation, options.test_samples())]
    assert numbers == [[0, 1, 2], [3], [4, 5]] and options.counts() == (3, 1, 2)
    assert torch.equal(Smoothing(range(1, 2), points, 10)[0].x, train[1].x)  # whatever the others are
    assert ("grid" in train[0]) == (points == "grid") and len(train[0].pos) == 100
    mesh = train.mesh(0)
    assert np.allclose(mesh.points[:, :2], train[0].pos) and mesh.point_data["smoothed"].shape == (100,)
    assert options.template().x.shape == (100, 1) and options.is_ready()


def test_no_sample_need_choose_the_checkpoint() -> None:
    options = SmoothingOptions(size=10, train=4, validation=0, test=2)
    train, validation = options.training_parts()
    assert (len(train), len(validation), options.counts()) == (4, 0, (4, 0, 2)) and list(validation) == []
    assert_dataset(train)


def test_a_point_tells_little_and_all_points_tell_all() -> None:
    samples = Smoothing(range(200), "random")
    x, y = (values[..., 0].double() for values in (samples.x, samples.y))
    pointwise = (x * y).sum() / x.square().sum() * x
    assert float((pointwise - y).norm() / y.norm()) > 0.75
    solution = torch.linalg.lstsq(x[:150], y[:150]).solution  # 80 waves, known from 150 samples
    assert float((x[150:] @ solution - y[150:]).norm() / y[150:].norm()) < 1e-3


@pytest.mark.parametrize("options", [{"size": 8}, {"width": 0.0}, {"train": 3, "validation": 3}, {"points": "line"}])
def test_bad_options_are_refused(options) -> None:
    with pytest.raises(ValidationError):
        SmoothingOptions(**options)
