"""Studies: equal budgets, nothing trained twice, runs of earlier calls merged."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paper import STUDIES, Study, run_study, summary
from benchmarks.paper.cost import run_cost
from pitgeo.config.config import load_config
from pitgeo.datasets import BenchmarkOptions
from pitgeo.evaluation import plots
from pitgeo.workflows.compare import Budget, Settings, harness, process
from pitgeo.workflows.compare.paired import error_key, paired

# Stands in for a training: epochs of 3 s, of 6 s with eight heads.
TRAIN = """
import json, pathlib, sys
arguments = sys.argv[1:]
settings = dict(setting.split("=", 1) for setting in arguments if "=" in setting)
folder = pathlib.Path(arguments[arguments.index("--output") + 1])
with open(folder.parents[3] / "calls.txt", "a") as file:
    print(folder.relative_to(folder.parents[1]), settings["training.epochs"], file=file)
heads, seed = int(settings.get("model.pit.heads", 2)), int(settings["training.seed"])
rows = "".join(f"{epoch + 1},{6 if heads == 8 else 3}\\n" for epoch in range(int(settings["training.epochs"])))
(folder / "metrics.csv").write_text("epoch,seconds\\n" + rows)
error = 0.1 / heads + 0.001 * seed
numbers = {"mean": error, "median": error, "lower_quartile": error / 2, "upper_quartile": 2 * error}
found = {"errors": {"u": {"relative_l1": numbers, "relative_l2": numbers}}, "parameters": 1000 * heads}
scales = {"encoder": [0.1], "processor.0": [None]}
(folder / "evaluation.json").write_text(json.dumps({**found, "length_scales": scales}))
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.setattr(process, "TRAIN", (sys.executable, "-S", str(tmp_path / "train.py")))
    monkeypatch.setattr(BenchmarkOptions, "is_ready", lambda self: True)
    return Settings(Budget(minutes=1), jobs=2, progress=False)


def calls(folder: Path) -> list[str]:
    return sorted((folder / "calls.txt").read_text().splitlines())


def test_minutes_become_epochs_and_nothing_is_done_twice(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    result = run_study("heads", STUDIES["heads"], output, settings, ["darcy2d"])
    assert {row["variant"]: row["epochs"] for row in result["runs"]} == {
        "2 heads": 20, "1 heads": 20, "4 heads": 20, "8 heads": 10,
    }  # fmt: skip
    first = calls(output)
    assert len(first) == 8 and "8_heads/calibration 2" in first and "8_heads/seed0 10" in first
    again = run_study("heads", STUDIES["heads"], output, settings, ["darcy2d"])
    assert calls(output) == first and again["runs"] == result["runs"]


def test_other_seeds_and_benchmarks_are_merged_and_paired(tmp_path: Path, settings: Settings) -> None:
    output = tmp_path / "out"
    run_study("heads", STUDIES["heads"], output, settings, ["darcy2d"])
    more = replace(settings, seeds=2)
    result = run_study("heads", STUDIES["heads"], output, more, ["darcy2d", "inviscid_burgers"])
    assert len(result["runs"]) == 16
    text = (output / "heads.md").read_text()
    assert "| 1 heads | 0.1005 ± 0.0007 | 0.0503 | 0.2010 | 1.99 (2 of 2) | 1,000 | 20 | 1.0 min |" in text
    assert "relative l1 median" in text.split("## darcy2d")[0] and (output / "heads.png").exists()
    with (output / "heads.csv").open(newline="") as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["0", "1"] * 8
    assert json.loads((output / "heads.json").read_text()) == result


def test_another_budget_is_refused(tmp_path: Path, settings: Settings) -> None:
    run_study("lengths", STUDIES["lengths"], tmp_path / "out", settings)
    other = replace(settings, budget=Budget(minutes=2))
    with pytest.raises(ValueError, match="minutes"):
        run_study("lengths", STUDIES["lengths"], tmp_path / "out", other)
    with pytest.raises(ValueError, match="benchmarks among"):
        run_study("growth", STUDIES["growth"], tmp_path / "other", settings, ["naca"])
    with pytest.raises(ValueError, match="variants among"):
        run_study("heads", STUDIES["heads"], tmp_path / "third", settings, ["darcy2d"], ["3 heads"])


@pytest.mark.parametrize("name", STUDIES)
def test_every_variant_is_a_configuration(name: str) -> None:
    study: Study = STUDIES[name]
    for benchmark in study.full:
        variants = study.variants(benchmark)
        assert variants and set(study.benchmarks) <= set(study.full)
        for changes in variants.values():
            config = load_config(Path("configs") / f"{benchmark}_quick.toml", changes)
            assert config.data.name == benchmark


def test_differences_are_paired_over_seeds() -> None:
    first = [{"seed": 0, "e": 1.0}, {"seed": 1, "e": 4.0}]
    second = [{"seed": 1, "e": 2.0}, {"seed": 2, "e": 9.0}]
    assert paired(first, second, "e") == {"seeds": 1, "ratio": pytest.approx(0.5), "worse": 0}
    assert paired(first, [{"seed": 7, "e": 1.0}], "e") is None
    one = {"seed": None, "e": 2.0}  # without a seed: compared with all
    assert paired(first, [one], "e") == {"seeds": 2, "ratio": pytest.approx(1.0), "worse": 1}
    assert error_key("shock_tube") == "relative_l1_median" and error_key("naca") == "relative_l2_mean"


def test_cost_of_a_step(tmp_path: Path) -> None:
    result = run_cost(tmp_path, resolutions=(33, 43), repeat=1)
    assert [row["points"] for row in result["rows"]] == [33**2, 43**2]
    assert {path.name for path in tmp_path.iterdir()} == {f"cost.{end}" for end in ("json", "csv", "md", "png")}
    assert "to the power" in (tmp_path / "cost.md").read_text()


# Stands in for an evaluation at another resolution: the error is the resolution.
EVALUATE = """
import json, pathlib, sys
arguments = sys.argv[1:]
size = int(arguments[arguments.index("--set") + 1].rpartition("=")[2])
if size == 7:
    sys.exit("too coarse")
folder = pathlib.Path(arguments[arguments.index("--output") + 1])
folder.mkdir()
numbers = dict.fromkeys(("mean", "median", "lower_quartile", "upper_quartile"), size)
(folder / "evaluation.json").write_text(json.dumps({"errors": {"u": {"relative_l1": numbers, "relative_l2": numbers}}}))
"""


def test_other_resolutions_are_tested(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evaluate.py").write_text(EVALUATE)
    monkeypatch.setattr(harness, "EVALUATE", (sys.executable, str(tmp_path / "evaluate.py")))
    study = replace(STUDIES["external"], variants=lambda benchmark: {"PiT": ('model.name="pit"',)})
    result = run_study("external", study, tmp_path / "out", settings)
    assert {size: row["relative_l2_mean"] for size, row in result["runs"][0]["resolutions"].items()} == {
        "16": 16, "32": 32,
    }  # fmt: skip
    assert "| PiT | 16.0000 | 32.0000 |" in (tmp_path / "out" / "external.md").read_text()
    with (tmp_path / "out" / "external.csv").open(newline="") as file:
        assert [row["test_resolution"] for row in csv.DictReader(file)] == ["", "16", "32"]
    with pytest.raises(RuntimeError, match=r"tested at 7.*too coarse"):
        run_study("external", replace(study, resolutions=(7,)), tmp_path / "out", settings)


def test_a_picture_of_resolutions_that_not_all_runs_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(plots, "trends", lambda curves, output, *labels: drawn.update(curves))
    at = [{"16": {"relative_l2_mean": 0.1}, "32": {"relative_l2_mean": 0.2}}, {"16": {"relative_l2_mean": 0.3}}]
    rows = [{"benchmark": "darcy2d", "variant": "PiT", "resolutions": errors} for errors in at]
    summary.draw(replace(STUDIES["external"], figure="resolutions"), {"runs": rows}, tmp_path / "a.png")
    assert drawn == {"PiT": ([16, 32], pytest.approx([0.2, 0.2]))}


@pytest.mark.parametrize("figure", ["growth", "lengths"])
def test_pictures(tmp_path: Path, settings: Settings, figure: Any) -> None:
    run_study("heads", replace(STUDIES["heads"], figure=figure), tmp_path / "out", settings, ["darcy2d"])
    assert (tmp_path / "out" / "heads.png").exists()
