"""The grid that an FNO's values are interpolated to."""

import pytest
import torch
from torch_geometric.data import Batch

from pitgeo.data import PointData
from pitgeo.data.transforms import Compose, GridInterpolation, UnitBox


def test_the_grid_spans_input_and_output_points():
    torch.manual_seed(0)
    data = PointData(pos=torch.rand(30, 2), x=torch.rand(30, 1), pos_out=3 * torch.rand(9, 2) - 1)
    given = list(data.keys())
    made = GridInterpolation((5, 7))(data)
    points = torch.cat([data.pos, data.pos_out])
    assert list(data.keys()) == given  # the caller's sample is as it was
    assert torch.equal(made.pos_latent[0], points.amin(0)) and torch.equal(made.pos_latent[-1], points.amax(0))
    steps = made.pos_latent.reshape(5, 7, 2)
    assert torch.allclose(steps.diff(dim=0)[..., 0], (points.amax(0) - points.amin(0))[0] / 4)
    assert torch.allclose(steps.diff(dim=1)[..., 1], (points.amax(0) - points.amin(0))[1] / 6)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_neighbours_are_the_nearest(dimension):
    torch.manual_seed(0)
    made = GridInterpolation((4,) * dimension)(PointData(pos=torch.rand(40, dimension)))
    distances = torch.cdist(made.pos_latent.double(), made.pos.double())
    expected = distances.topk(2**dimension, largest=False).indices.sort().values
    assert torch.equal(made.graph("encoder").source.reshape(-1, 2**dimension), expected)


def test_batches_of_unequal_samples_keep_their_own_neighbours():
    torch.manual_seed(0)
    samples = [GridInterpolation((4, 4))(PointData(pos=torch.rand(n, 2) + n)) for n in (3, 20, 11)]
    batch = Batch.from_data_list(samples)
    assert batch.pos_latent.shape == (48, 2) and int(batch.graph("encoder").degree[0]) == 3  # it has no fourth point
    start = 0
    for number, sample in enumerate(samples):
        mine = batch.pos_latent_batch[batch.graph("encoder").target] == number
        assert torch.equal(batch.graph("encoder").source[mine] - start, sample.graph("encoder").source)
        start += sample.num_nodes


def test_its_own_latent_points_give_way_and_the_unit_box_moves_the_grid():
    data = PointData(pos=torch.tensor([[0.0], [4.0]]), pos_latent=torch.tensor([[1.0]]))
    made = Compose((GridInterpolation((3,)), UnitBox(0.25)))(data)
    assert made.pos_latent.flatten().tolist() == [-0.5, 0.0, 0.5]
    assert repr(GridInterpolation((3,))) == "GridInterpolation(cells=(3,))"  # which names a cache


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GridInterpolation(()), "at least 2"),
        (lambda: GridInterpolation((4, 1)), r"at least 2 along every axis \(got \(4, 1\)\)"),
        (lambda: GridInterpolation((4,))(PointData(pos=torch.rand(3, 2))), r"each of 2 axes .* \(got \(4,\)\)"),
        (
            lambda: GridInterpolation((4,))(Batch.from_data_list([PointData(pos=torch.rand(3, 1))] * 2)),
            "before batching",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
