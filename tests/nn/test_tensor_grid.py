"""Global attention on tensor grids, by one axis after the other, against the dense form."""

import pytest
import torch

from pitgeo.graphs.metric import Metric
from pitgeo.nn import GlobalPositionAttention
from pitgeo.nn.kernels.tensor_grid import TensorGrid


def grid(*sizes, order=None, dtype=torch.float64):
    """A grid of uneven spacing, whose dimensions run along the axes of ``order``."""
    torch.manual_seed(0)
    lines = [torch.rand(size, dtype=dtype) for size in sizes]
    points = torch.cartesian_prod(*lines)
    return points[:, list(order)] if order else points


@pytest.mark.parametrize(
    ("sizes", "order", "axes"),
    [((5, 3), None, (0, 1)), ((5, 3), (1, 0), (1, 0)), ((4, 4), (1, 0), (1, 0)), ((2, 3, 4), (2, 0, 1), (1, 2, 0))],
)
def test_grids_are_found_in_any_order_of_their_axes(sizes, order, axes):
    found = TensorGrid.of(grid(*sizes, order=order))
    assert found == TensorGrid(sizes, axes)
    assert found.fits(grid(*sizes, order=order)) and not found.fits(grid(*sizes, order=order)[1:])


def test_other_points_are_no_grid():
    points = grid(4, 3)
    moved = points.clone()
    moved[5, 0] += 1e-12
    shuffled = points[torch.randperm(12, generator=torch.Generator().manual_seed(1))]
    for other in (moved, shuffled, points[:-1], points[:, :1], torch.rand(12, 2), torch.cat([points, points])):
        assert TensorGrid.of(other) is None
    assert TensorGrid.of(torch.rand(1, 2)) is None and TensorGrid.of(torch.rand(0, 2)) is None
    assert TensorGrid.of(torch.cartesian_prod(torch.arange(4.0), torch.zeros(1))) is None  # a line


@pytest.mark.parametrize(
    ("sizes", "order", "metric"),
    [
        ((7, 5), None, Metric(divisor=2.0)),
        ((7, 5), (1, 0), Metric((0.0, 1.0), 0.5)),
        ((4, 4), (1, 0), Metric((1.0, 1.5))),
        ((3, 4, 2), (2, 0, 1), Metric()),
    ],
)
@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_values_and_gradients_are_those_of_the_dense_form(sizes, order, metric, moments, dtype, tolerance):
    pos = grid(*sizes, order=order)
    options = {"heads": 4, "metric": metric, "moments": len(sizes) if moments else 0}
    made, dense = (GlobalPositionAttention(6, 12, backend=way, **options).double() for way in ("auto", "dense"))
    made.scale.raw.data.copy_(torch.tensor([0.0, 1.0, 3.0, 100.0]))
    dense.load_state_dict(made.state_dict())
    x = torch.rand(3, len(pos), 6, dtype=torch.float64, requires_grad=True)
    direction = torch.rand(3, len(pos), 12, dtype=torch.float64)
    slow = dense(x, pos)
    theirs = torch.autograd.grad(slow, [x, *dense.parameters()], direction)
    made.to(dtype)
    x = x.detach().to(dtype).requires_grad_()
    out = made(x, pos.to(dtype))
    assert made.grid is not None and made.grid.sizes == sizes
    assert float((out - slow).detach().abs().max() / slow.detach().abs().max()) < tolerance
    mine = torch.autograd.grad(out, [x, *made.parameters()], direction.to(dtype))
    for one, other in zip(mine, theirs, strict=True):
        assert float((one - other).abs().max()) <= 10 * tolerance * float(other.abs().max())


def test_masks_and_gradients_of_positions_take_another_form():
    made = GlobalPositionAttention(3, 4, heads=2, moments=2).double()
    x, pos, mask = torch.rand(2, 12, 3).double(), grid(4, 3), torch.arange(12) < torch.tensor([[12], [5]])
    made(x, pos)
    assert made.grid is not None
    for given in ((x, pos, mask), (x, pos.clone().requires_grad_(), None), (x, pos[torch.arange(11, -1, -2)], None)):
        made(given[0][:, : len(given[1])], *given[1:])
        assert made.grid is None
    made(x, pos.expand(2, -1, -1))  # every sample has its own mesh
    assert made.grid is None
    made(x, pos)
    made(x, other := grid(3, 4))
    assert made.grid == TensorGrid.of(other)
    made.backend = "dense"
    made(x, pos)
    assert made.grid is None


def test_second_derivatives():
    made = GlobalPositionAttention(2, 2, moments=2).double()

    def call(x, raw):
        return torch.func.functional_call(made, {"scale.raw": raw}, (x, pos))

    x, pos, raw = torch.rand(1, 6, 2).double().requires_grad_(), grid(3, 2), torch.tensor([1.3]).double()
    assert torch.autograd.gradgradcheck(call, (x, raw.requires_grad_()))


def test_bfloat16_autocast_keeps_geometry_in_single_precision():
    made, pos = GlobalPositionAttention(16, 16, heads=2, lengths=(0.05, 0.5), moments=2), grid(9, 8, dtype=torch.float)
    x = torch.rand(2, 72, 16)
    exact = made(x, pos)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = made(x, pos)
    assert out.dtype == torch.bfloat16
    assert float((out - exact).detach().abs().max()) < 0.03 * float(exact.detach().abs().max())


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the compiler looks
def test_compiled_code_gives_the_same():
    torch._dynamo.reset()
    made, pos = GlobalPositionAttention(3, 4, heads=2, moments=2), grid(4, 3, dtype=torch.float)
    x = torch.rand(2, 12, 3)
    out = made(x, pos)
    compiled = torch.compile(made, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(x, pos), out, atol=1e-6)
    with pytest.raises(RuntimeError, match="Expected positions on the grid"):
        compiled(x, torch.rand(12, 2))
