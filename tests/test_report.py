"""The report: equal budgets, no training twice, processes that fail."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pitgeo import _measure, _runs
from pitgeo import report as module
from pitgeo.config import load_config
from pitgeo.data import PointData
from pitgeo.report import format_report, mean_field, report

# Stands in for "python -m pitgeo.cli train": epochs of 8 s for PiT and of 2 s for the MLP.
TRAIN = """
import json, pathlib, sys
arguments = sys.argv[1:]
settings = dict(setting.split("=", 1) for setting in arguments if "=" in setting)
folder = pathlib.Path(arguments[arguments.index("--output") + 1])
with open(folder.parent / "calls.txt", "a") as file:
    print(folder.name, arguments[-1], file=file)
if (folder.parent / "fail").exists():
    (folder / "last.ckpt").touch()
    sys.exit("the disk is full")
pit = settings["model.name"] == '"pit"'
epochs = int(settings["training.epochs"])
rows = "".join(f"{epoch + 1},{8 if pit else 2}\\n" for epoch in range(epochs))
(folder / "metrics.csv").write_text("epoch,seconds\\n" + rows)
error = (0.01 if pit else 0.1) + 0.001 * int(settings["training.seed"])
numbers = {"relative_l1": {"mean": error / 2}, "relative_l2": {"mean": error}}
(folder / "evaluation.json").write_text(json.dumps({"errors": {"stress": numbers}, "parameters": 1000}))
"""

CONFIG = """
data = { name = "elasticity" }
model = { name = "pit" }
training = { epochs = 5 }
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "quick.toml").write_text(CONFIG)
    monkeypatch.setattr(_runs, "TRAIN", (sys.executable, str(tmp_path / "train.py")))
    monkeypatch.setattr(module, "mean_field", lambda config: _runs.Run("mean_field", None, 0, 0, 0.2, 0.3))
    return tmp_path / "quick.toml"


def calls(output: Path) -> list[str]:
    return (output / "runs" / "calls.txt").read_text().splitlines()


def test_report(tmp_path: Path, config: Path) -> None:
    output = tmp_path / "out"
    result = report(config, output)
    assert result["calibration"]["mlp_epochs"] == 20  # 5 epochs of 8 s are 20 of 2 s
    pit = result["methods"]["pit"]
    assert pit["relative_l2"] == pytest.approx({"mean": 0.011, "deviation": 0.001})
    assert pit["training_seconds"] == 40 == result["methods"]["mlp"]["training_seconds"]
    assert pit["peak_memory_bytes"] > 1e6
    assert json.loads((output / "report.json").read_text()) == result
    text = (output / "report.md").read_text()
    assert "| PiT | 0.0110 ± 0.0010 | 0.0055 ± 0.0005 | 1,000 | 5 | 40.0 s |" in text
    assert "| training mean field | 0.3000 | 0.2000 | — | — | — | — |" in text
    with (output / "report.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["pit", "mlp"] * 3 + ["mean_field"]
    assert (output / "report.png").exists()
    assert len(calls(output)) == 8

    again = report(config, output, seeds=(0, 1, 2, 3))
    assert calls(output)[8:] == ["pit_seed3 --overwrite", "mlp_seed3 --overwrite"]
    assert again["runs"][:6] == result["runs"][:6]


def test_budget_is_capped(tmp_path: Path, config: Path) -> None:
    result = report(config, tmp_path / "out", seeds=(0,), cap=2)
    assert result["calibration"]["mlp_epochs"] == 10 and result["calibration"]["is_capped"]
    assert "limited to 2 times PiT's epochs" in format_report(result)
    assert "± 0" not in format_report(result)  # one seed has no spread


def test_another_configuration_is_refused(tmp_path: Path, config: Path) -> None:
    report(config, tmp_path / "out", seeds=(0,))
    with pytest.raises(ValueError, match=r"another config\.training\.epochs"):
        report(config, tmp_path / "out", overrides=["training.epochs=6"])


def test_a_failed_training_is_resumed(tmp_path: Path, config: Path) -> None:
    output = tmp_path / "out"
    (output / "runs").mkdir(parents=True)
    (output / "runs" / "fail").touch()
    with pytest.raises(RuntimeError, match=r"(?s)calibration_pit .*exit status 1.*the disk is full"):
        report(config, output, seeds=(0,))
    (output / "runs" / "fail").unlink()
    report(config, output, seeds=(0,))
    assert calls(output)[:2] == ["calibration_pit --overwrite", "calibration_pit --resume"]


@pytest.mark.parametrize("seeds", [(), (1, 1)])
def test_seeds_are_checked(tmp_path: Path, seeds: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="'seeds' to be different"):
        report(tmp_path / "quick.toml", tmp_path, seeds)


def test_mean_field() -> None:
    def sample(*values: float) -> PointData:
        return PointData(pos=torch.rand(len(values), 2), y=torch.tensor(values)[:, None])

    def run(training: list[PointData], test: list[PointData]) -> Any:
        options = SimpleNamespace(training_parts=lambda: (training, []), test_samples=lambda: test)
        return mean_field(SimpleNamespace(data=SimpleNamespace(options=options)))  # type: ignore[arg-type]

    found = run([sample(1, 4), sample(3, 8)], [sample(5, 10)])  # the mean is (2, 6), the error (3, 4)
    assert found.relative_l1 == pytest.approx(7 / 15)
    assert found.relative_l2 == pytest.approx(5 / 125**0.5)
    with pytest.raises(ValueError, match="one number of points"):
        run([sample(1, 2)], [sample(1, 2, 3)])


def test_measure_adds_up(tmp_path: Path) -> None:
    record = tmp_path / "record.json"

    def measure(code: str) -> tuple[int, dict[str, float]]:
        command = [sys.executable, "-I", "-S", str(_measure.__file__), str(record), sys.executable, "-S", "-c", code]
        status = subprocess.run(command, check=False).returncode
        return status, json.loads(record.read_text())

    status, first = measure("import sys; block = bytearray(10**8); sys.exit(3)")
    assert status == 3
    assert 1e8 < first["peak_memory_bytes"] < 1.5e8
    status, second = measure("pass")
    assert status == 0
    assert second["peak_memory_bytes"] == first["peak_memory_bytes"]
    assert second["wall_seconds"] > first["wall_seconds"]
    assert measure("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")[0] == 137


def test_measure_stops_the_command_when_its_starter_is_gone(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    child = (
        "import pathlib, signal, sys, time\n"
        f"note = pathlib.Path({str(note)!r})\n"
        "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(note.write_text('stopped') and 0))\n"
        "note.write_text('started')\n"
        "time.sleep(60)\n"
    )
    measure = [sys.executable, "-I", "-S", str(_measure.__file__), str(tmp_path / "record.json")]
    command = [*measure, sys.executable, "-S", "-c", child]
    starter = f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-S", "-c", starter]) as process:
        wait_for(note, "started")
        process.kill()
    wait_for(note, "stopped")
    wait_for(tmp_path / "record.json")


def wait_for(path: Path, content: str = "") -> None:
    for _ in range(200):
        if path.exists() and content in path.read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written in time")


def test_the_stand_in_takes_what_the_command_line_takes(tmp_path: Path, config: Path) -> None:
    overrides = ['model.name="mlp"', "training.seed=3", "training.epochs=9"]
    changed = load_config(config, overrides)
    assert (changed.model.name, changed.training.seed, changed.training.epochs) == ("mlp", 3, 9)


def test_epoch_seconds_of_one_thread_are_those_of_the_processor(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,seconds,cpu_seconds\n1,9.0,3.0\n2,4.0,5.0\n")
    assert _runs.epoch_seconds(table, threads=1) == [3.0, 4.0]
    assert _runs.epoch_seconds(table, threads=2) == _runs.epoch_seconds(table) == [9.0, 4.0]
