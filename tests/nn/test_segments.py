"""Sums and minima over segments against loops, and against torch-scatter where it is installed."""

import pytest
import torch

from pitgeo.nn.kernels import segments
from pitgeo.nn.kernels.segments import at_edges, segment_minima, segment_sums

POINTER = torch.tensor([0, 3, 3, 4, 9, 9])
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def rows(values: torch.Tensor) -> list[torch.Tensor]:
    return [values[..., a:b] for a, b in zip(POINTER.tolist(), POINTER[1:].tolist(), strict=False)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_sums_and_minima_are_those_of_a_loop(shape, dtype):
    values = torch.randn(*shape, 9).to(dtype)
    sums = torch.stack([row.double().sum(-1) for row in rows(values)], -1)
    minima = torch.stack([row.amin(-1) if row.shape[-1] else row.sum(-1) for row in rows(values)], -1)
    assert torch.allclose(segment_sums(values, POINTER).double(), sums, rtol=torch.finfo(dtype).eps * 4, atol=1e-2)
    assert torch.equal(segment_minima(values, POINTER), minima)
    assert torch.equal(at_edges(minima, POINTER), minima[..., [0, 0, 0, 2, 3, 3, 3, 3, 3]])


def test_no_edges_at_all():
    nothing = torch.zeros(4, dtype=torch.long)
    assert torch.equal(segment_sums(torch.zeros(2, 0), nothing), torch.zeros(2, 3))
    assert torch.equal(segment_minima(torch.zeros(0), nothing), torch.zeros(3))
    assert at_edges(torch.zeros(2, 3), nothing).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_scatter_gives_the_same(dtype):
    scatter = pytest.importorskip("torch_scatter", exc_type=ImportError)
    pointer = torch.cat([torch.zeros(1, dtype=torch.long), torch.randint(0, 40, (500,)).cumsum(0)])
    values = torch.randn(2, int(pointer[-1]), dtype=dtype)
    for ours, how in ((segment_sums, "sum"), (segment_minima, "min")):
        assert torch.equal(ours(values, pointer), scatter.segment_csr(values, pointer.expand(2, -1), reduce=how))
        assert torch.equal(ours(values[0], pointer), scatter.segment_csr(values[0], pointer, reduce=how))
    sums = segment_sums(values, pointer)
    assert torch.equal(at_edges(sums, pointer), scatter.gather_csr(sums, pointer.expand(2, -1)))


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_an_extension_that_is_missing_or_broken_is_done_without(error, monkeypatch):
    def refuse(name: str) -> None:
        raise error("undefined symbol: _ZN3c10")

    monkeypatch.setattr(segments.importlib, "import_module", refuse)
    monkeypatch.setattr(segments, "torch_scatter", segments.torch_scatter.__wrapped__)
    assert segments.torch_scatter() is None
    assert segment_sums(torch.ones(9), POINTER).tolist() == [3, 0, 1, 5, 0]
