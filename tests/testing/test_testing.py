"""Every assertion passes what is right and finds what is wrong."""

import copy
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

from pitgeo.data import PointData
from pitgeo.data.samples import Samples
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.datasets import Fields, ListedSamples, SharedMesh
from pitgeo.graphs.neighbors import quantile
from pitgeo.nn import PiT, PointwiseMLP, PositionAttention
from pitgeo.testing import (
    assert_batch_independent,
    assert_dataset,
    assert_gradients,
    assert_linear_in_values,
    assert_parameters_used,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)


def graph(size=40, axes=2, dtype=torch.float64):
    """What layers take."""
    pos = torch.rand(size, axes, dtype=dtype)
    edges = quantile(pos, pos, 0.2).edge_index[:, torch.randperm(size)]
    return Data(x=torch.rand(size, 4, dtype=dtype), pos=pos, edge_index=edges, edge_attr=torch.rand(size, 3).to(dtype))


def cloud(size=40, graphs=False, out=False):
    """What models take."""
    pos = torch.rand(size, 2).double()
    data = PointData(pos=pos, x=torch.rand(size, 3).double(), pos_out=torch.rand(9, 2).double() if out else None)
    data = LatentMesh("farthest", number=10)(data)
    return AttentionGraphs(0.1, 0.3)(data) if graphs else data


def attention():
    return PositionAttention(4, 6, heads=2).double()


def pit():
    return PiT(5, 2, channels=8, graphs=AttentionGraphs(0.1, 0.3)).double()


class Wrong(nn.Module):
    """Position-attention with one thing spoilt; ``how`` takes x, pos, the attention's result, and gives another."""

    def __init__(self, how):
        super().__init__()
        self.attention = attention()
        self.how = how

    def forward(self, x, pos, edge_index):
        return self.how(x, pos, self.attention(x, pos, edge_index))


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("out", [False, True])
def test_models_pass(graphs, out):
    samples = [cloud(40, graphs, out), cloud(30, graphs, out)]
    assert_permutation_equivariant(pit(), samples[0])
    assert_batch_independent(pit(), samples)
    assert_parameters_used(pit(), samples[0])


def test_gradients_of_a_model():
    assert_gradients(pit(), cloud(12, graphs=True))


@pytest.mark.parametrize(("dtype", "axes"), [(torch.float64, 1), (torch.float64, 3), (torch.float32, 2)])
def test_layers_pass(dtype, axes):
    layer, samples = attention().to(dtype), [graph(40, axes, dtype), graph(25, axes, dtype)]
    assert_permutation_equivariant(layer, samples[0])
    assert_rigid_motion_invariant(layer, samples[0])
    assert_batch_independent(layer, samples)
    assert_linear_in_values(layer, samples[0])
    assert_gradients(layer, samples[1])
    assert_parameters_used(layer, samples[0])


def test_nothing_is_changed_by_the_assertions():
    layer, sample, model, points = attention(), graph(), pit(), cloud(graphs=True)
    kept = [copy.deepcopy(thing) for thing in (sample, points)]
    random = torch.get_rng_state()
    for check in (assert_permutation_equivariant, assert_gradients, assert_parameters_used, assert_linear_in_values):
        check(layer, sample)
    assert_rigid_motion_invariant(layer, sample)
    for check in (assert_permutation_equivariant, assert_parameters_used):
        check(model, points)
    assert torch.equal(torch.get_rng_state(), random)
    assert all(parameter.grad is None for made in (layer, model) for parameter in made.parameters())
    for before, after in zip(kept, (sample, points), strict=True):
        assert list(before.to_dict()) == list(after.to_dict())
        assert all(torch.equal(value, after[key]) for key, value in before.to_dict().items())


def test_edges_are_shuffled_with_their_attributes_and_other_numbers_of_points_follow():
    def by_edges(x, edge_index, edge_attr, chosen_index):
        sums = torch.zeros_like(x).index_add_(0, edge_index[1], x[edge_index[0]] * edge_attr.sum(1, keepdim=True))
        return sums + x[chosen_index].sum(0)

    sample = graph()
    sample.chosen_index = torch.tensor([3, 8])
    inputs = ("x", "edge_index", "edge_attr", "chosen_index")
    assert_permutation_equivariant(by_edges, sample, inputs)
    with pytest.raises(AssertionError, match="another order"):
        assert_permutation_equivariant(lambda x, e, a, c: by_edges(x, e, a.sort(0).values, c), sample, inputs)


@pytest.mark.parametrize(
    "how",
    [
        lambda x, pos, out: out * torch.arange(len(out))[:, None],
        lambda x, pos, out: out + x[0, 0],
        lambda x, pos, out: out.cumsum(0),
    ],
)
def test_layers_that_see_the_order_of_points_are_found(how):
    with pytest.raises(AssertionError, match=r"Wrong to give points in another order .* at \[\d+, \d+\]: a difference"):
        assert_permutation_equivariant(Wrong(how), graph())


def test_a_model_that_takes_its_graph_for_one_of_other_points_is_found():
    def model(data):
        return data.x[data.graph("decoder").index[: len(data.x)].long()]

    with pytest.raises(AssertionError, match="another order"):
        assert_permutation_equivariant(model, cloud(graphs=True))


def test_absolute_positions_are_found():
    layer = Wrong(lambda x, pos, out: out + 1e-3 * pos[:, :1])
    for motion in ("rigid", "translation"):
        with pytest.raises(AssertionError, match="moved rigidly" if motion == "rigid" else "shifted"):
            assert_rigid_motion_invariant(layer, graph(), motion=motion)
    with pytest.raises(AssertionError, match="moved rigidly"):
        assert_rigid_motion_invariant(pit(), cloud())


def test_directions_are_found_by_turning_alone():
    layer = Wrong(lambda x, pos, out: out + 1e-3 * (pos - pos.mean(0))[:, :1])
    assert_rigid_motion_invariant(layer, graph(), motion="translation")
    with pytest.raises(AssertionError, match="moved rigidly"):
        assert_rigid_motion_invariant(layer, graph())


def test_a_model_may_see_the_handedness_of_a_mesh():
    def area(x, pos, edge_index):  # of the triangle of three neighbouring points: the sign says which way round
        first, second = pos.roll(-1, 0) - pos, pos.roll(-2, 0) - pos
        return (first[:, :1] * second[:, 1:] - first[:, 1:] * second[:, :1]) * x

    assert_rigid_motion_invariant(area, graph())


def test_samples_that_see_one_another_are_found():
    samples = [graph(40), graph(25)]
    with pytest.raises(AssertionError, match=r"sample 0 the same in a batch and alone \(got"):
        assert_batch_independent(Wrong(lambda x, pos, out: out - 1e-3 * out.mean(0)), samples)
    with pytest.raises(AssertionError, match=r"65 rows .* \[40, 25\] \(got 64\)"):
        assert_batch_independent(Wrong(lambda x, pos, out: out[:-1] if len(out) > 40 else out), samples)

    def forgets_the_batch(data):
        hood = quantile(data.pos, data.pos, 0.1)
        return attention()(torch.ones(len(data.pos), 4).double() * data.x[:, :1], data.pos, hood)

    with pytest.raises(AssertionError, match="in a batch"):
        assert_batch_independent(forgets_the_batch, [cloud(40), cloud(30)])


def test_layers_that_take_a_batch_vector():
    def centred(x, batch):
        batch = torch.zeros(len(x), dtype=torch.long) if batch is None else batch
        count = torch.bincount(batch).unsqueeze(1)
        return x - (torch.zeros(len(count), x.shape[1]).to(x).index_add_(0, batch, x) / count)[batch]

    assert_batch_independent(centred, [graph(40), graph(25)], ("x", "batch"))


@pytest.mark.parametrize("how", [lambda x, pos, out: out + 1e-3, lambda x, pos, out: out + 1e-3 * out.square()])
def test_bias_and_curvature_are_found(how):
    with pytest.raises(AssertionError, match="linear in the values"):
        assert_linear_in_values(Wrong(how), graph())


def test_attention_that_looks_at_the_values_is_found():
    def attend(x, pos, edge_index):
        return (x @ x.T).softmax(-1) @ x

    with pytest.raises(AssertionError, match="attend to be linear"):
        assert_linear_in_values(attend, graph())


class _Square(torch.autograd.Function):
    """x squared, with a slope that is too steep by a tenth."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, slope):
        return 2.2 * ctx.saved_tensors[0] * slope


def test_wrong_gradients_are_found_and_named():
    sample = graph(12)
    assert_gradients(Wrong(lambda x, pos, out: out.square()), sample)
    layer = Wrong(lambda x, pos, out: _Square.apply(out))
    for of, name in ((("x",), "'x'"), (("pos",), "'pos'"), ((), "parameter 'attention.value.weight'")):
        with pytest.raises(AssertionError, match=rf"gradient of Wrong in .*{re.escape(name)}"):
            assert_gradients(layer, sample, of=of)
    detached = Wrong(lambda x, pos, out: out + pos.detach().sum())
    assert_gradients(detached, sample, of=("x",))
    with pytest.raises(AssertionError, match="'pos'"):
        assert_gradients(detached, sample)


def test_unused_parameters_are_named():
    layer = Wrong(lambda x, pos, out: out)
    layer.idle = nn.Linear(2, 3)
    with pytest.raises(AssertionError, match=r"\['idle.weight', 'idle.bias'\]"):
        assert_parameters_used(layer, graph())
    layer.idle.requires_grad_(False)
    assert_parameters_used(layer, graph())
    assert_parameters_used(PointwiseMLP(5, 1).double(), Batch.from_data_list([cloud(), cloud(30)]))


def test_what_is_no_result_is_found():
    with pytest.raises(AssertionError, match=r"finite values \(got 160 of 160 others\)"):
        assert_linear_in_values(lambda x, pos, edge_index: x / 0, graph())
    with pytest.raises(AssertionError, match="got tuple"):
        assert_rigid_motion_invariant(lambda x, pos, edge_index: (x, pos), graph())
    with pytest.raises(AssertionError, match=r"each of 40 output points \(got 1\)"):
        assert_permutation_equivariant(lambda x, pos, edge_index: x.sum(0, keepdim=True), graph())


def test_tolerances_are_next_to_the_largest_value():
    layer = Wrong(lambda x, pos, out: 1e6 * (out + 1e-6 * pos[:, :1]))
    assert_rigid_motion_invariant(layer, graph(), tolerance=1e-4)
    with pytest.raises(AssertionError):
        assert_rigid_motion_invariant(layer, graph())


def test_other_layers_of_pyg():
    layer, samples = GCNConv(4, 3).double(), [graph(40), graph(25)]
    assert_permutation_equivariant(layer, samples[0], ("x", "edge_index"))
    assert_batch_independent(layer, samples, ("x", "edge_index"))
    assert_linear_in_values(layer, samples[0], ("x", "edge_index"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assert_permutation_equivariant(pit(), PointData(pos=torch.rand(1, 2))), "two points"),
        (lambda: assert_permutation_equivariant(pit(), PointData(pos=torch.rand(4, 2), grid=(2, 2))), "'grid'"),
        (lambda: assert_rigid_motion_invariant(attention(), graph(), motion="reflection"), "'motion'"),
        (lambda: assert_batch_independent(attention(), [graph()]), "two samples"),
        (lambda: assert_linear_in_values(pit(), PointData(pos=torch.rand(4, 2))), "'x'"),
        (lambda: assert_dataset([]), "two samples"),
    ],
)
def test_samples_that_do_not_suit_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class Least(Samples):
    """A right data set, in the least that it takes."""

    def __init__(self, samples):
        self.all = list(samples)

    def __len__(self):
        return len(self.all)

    def __getitem__(self, index):
        return type(self)(self.all[index]) if isinstance(index, slice) else self.all[index]

    def with_transform(self, transform, progress=False):
        return type(self)(transform(sample) for sample in self)


def clouds(sizes=(20, 30, 25, 15), kind=Least, graphs=True):
    made = []
    for number, size in enumerate(sizes):
        data = PointData(
            pos=torch.rand(size, 2),
            x=torch.rand(size, 3),
            y=torch.rand(8, 1),
            pos_out=torch.rand(8, 2),
            sample_id=number,
        )
        data = LatentMesh("farthest", number=5 + number)(data)
        made.append(AttentionGraphs(0.2, 0.5, 0.5)(data) if graphs else data)
    return kind(made)


def shared():
    random, pos = np.random.default_rng(0), np.linspace(0, 1, 6)[:, None]
    x, y = (random.random((4, 6, channels)).astype(np.float32) for channels in (3, 2))
    return SharedMesh(Fields(pos, (6,), x, y, np.arange(10, 14)), ("a",), ("u", "v"))


def test_right_data_sets_pass():
    assert_dataset(clouds())
    assert_dataset(clouds((4, 4), graphs=False))
    assert_dataset(clouds(kind=ListedSamples))
    assert_dataset(shared())


class InPlace(Least):
    def with_transform(self, transform, progress=False):
        for sample in self:
            sample.pos = transform(sample).pos
        return self


class Forgetful(Least):
    def with_transform(self, transform, progress=False):
        return self


class Loose(Least):
    def __getitem__(self, index):
        return self.all[index]


class Endless(Least):
    def __getitem__(self, index):
        return super().__getitem__(index if isinstance(index, slice) else index % len(self))


class Backwards(Least):
    def __iter__(self):
        return reversed([self[number] for number in range(len(self))])


class Noisy(Least):
    def __getitem__(self, index):
        found = super().__getitem__(index)
        if not isinstance(index, slice):
            found = copy.copy(found)
            found.x = found.x + 1e-3 * torch.randn_like(found.x)
        return found


class Misnumbered(PointData):
    def __inc__(self, key, value, *args, **kwargs):
        return 0 if key == "decoder_index" else super().__inc__(key, value, *args, **kwargs)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (InPlace, "after others have been transformed"),
        (Forgetful, "transformed, to be as it was"),
        (Loose, "slice to be samples of a data set"),
        (list, "derived from pitgeo.datasets.Samples"),
        (Endless, "IndexError for sample 4 of 4"),
        (Backwards, "sample 0 of an iteration"),
        (Noisy, r"'x' of .* a largest difference of 0\.00"),
    ],
)
def test_wrong_data_sets_are_found(kind, message):
    with pytest.raises(AssertionError, match=message):
        assert_dataset(clouds(kind=kind))


def change(**values):
    def apply(sample):
        for name, value in values.items():
            if value is None:
                del sample[name]
            else:
                sample[name] = value

    return apply


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change(x=torch.rand(25, 2)), r"3 as input channels of sample 2, as of sample 0 \(got 2\)"),
        (change(y=torch.rand(8, 2)), "1 as target channels of sample 2"),
        (change(y=None), "sample 2 to have targets"),
        (change(y=torch.full((8, 1), torch.nan)), "'y' of sample 2 to be finite"),
        (change(x=torch.rand(25, 3).double()), "precision of sample 2"),
        (change(x=torch.rand(2, 25, 3)), "sample 2 to be a single one"),
        (change(sample_id=None), "'sample_id'"),
        (change(sample_id=1), r"own 'sample_id', 2 too \(got 1 twice\)"),
    ],
)
def test_a_wrong_sample_is_named(spoil, message):
    samples = clouds()
    spoil(samples[2])
    with pytest.raises(AssertionError, match=message):
        assert_dataset(samples)


def test_numbers_that_are_shifted_wrongly_in_a_batch_are_found():
    samples = Least(Misnumbered(**{**one.to_dict(), "sample_id": n}) for n, one in enumerate(clouds(graphs=False)))
    assert_dataset(samples)  # no graphs: nothing to number
    with pytest.raises(AssertionError, match="decoder graph of a batch"):
        assert_dataset(samples.with_transform(AttentionGraphs(0.2, 0.5, 0.5)))


def test_a_batch_on_the_shared_mesh_of_other_samples_is_found():
    class Shuffled(SharedMesh):
        def batch(self, numbers):
            return super().batch(sorted(numbers))

    good = shared()
    wrong = copy.copy(good)
    wrong.__class__ = Shuffled
    with pytest.raises(AssertionError, match="'x' of a batch on the shared mesh"):
        assert_dataset(wrong)
