"""Verdicts on errors that are known."""

import json

import numpy as np
import pytest

from pitgeo.evaluation.verdict import Influence, Rival, ratio_interval, verdict


def errors(mean, count=40, seed=0, spread=0.3):
    return mean * np.exp(spread * np.random.default_rng(seed).normal(size=count))


def rows(values, losses=None):
    losses = values if losses is None else losses
    return [
        {"epoch": k + 1, "train_loss": a, "val_error": b} for k, (a, b) in enumerate(zip(losses, values, strict=True))
    ]


def test_for_the_model():
    found = verdict(
        "pit", errors(0.01), [Rival("the mean field", errors(0.5, seed=1)), Rival("POD", errors(0.03, seed=2))]
    )
    assert found["is_better"] is True and found["best_control"] == "POD"
    assert found["times_better"] == pytest.approx(errors(0.03, seed=2).mean() / errors(0.01).mean())
    assert found["interval"][0] < found["times_better"] < found["interval"][1]
    assert (
        found["sentences"][0].startswith("The model is 3")
        and "times better than the best control, POD" in found["sentences"][0]
    )
    assert "the mean field 0.5" in found["sentences"][1]


def test_against_the_model():
    pod = Rival("POD with radial basis functions", errors(0.001, seed=1), 1.2, "pod")
    found = verdict("pit", errors(0.012), [Rival("the mean field", errors(0.5)), pod])
    assert found["is_better"] is False and found["times_better"] == pytest.approx(1 / 12, rel=0.2)
    first = found["sentences"][0]
    assert first.startswith("POD with radial basis functions is 1") and first.endswith(
        "in 1.2 s: use model.name = 'pod'."
    )
    mean = verdict("pit", errors(1.2), [Rival("the mean field", errors(0.5, seed=3))])
    assert mean["sentences"][0].startswith("The mean field is 2.") and mean["sentences"][0].endswith(
        "do not use the model."
    )


def test_neither():
    found = verdict("pit", errors(0.01), [Rival("POD", errors(0.01, seed=5), 1.0, "pod")])
    assert found["is_better"] is None and "no better and no worse than POD" in found["sentences"][0]


def test_a_model_is_not_its_own_control():
    found = verdict("pod", errors(0.01), [Rival("POD", errors(0.01), 1.0, "pod"), Rival("the mean field", errors(0.4))])
    assert found["best_control"] == "the mean field"
    alone = verdict("pod", errors(0.01), [Rival("POD", errors(0.01), 1.0, "pod")])
    assert "best_control" not in alone


def test_few_samples_give_no_interval():
    found = verdict("pit", errors(0.01, 3), [Rival("POD", errors(0.03, 3))])
    assert found["interval"] is None and found["is_better"] is None
    assert found["sentences"][0].endswith("3 test samples are too few to rely on that.")


def test_an_exact_control_has_a_finite_ratio():
    found = verdict("pit", errors(0.01), [Rival("POD", np.zeros(40), 1.0, "pod")])
    json.dumps(found, allow_nan=False)
    assert found["is_better"] is False


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random, truth, hits = np.random.default_rng(1), 3.0, 0
    for _ in range(300):
        common = random.normal(size=40)  # hard samples are hard for both
        first = np.exp(0.4 * common + 0.2 * random.normal(size=40))
        second = truth * np.exp(0.4 * common + 0.2 * random.normal(size=40))
        low, high = ratio_interval(first, second)
        hits += low <= truth <= high
    assert 0.83 <= hits / 300 <= 0.95


def test_the_interval_is_paired():
    common = np.exp(np.random.default_rng(0).normal(size=40))
    assert ratio_interval(common, 2 * common) == pytest.approx((2.0, 2.0))


def test_it_is_the_same_every_time():
    given = ("pit", errors(0.01), [Rival("POD", errors(0.013, seed=5))])
    assert verdict(*given) == verdict(*given)


EPOCHS = np.arange(1, 101)


def test_still_falling():
    values = 0.5 * EPOCHS**-0.5
    found = verdict("pit", errors(0.05), [], rows(values), "constant")
    assert found["course"] == "falling" and found["twice_the_epochs"] == pytest.approx(2**-0.5, rel=1e-6)
    assert any("a guess" in sentence for sentence in found["sentences"])
    annealed = verdict("pit", errors(0.05), [], rows(values), "cosine")
    assert annealed["course"] == "falling" and "twice_the_epochs" not in annealed


def test_converged():
    found = verdict("pit", errors(0.05), [], rows(0.05 + 0.5 * np.exp(-EPOCHS / 5)))
    assert found["course"] == "converged" and any("has converged" in sentence for sentence in found["sentences"])


def test_rising_and_overfitting():
    values = 0.1 + 0.4 * np.exp(-EPOCHS / 5) + 0.001 * EPOCHS
    found = verdict("pit", errors(0.05), [], rows(values, 0.5 * np.exp(-EPOCHS / 20)))
    best = int(values.argmin()) + 1
    assert found["course"] == "rising" and found["best_epoch"] == best
    assert any(f"lowest at epoch {best} of 100" in sentence for sentence in found["sentences"])
    gap = verdict("pit", errors(0.05), [], rows(np.full(100, 0.1), np.full(100, 0.02)))
    assert gap["validation_over_training"] == pytest.approx(5)
    assert any("overfits" in sentence and "5 times" in sentence for sentence in gap["sentences"])


@pytest.mark.parametrize("history", [rows(0.1 / EPOCHS[:5]), rows([None] * 50, [0.1] * 50), ()])
def test_what_cannot_be_told_is_not(history):
    found = verdict("pit", errors(0.05), [], history)
    assert "course" not in found and any("cannot be told" in sentence for sentence in found["sentences"])


def test_more_files():
    rival = Rival("the nearest training case", errors(0.1), halved=1.5 * errors(0.1))
    found = verdict("pit", errors(0.01), [rival])
    assert found["twice_the_files"] == pytest.approx(1 / 1.5)
    assert any("the nearest training case may have 0.67 times its error" in sentence for sentence in found["sentences"])
    flat = verdict("pit", errors(0.01), [Rival("the mean field", errors(0.1), halved=errors(0.1, seed=4))])
    assert "twice_the_files" not in flat


def test_inputs_without_influence():
    own = errors(0.1)
    random = np.random.default_rng(0)
    tried = {
        "idle": Influence(np.zeros(40)),
        "noise": Influence(0.01 * random.normal(size=40)),
        "used": Influence(np.abs(errors(0.5, seed=1))),
        "better without": Influence(-0.05 + 0.01 * random.normal(size=40)),
        "wild": Influence(5 * random.normal(size=40)),
    }
    found = verdict("pit", own, [], influences=tried)
    assert found["without_influence"] == ["idle", "noise"]
    assert any("'idle', 'noise'" in sentence for sentence in found["sentences"])


def test_a_change_as_large_as_its_noise_is_no_proof_that_an_input_is_idle():
    """Brackets, the size of their load permuted: 0.64 times the error more, but 12 samples of it alone."""
    own = np.array([0.463, 0.218, 0.342, 0.500, 0.347, 0.699, 0.284, 0.476, 0.600, 0.225, 0.557, 0.162])
    load = np.array([-0.057, 0.318, 0.081, 0.217, -0.012, -0.293, 0.309, 0.495, 1.949, 0.115, 0.010, -0.001])
    tried = {"load": Influence(load), "idle": Influence(0.01 * load)}
    assert verdict("pit", own, [], influences=tried)["without_influence"] == ["idle"]


@pytest.mark.parametrize(
    ("ratio", "said"), [(1.1, "about as large as its error"), (3.0, "3 times too small"), (0.25, "4 times too large")]
)
def test_calibration(ratio, said):
    found = verdict("pit", errors(0.1), [], calibration={"u": 1.0, "v": ratio})
    assert said in found["sentences"][-1]


def test_errors_of_other_samples_are_refused():
    with pytest.raises(ValueError, match=r"Expected errors of the same test samples, .*got 40 of the model, \[3\]"):
        verdict("pit", errors(0.1), [Rival("POD", errors(0.1, 3))])
    with pytest.raises(ValueError, match="at least one"):
        verdict("pit", np.zeros(0), [])
