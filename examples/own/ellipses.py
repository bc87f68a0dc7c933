"""Your own data, layer and model: the program of docs/extending.md, section by section."""

# [samples]
import torch

from pitgeo import PointData
from pitgeo.datasets import ListedSamples
from pitgeo.mesh import point_fields, read_mesh


class Ellipses(ListedSamples):
    """Mesh files, a sample each, with the fields ``source`` and ``u``."""

    def __init__(self, files):
        self.files, samples = files, []
        for file in files:
            mesh = read_mesh(file)
            pos, x, y = (
                torch.from_numpy(values).float()
                for values in (mesh.points, point_fields(mesh, ("source",)), point_fields(mesh, ("u",)))
            )
            samples.append(PointData(pos=pos, x=x, y=y, sample_id=int(file.stem)))
        super().__init__(samples)

    def cut(self, part):
        """What a slice of the data set keeps besides samples."""
        self.files = self.files[part]

    def mesh(self, index):
        return read_mesh(self.files[index])


# [options]
from typing import ClassVar

import numpy as np
from pydantic import PositiveInt
from scipy.spatial import Delaunay

from pitgeo.datasets import DATASETS, BenchmarkOptions
from pitgeo.mesh import Mesh, write_mesh


class EllipsesOptions(BenchmarkOptions):
    """Options of ``data.name = "ellipses"``."""

    inputs: ClassVar = ("source",)  # a property where options change them
    targets: ClassVar = ("u",)
    root: str = "datasets/ellipses"
    train: PositiveInt = 40
    test: PositiveInt = 10
    generate: PositiveInt = 50
    points: PositiveInt = 150

    def template(self):
        """A sample of the right shape, before there are any files."""
        pos = torch.rand(self.points, 2, generator=torch.Generator().manual_seed(0))
        return PointData(pos=pos, x=torch.zeros(self.points, 1), y=torch.zeros(self.points, 1))

    def missing(self):
        names = (f"{number:04d}.vtu" for number in range(self.least))
        return [name for name in names if not (self.raw / name).exists()]

    def make(self, progress):
        """Write ``generate`` files; without a solver, raise a FileNotFoundError that says where to get them."""
        self.raw.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        for number in range(self.generate):
            axes, source = random.uniform(0.3, 1.0, 2), random.uniform(1.0, 2.0)
            count = int(self.points * random.uniform(0.8, 1.2))
            angle, radius = 2 * np.pi * random.random(count), np.sqrt(random.random(count))
            unit = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
            factor = source / 2 * (axes**2).prod() / (axes**2).sum()
            fields = {"source": np.full(count, source), "u": factor * (1 - radius**2)}
            cells = (("triangle", Delaunay(unit).simplices.astype(np.int64)),)
            write_mesh(self.raw / f"{number:04d}.vtu", Mesh(points=unit * axes, cells=cells, point_data=fields))

    def read(self, split, samples):
        first = 0 if split == "train" else self.train  # a test sample is never trained on
        return Ellipses([self.raw / f"{number:04d}.vtu" for number in range(first, first + samples)])


DATASETS["ellipses"] = EllipsesOptions


# [layer]
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax


class PowerAttention(MessagePassing):
    """Averages, with weights (1 + |p_i - p_j|^2 / length^2)^-power that add up to one."""

    def __init__(self, in_channels, out_channels, length=0.1):
        super().__init__(aggr="add")
        self.value = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.length = torch.nn.Parameter(torch.tensor(length))
        self.power = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x, pos, edge_index):
        source, target = edge_index
        squared_distance = (pos[source] - pos[target]).square().sum(-1)
        logits = -self.power * torch.log1p(squared_distance / self.length**2)
        weights = softmax(logits, target, num_nodes=len(pos))
        return self.propagate(edge_index, x=self.value(x), weights=weights)

    def message(self, x_j, weights):
        return weights.unsqueeze(-1) * x_j


# [model]
from pitgeo.data.transforms import AttentionGraphs, Compose
from pitgeo.models import MODELS
from pitgeo.models.model_options import ModelOptions
from pitgeo.nn import ResidualBlock


class PowerNetwork(torch.nn.Module):
    """Residual blocks round ``PowerAttention``, among the points of a sample."""

    def __init__(self, in_channels, out_channels, channels, layers, graphs, length):
        super().__init__()
        self.graphs = graphs
        self.lift = torch.nn.Linear(in_channels, channels)
        self.blocks = torch.nn.ModuleList(
            ResidualBlock(PowerAttention(channels, channels, length), channels) for _ in range(layers)
        )
        self.head = torch.nn.Linear(channels, out_channels)

    def forward(self, data):
        data = self.graphs(data)  # builds what is missing, as for other points than those trained on
        edge_index = data.graph("output").edge_index
        pos, _ = data.points("input")
        x = self.lift(torch.cat([pos.expand(*data.x.shape[:-1], -1), data.x], -1))
        for block in self.blocks:
            x = block(x, x, pos, edge_index)
        return self.head(x)


class PowerOptions(ModelOptions):
    """Options of ``model.name = "power"``."""

    channels: PositiveInt = 16
    layers: PositiveInt = 2
    quantile: float = 0.2

    @property
    def graphs(self):
        return AttentionGraphs(encoder=None, decoder=None, output=self.quantile)

    def transform(self):
        return Compose((self.graphs,))

    def build(self, spec):
        length = 2 * spec.spacing
        return PowerNetwork(spec.in_channels, spec.out_channels, self.channels, self.layers, self.graphs, length)


MODELS["power"] = PowerOptions


# [checks]
from torch_geometric.data import Data

from pitgeo.graphs.neighbors import knn
from pitgeo.testing import (
    assert_batch_independent,
    assert_dataset,
    assert_gradients,
    assert_linear_in_values,
    assert_parameters_used,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)

options = EllipsesOptions(train=4, validation=1, test=2, generate=6, points=60)
options.prepare(progress=False)
for part in (options.read("train", options.train), options.test_samples()):
    assert_dataset(part)

pos = torch.rand(30, 2).double()
sample = Data(x=torch.rand(30, 3).double(), pos=pos, edge_index=knn(pos, pos, 6).edge_index)
layer = PowerAttention(3, 4).double()
assert_permutation_equivariant(layer, sample)
assert_rigid_motion_invariant(layer, sample)
assert_linear_in_values(layer, sample)
assert_gradients(layer, sample)

model_options = PowerOptions(channels=8)
model = PowerNetwork(3, 1, 8, 2, model_options.graphs, length=0.1)
samples = options.training_parts()[0].with_transform(model_options.transform())
assert_permutation_equivariant(model, samples[0])
assert_batch_independent(model, samples)
assert_parameters_used(model, samples[0])


# [run]
from pathlib import Path

from pitgeo import load
from pitgeo.cli import main

assert main(["train", "ellipses.toml", "--quiet"]) == 0
predictor = load(Path("runs/ellipses/best.ckpt"))
print(predictor.predict(options.test_samples()[0]).shape)
# [end]
