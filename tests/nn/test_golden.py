"""Agreement with outputs and gradients of the authors' own layers, ties and periodic domains among them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.graphs.neighbors import quantile
from pitgeo.nn.kernels.expansion import degree_for, expanded_attention
from pitgeo.nn.kernels.fused import fused_attention, position_factors
from pitgeo.nn.position_attention import attend, edge_softmax

FOLDER = Path(__file__).parents[1] / "golden"
FILES = sorted(FOLDER.glob("*.npz"))


class Golden:
    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.facts = {name: torch.from_numpy(file[name]) for name in file}
        self.q = float(self.facts["quantile"])
        self.metric = Metric(tuple(self.facts["period"].tolist()))
        self.scale = self.facts["lambda_effective"].clone().requires_grad_()
        self.values = self.facts["values"].clone().requires_grad_()
        self.shared = self.facts["source"].dim() == 2

    def check(self, output: torch.Tensor) -> None:
        output.backward(self.facts["grad_output"])
        for name, mine in (("output", output), ("grad_values", self.values.grad), ("grad_lambda", self.scale.grad)):
            theirs = self.facts[name]
            assert mine.shape == theirs.shape
            assert float((mine - theirs).detach().abs().max() / theirs.abs().max()) < 1e-5, name


def test_all_files_are_there():
    assert len(FILES) == 7


@pytest.mark.parametrize("path", [path for path in FILES if "global" not in path.name], ids=lambda path: path.stem)
def test_local_attention(path):
    golden = Golden(path)
    heads = len(golden.scale)
    source, target = golden.facts["source"], golden.facts["target"]
    if golden.shared:
        values = golden.values.repeat(1, 1, heads)  # every head acts on the raw values
        graph = quantile(target, source, golden.q, golden.metric)
        assert (graph.degree == golden.facts["neighbours"]).all()
    else:
        samples, n, m = *source.shape[:2], target.shape[1]
        batch = torch.arange(samples).repeat_interleave(n), torch.arange(samples).repeat_interleave(m)
        source, target = source.flatten(0, 1), target.flatten(0, 1)
        values = golden.values.flatten(0, 1).repeat(1, heads)
        graph = quantile(target, source, golden.q, golden.metric, batch[1], batch[0])
        assert (graph.degree.view(samples, 1, m) == golden.facts["neighbours"]).all()
    weights = edge_softmax(
        golden.metric.squared_distance(target[graph.target], source[graph.source]),
        golden.scale,
        graph,
    )
    golden.check(attend(values, weights, graph).view(golden.facts["output"].shape))


def test_global_attention():
    golden = Golden(FOLDER / "irregular_global_2d.npz")
    query, key = position_factors(golden.facts["source"], None, golden.scale, golden.metric)
    values = golden.values.unsqueeze(1).expand(-1, len(golden.scale), -1, -1)
    golden.check(fused_attention(query, key, values, None).transpose(1, 2).flatten(2))


def test_global_attention_by_expansion():
    golden = Golden(FOLDER / "irregular_global_2d.npz")
    point = golden.facts["source"] - golden.facts["source"].mean(-2, keepdim=True)
    heads, channels = len(golden.scale), golden.values.shape[-1]
    degree = degree_for(2 * float(golden.scale.detach().max()) * float(point.square().sum(-1).max()), 1e-7)
    identity = torch.eye(channels).expand(heads, -1, -1)  # every head acts on the raw values
    golden.check(expanded_attention(golden.values, identity, point, golden.scale, degree, None).flatten(2))
