"""Copies of samples with their points permuted or moved."""

from __future__ import annotations

import copy
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from pitgeo.data.point_data import GRAPHS, PointData
from pitgeo.graphs.neighborhood import Neighborhood

Motion = Literal["rigid", "translation"]
_POSITIONS = ("pos", "pos_out", "pos_latent")


def permuted(sample: Data) -> tuple[Data, Tensor]:
    """A copy with its points in another order, and the old number of every output point.

    Input, latent and output points are shuffled independently if they are different sets; so are the edges of
    ``edge_index``. Graphs, and all attributes with ``index`` in their names (which PyG takes for numbers of input
    points), are renumbered.

    Raises:
        ValueError: If the points form a grid, whose order has a meaning, or there is only one point.
    """
    if sample.get("grid"):
        raise ValueError("Expected a sample whose points may come in any order (got one on a grid); leave 'grid' out")
    count = int(sample.num_nodes)
    if count < 2:
        raise ValueError(f"Expected a sample of at least two points, to put them in another order (got {count})")
    orders = {"input": _shuffled(count)}
    for kind, name in (("latent", "pos_latent"), ("output", "pos_out")):
        orders[kind] = _shuffled(sample[name].shape[0]) if name in sample else orders["input"]
    changed = copy.copy(sample)
    edges = _shuffled(int(sample.edge_index.shape[1])) if "edge_index" in sample else None
    rows = {"pos": "input", "x": "input", "pos_latent": "latent", "pos_out": "output", "y": "output"}
    graphs = GRAPHS if isinstance(sample, PointData) else {}
    for key, value in sample.to_dict().items():
        if not isinstance(value, Tensor) or key.removesuffix("_index").removesuffix("_degree") in graphs:
            continue
        if "index" in key:
            value = orders["input"].argsort().to(value.device)[value]
            changed[key] = value[:, edges] if key == "edge_index" else value
        elif edges is not None and key.startswith("edge_") and value.shape[0] == len(edges):
            changed[key] = value[edges]
        elif key in ("pos_latent_batch", "pos_out_batch"):  # zeros, in a single sample
            continue
        elif key in rows and value.dim() > 1 and value.shape[-2] == len(orders[rows[key]]):
            changed[key] = value.index_select(-2, orders[rows[key]].to(value.device))
        elif key not in rows and value.dim() and value.shape[0] == count:
            changed[key] = value[orders["input"].to(value.device)]
    for graph, (targets, sources) in graphs.items():
        if sample.has_graph(graph):
            changed.set_graph(graph, _renumbered(sample.graph(graph), orders[sources], orders[targets]))
    return changed, orders["output"]


def moved(sample: Data, motion: Motion) -> Data:
    """A copy with all points shifted by twice their extent, and with ``"rigid"`` first rotated about the origin."""
    if motion not in ("rigid", "translation"):
        raise ValueError(f"Expected 'motion' to be 'rigid' or 'translation' (got {motion!r})")
    pos, generator = sample.pos, torch.Generator().manual_seed(0)
    axes = pos.shape[1]
    rotation = torch.eye(axes, dtype=torch.float64)
    if motion == "rigid":
        rotation = torch.linalg.qr(torch.randn(axes, axes, generator=generator, dtype=torch.float64)).Q
        rotation[:, 0] *= torch.linalg.det(rotation).sign()  # not a reflection
    shift = torch.randn(axes, generator=generator, dtype=torch.float64).sign()
    shift = shift * 2 * (float((pos.amax(0) - pos.amin(0)).max()) or 1.0)
    changed = copy.copy(sample)
    for name in _POSITIONS:
        if name in sample:
            changed[name] = (sample[name].double() @ rotation.T.to(pos.device) + shift.to(pos.device)).to(pos.dtype)
    return changed


def _shuffled(count: int) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(count))


def _renumbered(graph: Neighborhood, sources: Tensor, targets: Tensor) -> Neighborhood:
    old = graph.edge_index
    edges = torch.stack([sources.argsort().to(old.device)[old[0]], targets.argsort().to(old.device)[old[1]]])
    changed, _ = Neighborhood.from_edge_index(edges, len(sources), len(targets))
    return Neighborhood(changed.index.to(graph.index.dtype), changed.degree.to(graph.degree.dtype), len(sources))
