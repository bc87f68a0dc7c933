"""The README's table: PiT against two baselines, over several seeds, on one machine."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from pitgeo import plots
from pitgeo._runs import Run, Trainer, epoch_seconds
from pitgeo.config import RunConfig, difference, load_config
from pitgeo.evaluation import versions, write_json
from pitgeo.metrics import relative_error
from pitgeo.processes import cores
from pitgeo.scores import NORMS, SPLITS
from pitgeo.training.checkpoint_io import write_atomic

LABELS = {"pit": "PiT", "mlp": "pointwise MLP", "mean_field": "training mean field"}
CALIBRATION_EPOCHS = {"pit": 3, "mlp": 9}


def report(
    config_path: Path | str,
    output: Path | str,
    seeds: Sequence[int] = (0, 1, 2),
    overrides: Sequence[str] = (),
    cap: float = 40.0,
    progress: bool = True,
) -> dict[str, Any]:
    """Train PiT and a pointwise MLP over several seeds, and compare their test errors with the training mean.

    The MLP has the same inputs, scalings, loss and optimiser, and about the same training time: seconds an epoch of
    both are measured in short runs one after the other, and the MLP gets as many epochs as fill PiT's time, at most
    ``cap`` times PiT's. Every training is a process of its own. Finished ones are not repeated, and an interrupted
    one is resumed, when the same report is asked for again.

    Args:
        config_path: Configuration of the PiT run.
        output: Folder for ``report.md``, ``report.json``, ``report.csv``, ``report.png`` and all the runs.
        seeds: Seeds of the trainings.
        overrides: Changes to the configuration, ``"key=value"``.
        cap: Most epochs of the MLP, as a multiple of PiT's.
        progress: Show a progress bar over all epochs (in a terminal only).

    Returns:
        What ``report.json`` holds.

    Raises:
        ValueError: If there is no seed, or the folder holds a report on another configuration.
        RuntimeError: If a training fails; the message ends with its last lines.
    """
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"Expected 'seeds' to be different numbers, at least one (got {list(seeds)})")
    if not cap > 0:
        raise ValueError(f"Expected 'cap' to be positive (got {cap})")
    config, folder = load_config(config_path, overrides), Path(output)
    _claim(folder, config, cap)
    trainer = Trainer(Path(config_path), overrides, folder / "runs", progress)

    calibration = _calibrate(trainer, config.training.epochs, cap, folder / "calibration.json")
    epochs = {"pit": config.training.epochs, "mlp": int(calibration["mlp_epochs"])}
    runs = [trainer.run(method, seed, epochs[method]) for seed in seeds for method in epochs]
    runs.append(mean_field(config))

    result: dict[str, Any] = {
        "config_file": Path(config_path).as_posix(),
        "dataset": config.data.name,
        "protocol": getattr(config.data.options, "protocol", None),
        "data": config.data.options.model_dump(mode="json"),
        "seeds": list(seeds),
        "overrides": list(overrides),
        "calibration": calibration,
        "methods": {method: _summary([run for run in runs if run.method == method]) for method in LABELS},
        "runs": [asdict(run) for run in runs],
        "machine": machine(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": versions(),
        "config": config.plain(),
    }
    rows = [(LABELS[method], [run.relative_l2 for run in runs if run.method == method]) for method in LABELS]
    plots.method_errors(rows, folder / "report.png", "test error, relative $l_2$ (mean over samples)")
    write_json(folder / "report.json", result)
    write_atomic(folder / "report.csv", _table(runs).encode())
    write_atomic(folder / "report.md", format_report(result).encode())
    return result


def mean_field(config: RunConfig) -> Run:
    """Test error of predicting, at point number i, the mean of all training targets at their point number i.

    Raises:
        ValueError: If samples have different numbers of points, so that points of one number do not correspond.
    """
    options = config.data.options
    training, test = options.training_parts()[0], options.test_samples()
    shapes = {tuple(sample.y.shape) for samples in (training, test) for sample in samples}
    if len(shapes) != 1:
        raise ValueError(f"Expected all samples to have one number of points for a mean field (got {sorted(shapes)})")
    mean = torch.stack([sample.y for sample in training]).double().mean(0)
    errors = [
        float(torch.cat([relative_error(mean, sample.y.double(), norm=norm) for sample in test]).mean())
        for _, norm in NORMS
    ]
    return Run("mean_field", None, 0, 0, errors[0], errors[1])


def format_report(result: dict[str, Any]) -> str:
    """A report as Markdown."""
    calibration, computer = result["calibration"], result["machine"]
    protocol = f", protocol {result['protocol']}" if result["protocol"] else ""
    data = ", ".join(f"{result['data'][key]} {key}" for key in SPLITS if result["data"].get(key))
    data += ", the validation samples among the training ones" if result["data"].get("validation") else ""
    seeds = ", ".join(str(seed) for seed in result["seeds"])
    undisturbed = {
        method: calibration[f"{method}_epochs"] * calibration[f"{method}_seconds_per_epoch"]
        for method in ("pit", "mlp")
    }
    lines = [
        f"# {result['dataset'].capitalize()}: test errors of `{Path(result['config_file']).name}`",
        "",
        "| Method | Relative l2 | Relative l1 | Parameters | Epochs | Training time | Peak memory |",
        "|---|---|---|---|---|---|---|",
        *(_row(LABELS[method], summary) for method, summary in result["methods"].items()),
        "",
        f"Data: {result['dataset']}{protocol}; samples: {data}. Errors are relative errors of each test sample, "
        f"averaged over the test samples; "
        + (f"mean ± standard deviation over the seeds {seeds}." if len(result["seeds"]) > 1 else f"one seed, {seeds}."),
        "",
        "The pointwise MLP sees the same inputs at each point, and no other point; same scalings, loss and optimiser. "
        f"It trains for about the time of PiT: an undisturbed epoch took {calibration['pit_seconds_per_epoch']:.3g} s "
        f"with PiT and {calibration['mlp_seconds_per_epoch']:.3g} s with the MLP, in short runs one after the other, "
        f"so that {calibration['pit_epochs']} epochs of PiT are {_duration(undisturbed['pit'])}, and "
        f"{calibration['mlp_epochs']} of the MLP {_duration(undisturbed['mlp'])}"
        + (f" (limited to {calibration['cap']:g} times PiT's epochs)." if calibration["is_capped"] else "."),
        "",
        "The mean field predicts, at point number i, the mean of the training samples at their point number i, "
        "wherever that point lies in each sample.",
        "",
        "Training time is the sum over epochs, with validation, without start-up and test, and longer than that where "
        "other processes kept the machine busy. Each training is a process of its own; peak memory is the largest "
        "resident memory of it, test included. Both are means over seeds.",
        "",
        "![Test error of every method](report.png)",
        "",
        f"- Machine: {computer['processor']}, {computer['cores']} cores, {computer['threads']} threads, "
        f"{computer['memory_gib']} GiB, {computer['accelerator'] or 'no GPU'}, {computer['system']}",
        f"- Versions: {', '.join(f'{name} {version}' for name, version in result['versions'].items())}",
        f"- Date: {result['date']}",
        f"- Reproduce: `{_command(result)}`",
    ]
    return "\n".join(lines) + "\n"


def machine() -> dict[str, Any]:
    """Describe what the numbers were measured on."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    return {
        "processor": processor,
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "accelerator": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "system": platform.platform(terse=True),
    }


def _calibrate(trainer: Trainer, epochs: int, cap: float, file: Path) -> dict[str, Any]:
    """Epochs of the MLP that take as long as those of PiT; measured once a report."""
    if file.exists():
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    seconds = {}
    for method, count in CALIBRATION_EPOCHS.items():
        name = f"calibration_{method}"
        trainer.run(method, 0, count, name)
        times = epoch_seconds(trainer.folder / name / "metrics.csv")
        seconds[method] = max(min(times), 1e-3)  # the epoch that other processes disturbed least
    wanted = epochs * seconds["pit"] / seconds["mlp"]
    calibration = {
        "pit_seconds_per_epoch": seconds["pit"],
        "mlp_seconds_per_epoch": seconds["mlp"],
        "pit_epochs": epochs,
        "mlp_epochs": max(1, round(min(wanted, cap * epochs))),
        "cap": cap,
        "is_capped": wanted > cap * epochs,
    }
    write_json(file, calibration)
    return calibration


def _claim(folder: Path, config: RunConfig, cap: float) -> None:
    """Refuse a folder with a report on another configuration."""
    settings = {"config": config.plain(), "cap": cap}
    file = folder / "settings.json"
    if file.exists():
        keys = difference(json.loads(file.read_text(encoding="utf-8")), settings)
        if keys:
            raise ValueError(
                f"Expected {folder} to hold a report on the same configuration (got another {', '.join(keys)}); choose "
                f"another folder, or delete this one"
            )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(file, settings)


def _summary(runs: Sequence[Run]) -> dict[str, Any]:
    memory = [run.peak_memory_bytes for run in runs if run.peak_memory_bytes is not None]
    errors = {name: [getattr(run, name) for run in runs] for name, _ in NORMS}
    return {
        **{name: {"mean": statistics.fmean(values), "deviation": _spread(values)} for name, values in errors.items()},
        "parameters": runs[0].parameters,
        "epochs": runs[0].epochs,
        "training_seconds": statistics.fmean(run.training_seconds for run in runs),
        "peak_memory_bytes": statistics.fmean(memory) if memory else None,
    }


def _spread(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _row(label: str, summary: dict[str, Any]) -> str:
    errors = [
        f"{summary[name]['mean']:.4f}" + (f" ± {summary[name]['deviation']:.4f}" if summary[name]["deviation"] else "")
        for name in ("relative_l2", "relative_l1")
    ]
    trained = ["—"] * 4
    if summary["epochs"]:
        memory = summary["peak_memory_bytes"]
        trained = [
            f"{summary['parameters']:,}",
            str(summary["epochs"]),
            _duration(summary["training_seconds"]),
            "not measured" if memory is None else f"{memory / 2**20:,.0f} MiB",
        ]
    return f"| {' | '.join([label, *errors, *trained])} |"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _table(runs: Sequence[Run]) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, list(Run.__dataclass_fields__), lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(run) for run in runs)
    return text.getvalue()


def _command(result: dict[str, Any]) -> str:
    parts = ["python", "scripts/report.py", result["config_file"], "--seeds", *map(str, result["seeds"])]
    parts += [part for override in result["overrides"] for part in ("--set", override)]
    if result["calibration"]["cap"] != 40:
        parts += ["--cap", f"{result['calibration']['cap']:g}"]
    return shlex.join(parts)
