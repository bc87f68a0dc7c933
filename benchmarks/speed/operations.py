"""The necessary floating-point operations of a training step, and the peak rates of the machine.

A product of an m x k and a k x n matrix is 2 m k n operations. Elementwise work (activations, exponentials, the
optimiser), padding, and repeated computations are not necessary.

===============================================================  ===============================  =====================
Part                                                             Forward                          Backward
===============================================================  ===============================  =====================
linear layer from a to b channels, R rows                        2 R a b                          twice; once, where its
                                                                                                  input has no gradient
sums over a graph of E edges, d channels                         2 E d                            twice
global attention by t moments of a head's projected values       4 B N t d                        once: monomials have
                                                                                                  no gradient
the same, the moments being projected, h heads                   2 B N t d (h + 1) + 2 B t d^2    2 B N t d (2 h + 1)
                                                                                                  + 4 B t d^2
global attention on pairs                                        2 B N^2 d                        twice
===============================================================  ===============================  =====================
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn

from pitgeo.data import PointData
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.nn import GlobalPositionAttention, PiT, PositionAttention
from pitgeo.nn.blocks import HeadProjection
from pitgeo.nn.kernels.expansion import terms
from pitgeo.nn.sums_first import suits_sums

_MATRIX = 2048
_COPY = 2**26  # floats: 256 MB, beyond every cache


@dataclass(frozen=True)
class Rates:
    """Peak rates of the machine.

    Args:
        products: Floating-point operations per second in matrix products.
        copies: Bytes per second that a copy reads and writes together.
    """

    products: float
    copies: float


def machine_rates(repeat: int = 7) -> Rates:
    """The rates of this machine with torch's current threads: the fastest of several products and copies in float32."""
    left, right = torch.rand(_MATRIX, _MATRIX), torch.rand(_MATRIX, _MATRIX)
    product = torch.empty(_MATRIX, _MATRIX)
    source, target = torch.rand(_COPY), torch.empty(_COPY)
    seconds: list[list[float]] = [[], []]
    for _ in range(repeat):
        start = time.perf_counter()
        torch.mm(left, right, out=product)
        multiplied = time.perf_counter()
        target.copy_(source)
        copied = time.perf_counter()
        seconds[0].append(multiplied - start)
        seconds[1].append(copied - multiplied)
    return Rates(2 * _MATRIX**3 / min(seconds[0]), 2 * 4 * _COPY / min(seconds[1]))


def training_operations(model: PiT, data: PointData) -> int:
    """Necessary operations of a forward and a backward pass over a batch.

    Args:
        model: A network after a call with the batch, in which its global layers chose their forms.
        data: The batch, with its graphs.

    Raises:
        ValueError: If the network has attention other than position-attention, or first moments: they are not counted.
    """
    if model.body.moments:
        raise ValueError(
            f"Expected a network without first moments, whose operations are counted (got moments along "
            f"{model.body.moments} axes)"
        )
    if set(model.body.attention) != {"position"}:
        raise ValueError(f"Expected position-attention throughout (got {model.body.attention})")
    samples = data.samples
    shared = samples if data.x.dim() == 3 else 1
    rows = {kind: data.points(kind)[0].shape[0] * shared for kind in ("input", "latent", "output")}
    total = _linear(model.lift, rows["input"], first=True) + _linear(model.head, rows["output"])
    total += _local(model.encoder, data.graph("encoder"), shared, rows["input"], rows["latent"])
    for block in model.processor:
        total += _global(block, samples, rows["latent"], data.pos.shape[-1])
    total += _local(model.decoder, data.graph("decoder"), shared, rows["latent"], rows["output"])
    if model.output is not None:
        total += _local(model.output, data.graph("output"), shared, rows["output"], rows["output"])
    return total


def _linear(module: nn.Module, rows: int, first: bool = False) -> int:
    """Operations of the linear layers of a module; with ``first``, the input of the first has no gradient."""
    total = 0
    for part in module.modules():
        if isinstance(part, nn.Linear):
            total += (2 if first else 3) * 2 * rows * part.in_features * part.out_features
            first = False
    return total


def _projection(value: HeadProjection, rows: int) -> int:
    return 3 * 2 * rows * value.in_channels * value.out_channels


def _local(stage: nn.Module, graph: Neighborhood, shared: int, sources: int, targets: int) -> int:
    """Operations of a local or cross layer, in the order of sums and matrices that takes fewer."""
    layer, edges = stage.attention, graph.num_edges * shared
    assert isinstance(layer, PositionAttention)
    if suits_sums(graph, layer.value, layer.moments):
        sums = 3 * 2 * edges * layer.value.in_channels * layer.value.heads
        return _linear(stage, targets) + _projection(layer.value, targets) + sums
    sums = 3 * 2 * edges * layer.value.out_channels
    return _linear(stage, targets) + _projection(layer.value, sources) + sums


def _global(stage: nn.Module, samples: int, rows: int, dimension: int) -> int:
    layer = stage.attention
    assert isinstance(layer, GlobalPositionAttention)
    value, points = layer.value, rows // samples
    share = value.out_channels // value.heads
    total = 0
    if layer.grid is not None:  # a product with a matrix for every axis, and the gradients of values and matrices
        return (
            _linear(stage, rows) + _projection(value, rows) + 3 * 2 * rows * value.out_channels * sum(layer.grid.sizes)
        )
    if far := len(layer.expanded):
        count = terms(layer.degree, dimension)
        read_out = 2 * 2 * rows * count * far * share
        if far * count <= value.in_channels:
            moments = far * count * value.in_channels
            total += 3 * 2 * (rows + samples * share) * moments + read_out
        else:
            total += 2 * rows * far * share * (3 * value.in_channels + 2 * count) + read_out
    if near := value.heads - len(layer.expanded):
        total += 3 * 2 * near * share * rows * (value.in_channels + points)
    return total + _linear(stage, rows)
