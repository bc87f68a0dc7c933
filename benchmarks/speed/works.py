"""Works to measure, each with several ways to do it: training steps of networks, and layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, PointTransformerConv, TransformerConv

from benchmarks.speed.dense_twin import DenseTwin
from benchmarks.speed.networks import Network
from pitgeo.data import PointData
from pitgeo.graphs.neighborhood import Neighborhood
from pitgeo.graphs.neighbors import knn
from pitgeo.graphs.trees import kd_tree
from pitgeo.measures.relative_error import relative_error
from pitgeo.nn import PiT, PositionAttention
from pitgeo.training import OperatorModule

Step = Callable[[], Any]
Way = Callable[[int, str], Step]
"""From a seed and a device to one step of the work, which may be called repeatedly."""


@dataclass(frozen=True)
class Work:
    """A piece of work.

    Args:
        title: Description with sizes.
        ways: Ways to do it, by name; the others are compared with the first.
    """

    title: str
    ways: Mapping[str, Way]


def training(network: Network, dense: tuple[str, ...] = ("recomputed", "kept"), compiled: bool = False) -> Work:
    """A training step (forward, backward and Adam) of a network and of its dense twins with the same parameters."""
    ways: dict[str, Way] = {"pitgeo": lambda seed, device: network_step(network, seed, device)[2]}
    if compiled:
        ways["pitgeo, compiled"] = partial(compiled_step, network)
    for name in dense:
        ways[f"dense, {name}"] = partial(dense_step, network, keep=name == "kept")
    return Work(f"Training step. {network.title}", ways)


def network_step(network: Network, seed: int, device: str = "cpu") -> tuple[PiT, PointData, Step]:
    """A network, a batch with its graphs, and the training step on them."""
    pos, x, y = _arrays(network, seed)
    model, data = network.model(pos.shape[-2]).to(device), network.data(pos, x).to(device)
    return model, data, _step(model, lambda: model(data).view(y.shape), y.to(device))


def compiled_step(network: Network, seed: int, device: str = "cpu") -> Step:
    """The training step of :func:`network_step`, compiled by torch; the first call compiles."""
    pos, x, y = _arrays(network, seed)
    model, data = network.model(pos.shape[-2]).to(device), network.data(pos, x).to(device)
    program = torch.compile(model, fullgraph=True)
    return _step(model, lambda: program(model.prepare(data)).view(y.shape), y.to(device))


def dense_step(network: Network, seed: int, device: str = "cpu", keep: bool = False) -> Step:
    """The training step of :func:`network_step` on full matrices."""
    pos, x, y = _arrays(network, seed)
    twin = DenseTwin(network.model(pos.shape[-2]), keep).to(device)
    data = network.data(pos, x)
    latent = None if data.coincide("input", "latent") else data.points("latent")[0].to(device)
    if latent is not None and not network.shared:
        latent = latent.view(len(pos), -1, 2)
    pos, x = pos.to(device), x.to(device)
    return _step(twin, lambda: twin(x, pos, latent), y.to(device))


def module_step(module: OperatorModule, batch: PointData) -> Step:
    """A training step of a Lightning module with its own optimiser, on one batch."""
    optimizer = module.configure_optimizers()["optimizer"]

    def step() -> None:
        optimizer.zero_grad()
        module.training_step(batch, 0).backward()
        optimizer.step()

    return step


def _arrays(network: Network, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    pos = network.positions(seed)
    size = (network.batch, pos.shape[-2])
    return pos, torch.rand(*size, network.values), torch.rand(*size, 1)


def _step(model: nn.Module, predict: Callable[[], Tensor], y: Tensor) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        relative_error(predict(), y).mean().backward()
        optimizer.step()

    return step


def local_layer(points: int = 9720, neighbors: int = 20, channels: int = 256, heads: int = 2) -> Work:
    """One local layer, forward and backward, with gradients of values and parameters."""

    def points_and_graph(in_order: bool = False) -> tuple[Tensor, Neighborhood]:
        pos = torch.rand(points, 2)
        if in_order:  # near points follow each other
            pos = pos[torch.from_numpy(kd_tree(pos.double().numpy()).indices)]
        return pos, knn(pos, pos, neighbors)

    def layer_step(layer: nn.Module, apply: Callable[[Tensor], Tensor], device: str) -> Step:
        layer.to(device)
        x = torch.rand(points, channels, device=device, requires_grad=True)
        slope = torch.rand(points, channels, device=device)

        def step() -> None:
            layer.zero_grad()
            x.grad = None
            apply(x).backward(slope)

        return step

    def ours(seed: int, device: str, in_order: bool = False) -> Step:
        pos, graph = points_and_graph(in_order)
        pos, graph, layer = pos.to(device), graph.to(device), PositionAttention(channels, channels, heads)
        return layer_step(layer, lambda x: layer(x, pos, graph), device)

    def theirs(make: Callable[[], nn.Module], takes_positions: bool = False) -> Way:
        def way(seed: int, device: str) -> Step:
            pos, graph = points_and_graph()
            pos, edges, layer = pos.to(device), graph.edge_index.to(device), make()
            if takes_positions:
                return layer_step(layer, lambda x: layer(x, pos, edges), device)
            return layer_step(layer, lambda x: layer(x, edges), device)

        return way

    share = channels // heads
    ways: dict[str, Way] = {
        "pitgeo": ours,
        "pitgeo, points in the order of a tree": partial(ours, in_order=True),
        "GATConv": theirs(lambda: GATConv(channels, share, heads, add_self_loops=False)),
        "TransformerConv": theirs(lambda: TransformerConv(channels, share, heads)),
        "PointTransformerConv": theirs(
            lambda: PointTransformerConv(
                channels, channels, pos_nn=nn.Linear(2, channels), add_self_loops=False
            ),
            takes_positions=True,
        ),
    }  # fmt: skip
    title = f"One local layer, forward and backward: {points:,} points, {neighbors} neighbours, {channels} channels, "
    return Work(f"{title}{heads} heads", ways)
