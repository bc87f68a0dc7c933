"""The assertion that training, evaluation and pictures can use the samples of a data set."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.loader import DataLoader

from pitgeo.data.point_data import GRAPHS, PointData
from pitgeo.data.samples import Samples

_FLOATING = ("pos", "x", "y", "pos_out", "pos_latent")


def assert_dataset(samples: Samples) -> None:
    """Check that the samples have all that pitgeo's commands need of a data set.

    - Their class is derived from :class:`pitgeo.datasets.Samples`.
    - They are a sequence: with a length; with single samples by number (also negative, ``IndexError`` beyond the end);
      iterated over in the same order; the same each time; with slices that have all these properties too.
    - Every sample is a single, finite :class:`~pitgeo.data.PointData` with targets ``y`` and its own ``sample_id``;
      axes, input channels, target channels and precision are those of the first.
    - ``with_transform(transform)`` gives the transformed samples, and does not change the others.
    - Batches of PyG's ``DataLoader`` hold what the samples hold, with correctly shifted point numbers. Samples on one
      shared mesh also have ``batch(numbers)``.

    Args:
        samples: At least two samples, as they are read, before any transform.

    Raises:
        AssertionError: If a property does not hold.
        ValueError: If there are fewer than two samples.

    Example:
        >>> import numpy as np
        >>> from pitgeo.datasets import Fields, SharedMesh
        >>> x, y = np.ones((3, 5, 1), np.float32), np.ones((3, 5, 2), np.float32)
        >>> fields = Fields(np.linspace(0, 1, 5)[:, None], (5,), x, y, np.arange(3))
        >>> assert_dataset(SharedMesh(fields, ("a",), ("u", "v")))
    """
    if len(samples) < 2:
        raise ValueError(f"Expected at least two samples, to compare them (got {len(samples)})")
    _expect(isinstance(samples, Samples), "a class derived from pitgeo.datasets.Samples", type(samples).__name__)
    _assert_samples(samples)
    _assert_sequence(samples)
    _assert_slices(samples)
    _assert_transformed(samples)
    _assert_batches(samples)


def _assert_samples(samples: Samples) -> None:
    kinds, seen = {}, {}
    for number in range(len(samples)):
        sample = samples[number]
        _expect(isinstance(sample, PointData), f"sample {number} to be a PointData", type(sample).__name__)
        _expect("batch" not in sample and sample.samples == 1, f"sample {number} to be a single one", "several")
        _expect("sample_id" in sample, f"sample {number} to have a 'sample_id', by which messages name it", "none")
        name = int(sample.sample_id)
        _expect(name not in seen, f"every sample to have its own 'sample_id', {number} too", f"{name} twice")
        seen[name] = number
        _expect(sample.get("y") is not None, f"sample {number} to have targets 'y'", "none")
        for key in _FLOATING:
            value = sample.get(key)
            good = value is None or bool(torch.isfinite(value).all())
            _expect(good, f"'{key}' of sample {number} to be finite", "NaN or infinity")
        kinds[number] = {
            "axes": sample.pos.shape[-1],
            "input channels": sample.x.shape[-1],
            "target channels": sample.y.shape[-1],
            "precision": {str(sample[key].dtype) for key in _FLOATING if key in sample and sample[key].numel()},
        }
        for fact, got in kinds[number].items():
            _expect(got == kinds[0][fact], f"{kinds[0][fact]} as {fact} of sample {number}, as of sample 0", got)


def _assert_sequence(samples: Samples) -> None:
    last = len(samples) - 1
    _assert_equal("the last sample by the number -1", samples[-1], samples[last])
    for number, sample in enumerate(itertools.islice(samples, 3)):
        _assert_equal(f"sample {number} of an iteration", sample, samples[number])
    _expect(sum(1 for _ in samples) == len(samples), f"an iteration over {len(samples)} samples", "another number")
    for number in (len(samples), -len(samples) - 1):
        try:
            samples[number]
        except IndexError:
            continue
        raise AssertionError(f"Expected an IndexError for sample {number} of {len(samples)} (got none)")


def _assert_slices(samples: Samples) -> None:
    for part, numbers in ((slice(1, None), range(1, len(samples))), (slice(0, 0), range(0))):
        chosen = samples[part]
        _expect(isinstance(chosen, Samples), "a slice to be samples of a data set", type(chosen).__name__)
        _expect(len(chosen) == len(numbers), f"{len(numbers)} samples in a slice", len(chosen))
        for place, number in itertools.islice(enumerate(numbers), 3):
            _assert_equal(f"sample {place} of a slice from {numbers.start}", chosen[place], samples[number])


def _assert_transformed(samples: Samples) -> None:
    chosen = samples[1:4]
    before = [copy.copy(sample) for sample in chosen]
    after = chosen.with_transform(_Shift())
    _expect(len(after) == len(chosen), f"{len(chosen)} transformed samples", len(after))
    for number, sample in enumerate(before):
        _assert_equal(f"sample {number} after others have been transformed", chosen[number], sample)
        _assert_equal(f"sample {number}, transformed,", after[number], _Shift()(sample))


def _assert_batches(samples: Samples) -> None:
    chosen = [samples[number] for number in range(min(len(samples), 3))]
    batch = next(iter(DataLoader(samples, batch_size=len(chosen))))
    _expect(batch.samples == len(chosen), f"a batch of {len(chosen)} samples", batch.samples)
    for number, again in enumerate(batch.to_data_list()):
        _assert_equal(f"sample {number} of a batch", again, chosen[number])
    for key in _FLOATING:
        if key in chosen[0]:
            together = torch.cat([sample[key] for sample in chosen])
            _expect(_same(batch[key], together), f"'{key}' of a batch to be that of its samples", "others")
    for graph, kinds in GRAPHS.items():
        if chosen[0].has_graph(graph):
            parts, start = [], torch.zeros(2, 1, dtype=torch.long)
            for sample in chosen:
                parts.append(sample.graph(graph).edge_index + start)
                start = start + torch.tensor([[len(sample.points(kind)[0])] for kind in reversed(kinds)])
            right = torch.equal(batch.graph(graph).edge_index, torch.cat(parts, 1))
            _expect(right, f"the {graph} graph of a batch to number its points", "others")
    if (batch_of := getattr(samples, "batch", None)) is not None:
        shared = batch_of([1, 0])
        for key in ("x", "y"):
            together = torch.stack([samples[number][key] for number in (1, 0)])
            _expect(_same(shared[key], together), f"'{key}' of a batch on the shared mesh to be the samples'", "others")


@dataclass(frozen=True)
class _Shift:
    """Moves the points by 1."""

    def __call__(self, data: PointData) -> PointData:
        result = copy.copy(data)
        result.pos = data.pos + 1
        return result


def _assert_equal(what: str, found: PointData, expected: PointData) -> None:
    first, second = (set(sample.to_dict()) for sample in (found, expected))
    _expect(first == second, f"{what} to have the attributes {sorted(second)}", sorted(first))
    for key in sorted(second):
        mine, theirs = found[key], expected[key]
        if not _same(mine, theirs):
            raise AssertionError(f"Expected '{key}' of {what} to be as it was (got {_difference(mine, theirs)})")


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    return bool(_plain(first) == _plain(second))


def _plain(value: Any) -> list[Any]:
    """A number as PyG's batches give it back, in a tensor, and any other, alike."""
    value = value.tolist() if isinstance(value, Tensor) else value
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _difference(first: Any, second: Any) -> str:
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return f"{first!r} for {second!r}"
    if first.shape != second.shape or first.dtype != second.dtype:
        return f"{list(first.shape)} of {first.dtype} for {list(second.shape)} of {second.dtype}"
    return f"a largest difference of {float((first.double() - second.double()).abs().max()):.3g}"


def _expect(condition: bool, what: str, got: object) -> None:
    if not condition:
        raise AssertionError(f"Expected {what} (got {got})")
