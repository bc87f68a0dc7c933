"""Which interpolation predicts best what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pitgeo.controls.kernels import Recipe, squared_distances

MOST = 400
"""Samples that recipes are compared on at most."""
_MODES = 30  # of a first look, after which so many recipes are left
_LEFT = 8


@dataclass(frozen=True)
class Score:
    """How a recipe did on samples that were left out.

    Args:
        error: Mean relative error.
        ranks: Modes of every channel that gave it.
    """

    error: float
    ranks: tuple[int, ...]


def folds(count: int) -> list[Tensor]:
    """Numbers of the samples that are left out together: each alone up to 12 samples, else in 10 or 5 parts."""
    parts = count if count <= 12 else 10 if count <= 100 else 5
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    return [order[part::parts].sort().values for part in range(parts)]


def out_of_fold(recipe: Recipe, z: Tensor, values: Tensor) -> Tensor | None:
    """Values ``[S, K]`` at places ``[S, P]``, each predicted from other samples; ``None`` where that cannot be."""
    found = torch.empty_like(values)
    for left in folds(len(z)):
        kept = torch.ones(len(z), dtype=torch.bool)
        kept[left] = False
        coefficients = recipe.solve(z[kept], values[kept])
        if coefficients is None:
            return None
        found[left] = recipe.apply(z[left], z[kept], coefficients)
    return found if bool(torch.isfinite(found).all()) else None


def score(recipe: Recipe, z: Tensor, modes: Sequence[Tensor], sizes: Tensor, rank: int | None = None) -> Score | None:
    """How well a recipe predicts coefficients of modes that were left out.

    Args:
        recipe: The recipe.
        z: Places ``[S, P]``.
        modes: Coefficients ``[S, R]`` of every channel, of falling energy, of modes of unit size.
        sizes: What errors are relative to, ``[S, channels]``.
        rank: Modes to take; ``None`` for the fewest that are as good as any (within a thousandth).
    """
    found = out_of_fold(recipe, z, torch.cat(list(modes), 1))
    if found is None:
        return None
    errors, ranks = [], []
    for channel, (truth, guess) in enumerate(
        zip(modes, found.split_with_sizes([m.shape[1] for m in modes], 1), strict=True)
    ):
        wrong = torch.nn.functional.pad((truth - guess).square().cumsum(1), (1, 0))
        rest = truth.square().flip(1).cumsum(1).flip(1)
        rest = torch.nn.functional.pad(rest, (0, 1))
        means = ((wrong + rest).sqrt() / sizes[:, channel, None]).mean(0)
        best = int((means <= 1.001 * means.min()).nonzero()[0]) if rank is None else min(rank, truth.shape[1])
        errors.append(float(means[best]))
        ranks.append(best)
    return Score(sum(errors) / len(errors), tuple(ranks))


def best(
    candidates: Sequence[tuple[Tensor, Recipe]], modes: Sequence[Tensor], sizes: Tensor, rank: int | None = None
) -> tuple[int, Score]:
    """The number of the candidate, places ``[S, P]`` and a recipe, that predicts best what is left out, and its score.

    All are tried on the first modes, and the best few of them on all modes; both on up to :data:`MOST` samples, for
    with fewer of them polynomials of low degree would win.

    Args:
        candidates: What to choose among.
        modes: As for :func:`score`.
        sizes: As for :func:`score`.
        rank: As for :func:`score`.
    """
    kept = min(len(sizes), MOST)
    some = torch.arange(kept) * len(sizes) // kept
    sizes, modes = sizes[some], [part[some] for part in modes]
    first_modes = [part[:, :_MODES] for part in modes]
    tried = []
    for number, (z, recipe) in enumerate(candidates):
        found = score(recipe, z[some], first_modes, sizes, rank)
        tried.append((math.inf if found is None else found.error, number))
    chosen: tuple[int, Score] | None = None
    for _, number in sorted(tried)[:_LEFT]:
        z, recipe = candidates[number]
        found = score(recipe, z[some], modes, sizes, rank)
        if found is not None and (chosen is None or found.error < chosen[1].error):
            chosen = number, found
    if chosen is None:  # too few samples to judge
        return len(candidates) - 1, Score(math.inf, tuple(part.shape[1] if rank is None else rank for part in modes))
    return chosen


def recipes(z: Tensor, has_fields: bool) -> Iterator[Recipe]:
    """Recipes worth a try for places ``[S, P]``.

    Args:
        z: The places.
        has_fields: Whether they come from fields, whose directions matter by their size.
    """
    count, inputs = z.shape
    sample = z[:: -(-count // 200)]
    unit = math.sqrt(float(squared_distances(sample, sample).mean()) / 2) or 1.0
    kept = count - -(-count // len(folds(count)))  # in the smallest training part
    yield Recipe("none", 0, 1.0)
    degrees = [1] if inputs + 1 < kept else []
    squares = 1 + inputs + inputs * (inputs + 1) // 2
    degrees += [2] if squares < 0.8 * kept else []
    for degree in degrees:
        yield Recipe("none", degree, 1.0)
    if has_fields or not degrees:
        for nugget in (1e-10, 1e-6, 1e-4, 1e-2, 1.0):
            yield Recipe("linear", 0, nugget, unit)
    for degree in degrees[:1]:
        for nugget in (0.0, 1e-2, 1.0):
            yield Recipe("cubic", degree, nugget, unit)
            yield Recipe("thin_plate", degree, nugget, unit)
    for degree in (0, *degrees):
        for length in (0.3, 1.0, 3.0, 10.0):
            for nugget in (1e-12, 1e-8, 1e-4, 1e-2):
                yield Recipe("multiquadric", degree, nugget, length * unit)
            for nugget in (1e-10, 1e-4):
                yield Recipe("gaussian", degree, nugget, length * unit)
                yield Recipe("matern", degree, nugget, 2 * length * unit)
