"""Learning rates, step by step, against their formulas."""

import math

import pytest
import torch

from pitgeo.config.config import TrainingConfig
from pitgeo.training.schedules import make_schedule

STEPS, RATE = 40, 0.5


def made(schedule, warmup=None, kind=torch.optim.SGD, total=STEPS):
    optimizer = kind([torch.zeros(1, requires_grad=True)], lr=RATE)
    training = TrainingConfig(schedule=schedule, warmup=warmup, learning_rate=RATE)
    return make_schedule(training, optimizer, total), optimizer


def rates(schedule, warmup=None, steps=STEPS, total=STEPS):
    scheduler, optimizer = made(schedule, warmup, total=total)
    result = []
    for _ in range(steps):
        result += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    return result


def test_a_cosine_falls_to_zero():
    expected = [RATE * (1 + math.cos(math.pi * step / STEPS)) / 2 for step in range(STEPS)]
    assert rates("cosine") == pytest.approx(expected)
    assert rates("cosine", 0.0) == rates("cosine")


def test_a_warm_up_rises_in_equal_parts_to_the_cosine_of_the_other_steps():
    rising = [RATE * (step + 1) / 11 for step in range(10)]
    falling = [RATE * (1 + math.cos(math.pi * step / 30)) / 2 for step in range(30)]
    assert rates("cosine", 0.25) == pytest.approx(rising + falling)
    assert rates("cosine", 0.25, STEPS + 1)[-1] == pytest.approx(0, abs=1e-9)


def test_a_constant_rate_is_constant_after_its_warm_up():
    assert rates("constant") == [RATE] * STEPS
    assert rates("constant", 0.1) == pytest.approx([0.1, 0.2, 0.3, 0.4] + [RATE] * 36)


@pytest.mark.parametrize(("warmup", "peak"), [(None, 11), (0.3, 11), (0.1, 3)])
def test_one_cycle_peaks_where_its_warm_up_ends(warmup, peak):
    values = rates("one_cycle", warmup)
    assert values[0] == pytest.approx(RATE / 25)
    assert max(range(STEPS), key=values.__getitem__) == peak
    assert values[peak] == pytest.approx(RATE)
    assert values == sorted(values[:peak]) + sorted(values[peak:], reverse=True)


@pytest.mark.parametrize("warmup", [None, 0.0, 0.5, 0.99])
@pytest.mark.parametrize("schedule", ["cosine", "one_cycle", "constant"])
def test_a_run_of_one_step_has_the_whole_rate(schedule, warmup):
    scheduler, optimizer = made(schedule, warmup, torch.optim.AdamW, total=1)
    assert scheduler.get_last_lr() == [RATE] and optimizer.param_groups[0]["lr"] == RATE
    optimizer.step()
    scheduler.step()


LOW = 4e-6


@pytest.mark.parametrize(
    ("schedule", "warmup", "total", "expected"),
    [
        ("one_cycle", None, 2, [1, LOW]),
        ("one_cycle", None, 3, [1, (1 + LOW) / 2, LOW]),
        ("one_cycle", 0.0, 2, [1, LOW]),
        ("one_cycle", 0.0, 5, [LOW + (1 - LOW) * (1 + math.cos(math.pi * k / 4)) / 2 for k in range(5)]),
        ("one_cycle", 0.2, 5, [LOW + (1 - LOW) * (1 + math.cos(math.pi * k / 4)) / 2 for k in range(5)]),
        ("one_cycle", 0.99, 2, [1, LOW]),
        ("one_cycle", 0.99, 3, [0.04, 1, LOW]),
        ("one_cycle", 0.75, 4, [0.04, 0.52, 1, LOW]),
        ("cosine", None, 2, [1, 0.5]),
        ("cosine", 0.5, 2, [0.5, 1]),
        ("cosine", 0.99, 2, [0.5, 1]),
        ("constant", None, 2, [1, 1]),
        ("constant", 0.5, 2, [0.5, 1]),
    ],
)
def test_short_runs(schedule, warmup, total, expected):
    assert rates(schedule, warmup, total, total) == pytest.approx([RATE * factor for factor in expected], rel=1e-6)


@pytest.mark.parametrize("total", [2, 3, 40])
def test_one_cycle_without_a_rise_moves_the_momentum_one_way(total):
    scheduler, optimizer = made("one_cycle", 0.0, torch.optim.AdamW, total)
    momenta = []
    for _ in range(total):
        momenta.append(optimizer.param_groups[0]["betas"][0])
        optimizer.step()
        scheduler.step()
    assert momenta == pytest.approx([0.9 - 0.05 * math.cos(math.pi * k / (total - 1)) for k in range(total)])


def test_one_cycle_moves_the_momentum_of_an_optimiser_that_has_betas():
    _, optimizer = made("one_cycle", kind=torch.optim.AdamW)
    assert optimizer.param_groups[0]["betas"][0] == 0.95


@pytest.mark.parametrize("schedule", ["cosine", "one_cycle", "constant"])
def test_a_schedule_goes_on_where_it_stopped(schedule):
    whole = rates(schedule, 0.25)
    scheduler, optimizer = made(schedule, 0.25)
    for _ in range(7):
        optimizer.step()
        scheduler.step()
    kept, weights = scheduler.state_dict(), optimizer.state_dict()
    scheduler, optimizer = made(schedule, 0.25)
    optimizer.load_state_dict(weights)
    scheduler.load_state_dict(kept)
    for step in range(7, STEPS - 1):
        assert scheduler.get_last_lr() == [pytest.approx(whole[step])]
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("share", [0.0, 1 / STEPS, 0.99])
@pytest.mark.parametrize("schedule", ["cosine", "one_cycle", "constant"])
def test_a_warm_up_of_no_one_or_nearly_all_steps(schedule, share):
    values = rates(schedule, share)
    assert max(values) == pytest.approx(RATE, rel=0.01)
    assert all(0 <= value <= RATE for value in values)


def test_a_constant_schedule_of_an_earlier_version_goes_on():
    scheduler, _ = made("constant")
    kept = torch.optim.lr_scheduler.ConstantLR(torch.optim.SGD([torch.zeros(1)], lr=RATE), factor=1.0).state_dict()
    scheduler.load_state_dict(kept)
    assert scheduler.get_last_lr() == [RATE]


@pytest.mark.parametrize("share", [1.0, -0.1])
def test_a_warm_up_that_is_no_share_is_refused(share):
    with pytest.raises(ValueError, match="warmup"):
        TrainingConfig(warmup=share)
