"""Dense batches hold every sample as it is alone, and give rows back in the order they came."""

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.models.dense_points import DensePoints

MODEL = torch.nn.Linear(5, 1)


def sample(points: int, outputs: int | None = None) -> PointData:
    pos_out = None if outputs is None else torch.rand(outputs, 2)
    return PointData(pos=torch.rand(points, 2), x=torch.rand(points, 3), pos_out=pos_out)


@pytest.mark.parametrize("outputs", [(None, None), (4, 7)])
@pytest.mark.parametrize("sizes", [(5, 5), (3, 6)])
def test_a_batch_holds_every_sample(sizes, outputs):
    samples = [sample(*both) for both in zip(sizes, outputs, strict=True)]
    points = DensePoints.of(Batch.from_data_list(samples), 5, MODEL)
    assert points.coincide == (outputs[0] is None)
    for number, one in enumerate(samples):
        inside = slice(0, one.num_nodes)
        assert torch.equal(points.features[number, inside], torch.cat([one.pos, one.x], -1))
        assert not points.features[number, one.num_nodes :].any()
        assert points.mask is None or int(points.mask[number].sum()) == one.num_nodes
    wanted = torch.cat([one.points("output")[0] for one in samples])
    assert torch.equal(points.rows(points.pos_out), wanted)


def test_samples_on_a_shared_mesh():
    data = PointData(pos=torch.rand(4, 2), x=torch.rand(3, 4, 3), pos_out=torch.rand(6, 2))
    points = DensePoints.of(data, 5, MODEL)
    assert points.features.shape == (3, 4, 5) and points.pos_out.shape == (3, 6, 2) and points.mask is None
    assert torch.equal(points.rows(points.pos_out[..., :1]), points.pos_out[..., :1])


def test_other_channels_are_refused():
    with pytest.raises(ValueError, match=r"Expected 4 input channels.*\(got 2 coordinates and 3 values\)"):
        DensePoints.of(sample(5), 4, MODEL)
