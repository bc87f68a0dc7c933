"""Comparisons: nothing trained twice, merged calls, what cannot be trained is a row."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pitgeo.cli import main
from pitgeo.workflows.compare import Budget, Settings, learning_check, model_variants, process, run_compare
from pitgeo.workflows.compare.claim import alone
from pitgeo.workflows.compare.comparison import duration
from pitgeo.workflows.compare.learning_check import run_learning_check
from pitgeo.workflows.compare.process import TrainingError, train_once

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs" / "smoothing.toml"
SMALL = ("data.smoothing.size=9", "data.smoothing.train=24", "data.smoothing.validation=4", "data.smoothing.test=5",
         "model.mlp.channels=8", "model.fno.modes=2", "model.fno.width=4", "model.fno.layers=1")  # fmt: skip

# Stands in for "python -m pitgeo train": epochs of 2 s with the MLP, else of 8 s; "fail_<model>" has it fail.
TRAIN = """
import json, os, pathlib, sys
arguments = sys.argv[1:]
settings = dict(setting.split("=", 1) for setting in arguments if "=" in setting)
folder = pathlib.Path(arguments[arguments.index("--output") + 1])
runs = folder.parents[1]
with open(runs / "calls.txt", "a") as file:
    print(folder.parent.name, folder.name, settings["training.epochs"], arguments[-2], file=file)
model, seed = settings["model.name"].strip('"'), int(settings["training.seed"])
epochs = int(settings["training.epochs"])
rows = [f"{epoch + 1},{0.5 / (epoch + 1) + 0.01 * seed},{2 if model == 'mlp' else 8}" for epoch in range(epochs)]
table = "epoch,val_error,seconds\\n" + "\\n".join(rows)
if model == "fno":
    sys.exit("pitgeo: error: Expected points on a regular grid (got no|ne); take others\\nmore")
for name in (model, f"{model}{seed}"):
    if (runs / f"fail_{name}").exists():
        (folder / "last.ckpt").touch()
        (folder / "metrics.csv").write_text(table)
        what = (runs / f"fail_{name}").read_text()
        os.kill(os.getpid(), 9) if what == "kill" else sys.exit(int(what) if what.isdigit() else what)
(folder / "metrics.csv").write_text(table)
error = (0.01 if model == "pit" else 0.1) + 0.001 * seed
numbers = {"mean": error, "median": error, "lower_quartile": error / 2, "upper_quartile": 2 * error}
found = {"errors": {"u": {"relative_l1": numbers, "relative_l2": numbers}}, "parameters": 1000, "length_scales": {}}
(folder / "evaluation.json").write_text(json.dumps(found))
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.setattr(process, "TRAIN", (sys.executable, "-S", str(tmp_path / "train.py")))
    monkeypatch.setattr("pitgeo.workflows.compare.settings.cores", lambda: 4)
    return Settings(Budget(minutes=2), seeds=2, jobs=2, overrides=SMALL, progress=False)


def compare(output: Path, settings: Settings, *names: str) -> dict[str, Any]:
    return run_compare(CONFIG, model_variants(names), output, settings)


def calls(output: Path) -> list[str]:
    return sorted((output / "runs" / "calls.txt").read_text().splitlines())


def test_a_comparison_on_equal_minutes(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    result = compare(output, settings, "pit", "mlp", "fno")
    pit, mlp, fno, mean = result["table"]
    assert (pit["epochs"], mlp["epochs"], pit["seconds_per_epoch"], mlp["training_seconds"]) == (15, 60, 8, 120)
    assert (pit["error"], pit["deviation"]) == pytest.approx((0.0105, 0.001 / 2**0.5)) and pit["ratio"] is None
    assert mlp["ratio"] == pytest.approx((10 * 0.101 / 0.011) ** 0.5) and (mlp["worse"], mlp["pairs"]) == (2, 2)
    assert fno == {"variant": "fno", "reason": "Expected points on a regular grid (got no|ne); take others"}
    assert mean["variant"] == "training mean field" and mean["error"] > 0.5 and (mean["worse"], mean["pairs"]) == (2, 2)
    assert result["marks_seconds"] == [40, 80, 120]
    assert pit["error_at_marks"] == pytest.approx([0.5 / n + 0.005 for n in (5, 10, 15)])  # epochs there, and the seeds
    assert pit["peak_memory_bytes"] > 1e6
    text = (output / "compare.md").read_text()
    assert "| pit | 0.0105 ± 0.0007 |  | 1,000 | 8 s | 15 | 2 min |" in text
    assert "| 0.1050 | 0.0550 | 0.0383 |" in text and "Validation error after 40 s" in text
    assert "| fno | not trained: Expected points on a regular grid (got no\\|ne); take others |  |" in text
    with (output / "compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["variant"] for row in rows] == ["pit", "mlp", "fno", "training mean field"]
    assert float(rows[0]["error_after_120_seconds"]) == pytest.approx(pit["error_at_marks"][2])
    assert json.loads((output / "compare.json").read_text()) == result
    assert (output / "error_time.png").exists() and (output / "error_parameters.png").exists()
    first = calls(output)
    assert len(first) == 3 + 4  # a calibration each, and two seeds of those that can be trained

    again = compare(output, replace(settings, seeds=3), "mlp", "fno_plus")
    new = [call for call in calls(output) if call not in first]
    assert sorted(new) == [
        "fno_plus calibration 2 --overwrite", *(f"fno_plus seed{seed} 15 --overwrite" for seed in range(3)),
        "mlp seed2 60 --overwrite",
    ]  # fmt: skip
    assert [row["variant"] for row in again["table"]] == ["pit", "mlp", "fno_plus", "fno", "training mean field"]
    assert [row.get("seeds") for row in again["table"]] == [2, 3, 3, None, 1] and again["table"][1]["pairs"] == 2


def test_a_failed_seed_is_noted_and_resumed(tmp_path: Path, settings: Settings) -> None:
    output, epochs = tmp_path / "out", replace(settings, budget=Budget(epochs=3))
    (output / "runs").mkdir(parents=True)
    (output / "runs" / "fail_pit1").write_text("the loss became nan")
    result = compare(output, epochs, "pit", "fno", "mlp")
    assert [row.get("seeds") for row in result["table"]] == [1, 2, None, 1] and result["table"][0]["epochs"] == 3
    assert result["failures"]["pit"] == {"seed1": "the loss became nan"}
    assert "- pit, seed1: the loss became nan" in (output / "compare.md").read_text()
    assert [call for call in calls(output) if "fno" in call] == ["fno seed0 3 --overwrite"]  # which seeds cannot change
    (output / "runs" / "fail_pit1").write_text("kill")
    assert "signal 9" in compare(output, epochs, "pit")["failures"]["pit"]["seed1"]
    (output / "runs" / "fail_pit1").unlink()
    result = compare(output, epochs, "pit")
    assert calls(output).count("pit seed1 3 --resume") == 2 and "pit" not in result["failures"]
    assert [row.get("seeds") for row in result["table"]] == [2, 2, None, 1]


def test_what_ends_all(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(RuntimeError, match="fno: Expected points on a regular grid"):
        compare(tmp_path / "none", settings, "fno")
    with pytest.raises(ValueError, match="a model or a variant"):
        compare(tmp_path / "none", settings)
    (tmp_path / "stopped" / "runs").mkdir(parents=True)
    (tmp_path / "stopped" / "runs" / "fail_mlp").write_text("143")
    with pytest.raises(RuntimeError, match="it was stopped"):
        compare(tmp_path / "stopped", settings, "mlp")
    with pytest.raises(TrainingError, match=r"(?s)in .* to finish \(got exit status 1\).*regular grid"):
        train_once(tmp_path / "a" / "b" / "c", CONFIG, ['model.name="fno"', "training.seed=0", "training.epochs=1"], 1)


def test_other_settings_are_refused(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    compare(output, settings, "mlp")
    with pytest.raises(ValueError, match=r"got others in minutes.*--output"):
        compare(output, replace(settings, budget=Budget(minutes=1)), "mlp")
    with pytest.raises(ValueError, match="got others in overrides"):
        compare(output, replace(settings, overrides=SMALL[:-1]), "mlp")
    changed = tmp_path / "changed.toml"
    changed.write_text(CONFIG.read_text() + "[model.mlp]\nlayers = 2\n[model.pit]\nlayers = 2\n")
    with pytest.raises(ValueError, match=r"'mlp' with this configuration \(got another model\.mlp\.layers\)"):
        run_compare(changed, model_variants(["mlp"]), output, settings)
    with pytest.raises(ValueError, match=r"no change of training\.epochs, which budget"):
        compare(tmp_path / "epochs", replace(settings, overrides=("training.epochs=3",)), "mlp")
    with pytest.raises(ValueError, match="labels that differ"):
        run_compare(CONFIG, {"a b": (), "a_b": ()}, tmp_path / "labels", settings)


def test_a_folder_holds_one_problem(tmp_path: Path, settings: Settings) -> None:
    output, epochs, config = tmp_path / "out", replace(settings, budget=Budget(epochs=1), seeds=1), tmp_path / "c.toml"
    config.write_text(CONFIG.read_text().replace("size = 16", "size = 16\nwidth = 0.1"))
    run_compare(config, model_variants(["pit"]), output, epochs)
    config.write_text(config.read_text().replace("width = 0.1", "width = 0.4"))
    with pytest.raises(ValueError, match=r"the problem of .*c\.toml \(got another data\.smoothing\.width\)"):
        run_compare(config, model_variants(["mlp"]), output, epochs)
    config.write_text(config.read_text().replace("width = 0.4", "width = 0.1").replace("clip = 1.0", "clip = 2.0"))
    with pytest.raises(ValueError, match=r"got another training\.clip"):
        run_compare(config, model_variants(["mlp"]), output, epochs)
    config.write_text(config.read_text().replace("clip = 2.0", "clip = 1.0") + "[model.mlp]\nlayers = 2\n")
    others = {"wide": ('model.name="mlp"', "data.smoothing.width=0.4"), "clip": ("training.clip=5.0",)}
    result = run_compare(config, {**model_variants(["mlp"]), **others}, output, epochs)
    assert [row["variant"] for row in result["table"][:4]] == ["pit", "mlp", "wide", "clip"]

    path = output / "settings.json"  # as it was before it held the problem, and before that had all of its options
    kept = json.loads(path.read_text())
    del kept["problems"][""]["data"]["smoothing"]["seed"]
    path.write_text(json.dumps(kept))
    assert len(run_compare(config, model_variants(["pit"]), output, epochs)["table"]) == 5
    path.write_text(json.dumps({key: value for key, value in kept.items() if key != "problems"}))
    assert len(run_compare(config, model_variants(["pit"]), output, epochs)["table"]) == 5
    assert json.loads(path.read_text())["problems"][""]["data"]["smoothing"]["width"] == 0.1


def test_what_failed_can_be_mended(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    result = run_compare(CONFIG, {**model_variants(["mlp"]), "new": ('model.name="fno"',)}, output, settings)
    assert "regular grid" in result["table"][1]["reason"]
    remains = output / "runs" / "new" / "calibration" / "last.ckpt"
    remains.touch()
    result = run_compare(CONFIG, {"new": ('model.name="pit"',)}, output, settings)
    assert [row.get("seeds") for row in result["table"]] == [2, 2, 1] and not result["failures"]
    assert "new calibration 2 --overwrite" in calls(output) and not remains.exists()  # nothing of the other went on
    with pytest.raises(ValueError, match="'new' with this configuration"):
        run_compare(CONFIG, {"new": ('model.name="mlp"',)}, output, settings)


def test_what_failed_goes_on_where_nothing_was_changed(tmp_path: Path, settings: Settings) -> None:
    output, epochs = tmp_path / "out", replace(settings, budget=Budget(epochs=3), seeds=1)
    (output / "runs").mkdir(parents=True)
    (output / "runs" / "fail_pit").write_text("kill")
    compare(output, epochs, "mlp", "pit")
    (output / "runs" / "fail_pit").unlink()
    compare(output, epochs, "pit")
    assert "pit seed0 3 --resume" in calls(output)


def test_one_command_at_a_time(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    with alone(output), pytest.raises(RuntimeError, match=r"no other command to work in .*out \(one is at it\)"):
        compare(output, settings, "mlp")
    assert not (output / "settings.json").exists()
    compare(output, settings, "mlp")
    compare(output, settings, "pit")
    path = output / "calibration.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({"pit": whole["pit"]}))  # the other entry is lost
    assert [row["epochs"] for row in compare(output, settings, "pit")["table"][:2]] == [60, 15]
    assert json.loads(path.read_text()) == whole
    shutil.rmtree(output / "runs" / "mlp" / "calibration")
    path.write_text(json.dumps({"pit": whole["pit"]}))
    with pytest.raises(ValueError, match=r"calibration\.json to hold the epochs of 'mlp' \(got none"):
        compare(output, settings, "pit")


def test_an_entry_timed_alone_is_told_of(tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    compare(tmp_path / "out", settings, "mlp", "pit")
    compare(tmp_path / "out", settings, "pit")
    assert "side by side" not in caplog.text
    compare(tmp_path / "out", settings, "pit", "fno_plus")
    assert "1 of 2 runs side by side while epochs are timed: those of fno_plus" in caplog.text
    caplog.clear()
    compare(tmp_path / "one_thread", replace(settings, jobs=4), "mlp")
    assert "side by side" not in caplog.text


def here(command: Sequence[str], record: Path, console: int, threads: int) -> int:
    """A training in this process, which saves the start of another."""
    with os.fdopen(os.dup(console), "w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        return main(command[3:])


def test_two_models_and_one_that_cannot_take_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_run", here)
    settings = Settings(Budget(epochs=2), overrides=SMALL, progress=False)
    random = run_compare(CONFIG, model_variants(["mlp", "fno"]), tmp_path / "random", settings)
    assert [row["variant"] for row in random["table"]] == ["mlp", "fno", "training mean field"]
    assert "Expected points on a regular grid" in random["table"][1]["reason"]

    on_grid = replace(settings, overrides=(*SMALL, 'data.smoothing.points="grid"'))
    run_compare(CONFIG, model_variants(["mlp"]), tmp_path / "grid", on_grid)
    record = tmp_path / "grid" / "runs" / "mlp" / "seed0" / "evaluation.json"
    before = record.stat().st_mtime_ns
    narrow = {"narrow": ('model.name="fno"', "model.fno.width=2")}
    merged = run_compare(CONFIG, {**model_variants(["mlp"]), **narrow}, tmp_path / "grid", on_grid)
    assert record.stat().st_mtime_ns == before
    mlp, fno, mean = merged["table"]
    assert mlp["parameters"] == 3 * 8 + 8 + 3 * 72 + 9 and fno["variant"] == "narrow"
    assert mean["error"] == pytest.approx(1, abs=0.3) and mlp["error"] < 1.2 and len(fno["error_at_marks"]) == 3


def test_the_learning_check(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_learning_check(tmp_path / "a", settings, ["pit", "fno"], CONFIG)  # an MLP as good as 0.1 is no control
    found = {(row["model"], row["points"]): row["good"] for row in result["rows"]}
    assert found == {
        ("mlp", "random"): False, ("pit", "random"): True, ("mlp", "grid"): False, ("fno", "grid"): False,
    }  # fmt: skip
    assert (
        not result["passed"] and "| fno | grid |  | **bad**: Expected points" in (tmp_path / "a/check.md").read_text()
    )
    monkeypatch.setattr(learning_check, "LIMIT", 0.05)
    result = run_learning_check(tmp_path / "b", settings, ["pit"], CONFIG)
    assert result["passed"] and [row["model"] for row in result["rows"]] == ["mlp", "pit"]


def test_a_crash_on_random_points_is_no_refusal(tmp_path: Path, settings: Settings) -> None:
    runs = tmp_path / "a" / "random" / "runs"
    runs.mkdir(parents=True)
    (runs / "fail_pit").write_text("index 7 is out of bounds")
    result = run_learning_check(tmp_path / "a", settings, ["pit"], CONFIG)
    pit = result["rows"][-1]
    assert (pit["model"], pit["points"], pit["good"]) == ("pit", "random", False)
    assert len(result["rows"]) == 2 and not result["passed"] and not (tmp_path / "a" / "grid").exists()
    assert "| pit | random |  | **bad**: index 7 is out of bounds |" in (tmp_path / "a" / "check.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "pit"], "expected a CONFIG"),
        (["c.toml"], "expected --models or --variants"),
        (["c.toml", "--check"], "expected no CONFIG"),
        (["c.toml", "--models", "pitt"], "did you mean 'pit'"),
        (["c.toml", "--models", "pit", "--budget", "3"], "a budget as in 3min"),
        (["c.toml", "--models", "pit", "--seeds", "0"], "'seeds' to be at least 1"),
        (["c.toml", "--models", "pit"], "no such configuration file"),
    ],
)
def test_mistakes_get_a_line(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_path(str(ROOT / "scripts" / "compare.py"), run_name="__main__")
    said = capsys.readouterr().err
    assert exit_.value.code == 2 and message in said and "Traceback" not in said


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.0123, 8.04, 180, 7200)] == ["12 ms", "8.04 s", "3 min", "2 h"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(("given", "end"), [(["OUTPUT=runs/other"], " --output runs/other"), ([], "")])
def test_make_compare_takes_a_folder(given: list[str], end: str) -> None:
    command = ["make", "-n", "-o", "setup", "compare", "BUDGET=4min", *given]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1].rstrip().endswith(f"--budget 4min{end}")
