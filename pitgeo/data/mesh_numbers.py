"""Numbers of the whole mesh among the input values: which there are, what they are, and how they go with points."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch_geometric.utils import segment

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.numbers import number_fields, numbers
from pitgeo.data.point_data import PointData


def numbers_of(table: FieldTable, kind: Literal["channels", "stored"] = "channels") -> dict[str, list[int]]:
    """The numbers of the whole mesh among the inputs, vectors and their components, with their places.

    Args:
        table: Inputs and targets.
        kind: Whether the places are those among the channels of a model, or among the numbers in a file.
    """
    found: dict[str, list[int]] = {}
    for field, column, channel in number_fields(table):
        start = channel if kind == "channels" else column
        if field.categories is None:
            found.setdefault(field.source, list(range(start, start + field.components)))
    for name, number in numbers(table).items():
        field, column, channel = number.fields[0]
        if field.categories is None:
            found.setdefault(name, [(channel if kind == "channels" else column) + number.component])
    return found


def sample_numbers(data: PointData, is_local: bool = False) -> Tensor:
    """The numbers of every sample among its input values, ``[B, C]``; other channels have no meaning.

    Args:
        data: The samples.
        is_local: Whether some are given in a named set, with zeros elsewhere.
    """
    x = data.x
    if x.dim() == 3:
        return _largest(x.amin(1), x.amax(1)) if is_local else x[:, 0]
    if data.points("input")[1] is None:
        return _largest(x.amin(0, True), x.amax(0, True)) if is_local else x[:1]
    pointer = data["ptr"]
    if is_local:
        return _largest(segment(x, pointer, "min"), segment(x, pointer, "max"))
    return x.index_select(0, pointer[:-1])


def at_points(own: Tensor, data: PointData, kind: Literal["input", "output"], rows: Tensor | None = None) -> Tensor:
    """Numbers of every sample ``[B, C]`` at its input or output points, so that they go with a field there.

    Args:
        own: The numbers.
        data: The samples.
        kind: Which points.
        rows: Numbers of some of the points; ``None`` for all.

    Shapes:
        - **output** ``[N, C]`` for several samples, ``[1, C]`` for one, ``[B, 1, C]`` on a shared mesh.
    """
    if data.x.dim() == 3:
        return own.unsqueeze(1)
    batch = data.points(kind)[1]
    if batch is None:
        return own
    return own.index_select(0, batch if rows is None else batch.index_select(0, rows))


def means(values: Tensor, data: PointData, rows: Tensor | None = None) -> Tensor:
    """Means of values over the output points of every sample, shaped as :func:`at_points` has them.

    Args:
        values: ``[m, K]``, or ``[B, m, K]`` on a shared mesh.
        data: The samples.
        rows: Numbers of the output points of the values; ``None`` for all.
    """
    batch = None if values.dim() == 3 else data.points("output")[1]
    if batch is None:
        return values.mean(-2, keepdim=True)
    batch = batch if rows is None else batch.index_select(0, rows)
    counts = torch.zeros(data.samples, dtype=torch.long, device=batch.device)
    counts = counts.index_add(0, batch, torch.ones_like(batch))  # bincount would wait for a GPU
    pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    found: Tensor = segment(values, pointer, "mean")[batch]
    return found


def _largest(low: Tensor, high: Tensor) -> Tensor:
    """Of the smallest and the largest value that which is farther from zero: of a number in a set the number itself."""
    return torch.where(high >= -low, high, low)
