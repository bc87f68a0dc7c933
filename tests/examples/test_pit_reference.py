"""The method in one file is pitgeo's: outputs and gradients, of the paper's network and of the default."""

from pathlib import Path

import numpy as np
import pytest
import torch

from examples.pit_reference import PiT, PositionAttention, farthest_points
from pitgeo import PiT as LibraryPiT
from pitgeo import PointData
from pitgeo.data.transforms import AttentionGraphs
from pitgeo.graphs import sampling
from pitgeo.graphs.metric import Metric
from pitgeo.nn import Body

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "pit_reference.py"
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.npz"))


def test_it_is_one_short_file_of_plain_torch():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    imports = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imports == {"math", "typing", "torch"}


CASES = {
    "default": {},
    "default in space": {"axes": 3, "moments": 3},
    "default with a period": {"axes": 2, "period": (1.0, 0.0)},
    "default on a periodic line": {"axes": 1, "moments": 1, "period": (1.0,), "divisor": 0.25, "output": 0.08},
    "paper": {"moments": 0, "divisor": 2.0},
    "paper, tangent": {"moments": 0, "positivity": "tan", "output": 0.1},
    "paper, sine": {"moments": 0, "positivity": "sine_tan"},
    "paper, blocks on one mesh": {"moments": 0, "block": True},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("grid", [False, True], ids=["random", "with ties"])
def test_outputs_and_gradients_are_those_of_the_library(case, grid):
    axes, moments, period = case.get("axes", 2), case.get("moments", 2), case.get("period", ())
    form, block, output = case.get("positivity", "square"), case.get("block", False), case.get("output")
    metric = Metric(period, case.get("divisor", 1.0))
    number = {1: 60, 2: 8, 3: 4}[axes]
    line = torch.arange(number, dtype=torch.float64) / number
    pos = torch.cartesian_prod(*[line] * axes).reshape(-1, axes) if grid else torch.rand(64, axes).double()
    latent = pos if block else pos[sampling.farthest_points(pos, 20, metric)]
    out = pos if block else torch.rand(30, axes).double()
    kind = "block" if block else "layer"
    library = LibraryPiT(
        axes + 2,
        3,
        channels=16,
        heads=2,
        graphs=AttentionGraphs(0.1, 0.2, output, metric),
        body=Body(2, kind, kind, positivity=form, moments=moments),
    ).double()
    for parameter in library.parameters():  # none may stay zero
        parameter.data += 0.1 * torch.rand_like(parameter)
    quantiles = (0.1, 0.2) if output is None else (0.1, 0.2, output)
    options = {"period": period, "divisor": metric.divisor, "form": form}
    mine = PiT(axes + 2, 3, 16, 2, quantiles, 2, moments, block, **options).double()
    mine.load_state_dict(library.state_dict())

    x = torch.rand(len(pos), 2).double().requires_grad_()
    theirs = x.detach().clone().requires_grad_()
    data = PointData(pos=pos, x=theirs) if block else PointData(pos=pos, x=theirs, pos_latent=latent, pos_out=out)
    found, expected = mine(x, pos, latent, out), library(data)
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-10)
    weights = torch.rand_like(found)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    assert torch.allclose(x.grad, theirs.grad, rtol=1e-8, atol=1e-10)
    gradients = {name: parameter.grad for name, parameter in library.named_parameters()}
    for name, parameter in mine.named_parameters():
        assert torch.allclose(parameter.grad, gradients[name], rtol=1e-7, atol=1e-9), name


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_layer_is_the_authors(path):
    with np.load(path) as file:
        facts = {name: torch.from_numpy(file[name]) for name in file}
    samples, _, channels = facts["values"].shape
    heads, quantile = len(facts["lambda_effective"]), float(facts["quantile"])
    period = tuple(facts["period"].tolist())
    layer = PositionAttention(heads * channels, heads, None if quantile == 1 else quantile, period=period)
    layer.value.weight.data = torch.eye(heads * channels)  # every head acts on the raw values
    layer.scale["raw"].data = facts["lambda_effective"].sqrt()
    values = facts["values"].clone().requires_grad_()
    meshes = [facts[name].expand(samples, *facts[name].shape[-2:]) for name in ("source", "target")]
    parts = zip(values, *meshes, strict=True)
    out = torch.stack([layer(x.repeat(1, heads), source, target) for x, source, target in parts])
    out.backward(facts["grad_output"])
    for mine, theirs in ((out, facts["output"]), (values.grad, facts["grad_values"])):
        assert float((mine - theirs).detach().abs().max() / theirs.abs().max()) < 1e-5


def test_latent_points_are_those_of_the_library():
    pos = torch.rand(200, 3).double()
    assert torch.equal(farthest_points(pos, 30), pos[sampling.farthest_points(pos, 30)])
