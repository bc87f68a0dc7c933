"""Controls on fields whose best control is known."""

import itertools

import numpy as np
import pytest
import torch

from pitgeo.controls import (
    POD,
    LocalRegression,
    MeanField,
    NearestCase,
    Persistence,
    TrainingSet,
    controls_for,
)
from pitgeo.controls.places import PlacedField, unit_places
from pitgeo.controls.pod import PODMap
from pitgeo.data import PointData

POS = torch.rand(30, 2, generator=torch.Generator().manual_seed(0))


def shared(count=12, state=False):
    """Fields ``a x + b``, of numbers of the mesh."""
    made = []
    for number in range(count):
        a, b = torch.rand(2, generator=torch.Generator().manual_seed(number + 1))
        x = torch.stack([a, b]).expand(30, 2)
        y = (a * POS[:, :1] + b) if not state else None
        made.append(PointData(pos=POS, x=x.clone(), y=y, sample_id=number))
    return made


def bent(number, points=60, field=None):
    """A box of another size and place, and points of its own."""
    random = torch.Generator().manual_seed(number + 100)
    size, start = 1 + torch.rand(2, generator=random), 5 * torch.rand(2, generator=random)
    unit = torch.cat([torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.rand(points - 2, 2, generator=random)])
    a = torch.rand(1, generator=random)
    y = field(unit, a) if field else unit[:, :1]
    return PointData(pos=start + size * unit, x=a.expand(points, 1).clone(), y=y)


def off(control, training, samples):
    control.fit(training)
    return max(float((control.predict(s) - s.y).norm() / s.y.norm()) for s in samples)


def names(samples, **given):
    return [type(control).__name__ for control in controls_for(TrainingSet.choose(samples, **given))]


def test_which_controls_apply():
    assert names(shared()) == ["MeanField", "NearestCase", "POD", "POD"]
    assert names([bent(n) for n in range(5)]) == ["MeanField", "NearestCase", "LocalRegression"]
    fields = shared()
    for sample in fields:
        sample.x = torch.rand(30, 2)
    assert names(fields) == ["MeanField", "NearestCase", "POD"]
    assert names(steps(), is_series=True) == ["MeanField", "Persistence", "NearestCase", "POD"]
    for sample in fields:
        sample.x = torch.ones(30, 2)
    assert names(fields) == ["MeanField", "NearestCase"]


def in_a_set(number, place):
    """A sample whose only input is a number at some of the points, and zero elsewhere; its field is that number."""
    a = float(torch.rand(1, generator=torch.Generator().manual_seed(number)))
    x = torch.zeros(30, 1)
    x[place] = a
    return PointData(pos=POS, x=x, y=a * (1 + POS[:, :1]), sample_id=number)


def test_a_number_in_a_set_is_a_number_of_the_mesh():
    samples = [in_a_set(number, [3, 4]) for number in range(12)]
    samples[5].x[:], samples[5].y[:] = 0.0, 0.0  # where it is zero no set is seen
    assert names(samples) == ["MeanField", "NearestCase", "POD", "POD"]
    training = TrainingSet.choose(samples[:10])
    assert off(POD("rbf"), training, samples[10:]) < 1e-5 and off(POD("gp"), training, samples[10:]) < 1e-4
    samples[2].x[9] = samples[2].x[3]  # of another set in one file
    assert names(samples) == ["MeanField", "NearestCase", "POD"]


def test_a_pod_of_earlier_checkpoints_is_loaded():
    training = TrainingSet.choose(shared())
    control = POD("rbf")
    control.fit(training)
    state = {name: values for name, values in control.map.state_dict().items() if name != "inputs.place"}
    assert len(state) == len(control.map.state_dict()) - 1
    again = PODMap(2, interpolation="rbf")
    again.load_state_dict(state)
    assert torch.equal(again(training.x), control.map(training.x))


def test_a_local_regression_knows_a_number_in_a_set_elsewhere():
    samples = [bent(number, field=lambda unit, a: a * (1 + unit[:, :1])) for number in range(60)]
    errors = []
    for place in (60, 2):  # everywhere, and at the corners alone
        for sample in samples:
            sample.x = sample.x * (torch.arange(60) < place)[:, None]
        errors.append(off(LocalRegression(), TrainingSet.choose(samples[:50]), samples[50:]))
    assert abs(errors[1] / errors[0] - 1) < 0.05


def test_the_mean_field_on_one_mesh():
    samples = shared()
    control = MeanField()
    control.fit(TrainingSet.choose(samples))
    assert torch.allclose(control.predict(samples[3]), torch.stack([s.y for s in samples]).mean(0))


def test_the_mean_field_over_meshes_that_differ():
    """All fields are one function of the place in the box: their mean is that, but for the spacing of the points."""
    samples = [bent(n, 400) for n in range(12)]
    assert off(MeanField(), TrainingSet.choose(samples[:10]), samples[10:]) < 0.06
    scaled = [bent(n, 400, lambda unit, a: a * unit[:, :1] + 1) for n in range(12)]
    control = MeanField()
    control.fit(TrainingSet.choose(scaled[:10]))
    mean = torch.stack([s.x[0, 0] for s in scaled[:10]]).mean()
    unit = torch.from_numpy(unit_places(scaled[11])).float()
    assert torch.allclose(control.predict(scaled[11]), mean * unit[:, :1] + 1, atol=0.1)


def test_the_nearest_case_is_by_scaled_inputs():
    samples = shared()
    for sample in samples:
        sample.x = sample.x * torch.tensor([1.0, 1e4])
    control = NearestCase()
    control.fit(TrainingSet.choose(samples))
    assert torch.equal(control.predict(samples[4]), samples[4].y)
    new = shared(40)[-1]
    inputs = torch.stack([s.x[0] for s in samples])
    spread = inputs.std(0, correction=0)
    new.x = new.x * torch.tensor([1.0, 1e4])
    near = int(((inputs - new.x[0]) / spread).square().sum(1).argmin())
    assert torch.equal(control.predict(new), samples[near].y)


def test_the_nearest_case_carries_its_field_over_by_place():
    field = lambda unit, a: (a > 0.5).float() + unit[:, :1]  # noqa: E731
    samples = [bent(n, 400, field) for n in range(8)]
    control = NearestCase()
    control.fit(TrainingSet.choose(samples))
    own = control.predict(samples[2])
    assert torch.allclose(own, samples[2].y)
    features = control.features
    assert features.shape == (8, 10) and torch.allclose(features.mean(0), torch.zeros(10), atol=1e-5)


def test_samples_that_nothing_tells_apart_have_no_nearest():
    same = [shared()[0] for _ in range(4)]
    with pytest.raises(ValueError, match=r"Expected training samples that differ"):
        NearestCase().fit(TrainingSet.choose(same))


def test_a_pod_of_linear_fields_is_exact():
    samples = shared(20)
    for how in ("rbf", "gp"):
        assert off(POD(how), TrainingSet.choose(samples[:15]), samples[15:]) < 1e-5
        assert off(MeanField(), TrainingSet.choose(samples[:15]), samples[15:]) > 0.1


def test_a_local_regression_finds_a_function_of_place_and_inputs():
    field = lambda unit, a: torch.where(unit[:, :1] > 0.5, a, -a) + 2  # noqa: E731
    samples = [bent(n, 200, field) for n in range(30)]
    training = TrainingSet.choose(samples[:25])
    local, nearest = (off(control, training, samples[25:]) for control in (LocalRegression(), NearestCase()))
    assert local < 0.1 and local < nearest / 2
    many = [bent(n, 10, lambda unit, a: unit[:, :1].repeat(1, 13)) for n in range(3)]
    with pytest.raises(ValueError, match=r"at most 12 target channels \(got 13\)"):
        LocalRegression().fit(TrainingSet.choose(many))


def test_a_local_regression_takes_a_displacement_and_a_stress_together():
    field = lambda unit, a: torch.cat([a * (k + 1) * unit[:, :1] for k in range(9)], 1)  # noqa: E731
    samples = [bent(n, 200, field) for n in range(30)]
    training = TrainingSet.choose(samples[:25])
    assert off(LocalRegression(), training, samples[25:]) < off(MeanField(), training, samples[25:]) / 2


def test_values_at_output_points_of_their_own():
    samples = []
    for number in range(20):
        sample = bent(number, 200)
        out = sample.pos[:50].clone()
        sample.set_points("out", out)
        sample.y = torch.cat([sample.x[:50], torch.from_numpy(unit_places(sample)).float()[:, :1] + 1], 1)
        samples.append(sample)
    training = TrainingSet.choose(samples[:18])
    assert off(LocalRegression(), training, samples[18:]) < 0.1
    assert NearestCase().fit(training) is None


def steps(cases=4, count=6, factor=0.9):
    """A state that shrinks by one factor a step, from another start in each case."""
    made = []
    for case in range(cases):
        start = torch.rand(30, 1, generator=torch.Generator().manual_seed(case + 7)) + 1
        states = [start * factor**k for k in range(count + 1)]
        made += [PointData(pos=POS, x=a, y=b) for a, b in itertools.pairwise(states)]
    return made


def test_persistence_keeps_the_state():
    control, samples = Persistence(), steps()
    control.fit(TrainingSet.choose(samples, is_series=True))
    assert torch.equal(control.predict(samples[3]), samples[3].x)
    assert torch.equal(control.roll_out(samples[3], 3), samples[3].x.repeat(1, 3))
    with pytest.raises(ValueError, match=r"Expected time series"):
        Persistence().fit(TrainingSet.choose(shared()))


def test_persistence_of_benchmarks_that_are_rolled_out():
    sample = PointData(pos=POS, x=torch.rand(30, 4), y=torch.rand(30, 5))
    control = Persistence()
    control.fit(TrainingSet.choose([sample, sample], horizon=5))
    assert torch.equal(control.predict(sample), sample.x[:, -1:].repeat(1, 5))


def test_a_pod_of_the_change_rolls_out_a_linear_system():
    samples = steps(6)
    control = POD("rbf", has_fields=True)
    control.fit(TrainingSet.choose(samples[:30], is_series=True))
    rolled = control.roll_out(samples[30], 4)
    expected = torch.cat([samples[30].x * 0.9 ** (k + 1) for k in range(4)], 1)
    kept = Persistence()
    kept.fit(TrainingSet.choose(samples, is_series=True))
    error, other = ((found - expected).norm() for found in (rolled, kept.roll_out(samples[30], 4)))
    assert error < 0.3 * other


def test_many_or_large_samples_are_chosen_from_evenly(monkeypatch):
    monkeypatch.setattr("pitgeo.controls.training_set.MOST_SAMPLES", 4)
    training = TrainingSet.choose(shared(12))
    assert [int(sample.sample_id) for sample in training.samples] == [0, 3, 6, 9]
    assert training.note == "fitted to 4 of 12 samples" and len(training.half().samples) == 2
    monkeypatch.setattr("pitgeo.controls.training_set.MOST_VALUES", 30 * 3 * 3)
    monkeypatch.setattr("pitgeo.controls.training_set.LEAST_SAMPLES", 2)
    assert len(TrainingSet.choose(shared(12)).samples) == 3


def test_values_are_carried_from_known_places_only():
    places = np.array([[0.0], [0.4], [1.0]])
    values = torch.tensor([[1.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    mask = torch.tensor([[True, False], [False, True], [True, False]])
    found = PlacedField(places, values, mask).at(np.array([[0.35], [0.9]]))
    assert found.tolist() == [[1.0, 5.0], [3.0, 5.0]]


def test_no_sample_is_refused():
    with pytest.raises(ValueError, match=r"Expected training samples to fit controls to"):
        TrainingSet.choose([])


def test_shapes_alone_tell_samples_apart():
    samples = [bent(n, 100) for n in range(6)]
    for sample in samples:
        sample.x = sample.x[:, :0]
    control = NearestCase()
    control.fit(TrainingSet.choose(samples))
    assert torch.allclose(control.predict(samples[1]), samples[1].y)


def test_positions_far_away_are_about_the_origin_of_all():
    samples = [bent(n, 100) for n in range(6)]
    control, same = NearestCase(), NearestCase()
    same.fit(TrainingSet.choose(samples))
    moved = []
    for sample in samples:
        origin = torch.round(sample.pos.mean(0, keepdim=True).double())
        other = PointData(pos=(sample.pos - origin).float(), x=sample.x, y=sample.y)
        other.origin = origin
        moved.append(other)
    control.fit(TrainingSet.choose(moved))
    assert torch.allclose(control.features, same.features, atol=1e-3)
