"""The measurement of a training step on a big mesh, on a small one."""

from __future__ import annotations

import pytest
import torch

from pitgeo.studies import big_step
from pitgeo.studies.big_step import BigStep, measure, run_big_step


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_step_is_measured_in_a_process_of_its_own() -> None:
    found = run_big_step(400, 30, 8, query_points=100, checkpoint_activations=True, threads=1, repeat=1)
    assert (found["points"], found["latent"], found["channels"], found["query_points"]) == (400, 30, 8, 100)
    assert 0 < found["imported_mb"] <= found["prepared_mb"] <= found["peak_mb"]
    assert found["growth_mb"] == pytest.approx(found["peak_mb"] - found["imported_mb"])
    assert 0 < found["loss"] < 10 and found["seconds"] > 0 and found["cpu_seconds"] > 0


def test_the_options_reach_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = big_step._prepared
    monkeypatch.setattr(big_step, "_prepared", lambda settings: made.append(original(settings)) or made[-1])
    plain = measure(BigStep(300, 30, 8, threads=1, repeat=1))
    again = measure(BigStep(300, 30, 8, checkpoint_activations=True, threads=1, repeat=1))
    some = measure(BigStep(300, 30, 8, query_points=50, threads=1, repeat=1))
    assert again["loss"] == plain["loss"] != some["loss"]
    assert [module.model.checkpoint_activations for module, _ in made] == [False, True, False]
    assert made[0][1].points("latent")[0].shape == (30, 3) and made[2][0].training_config.query_points == 50


def test_memory_is_that_of_this_process() -> None:
    before = big_step._resident()
    held = torch.ones(30_000_000)
    assert big_step._resident() - before > 100 and big_step._peak() >= big_step._resident() > held.nbytes / 1e6
