"""Search for good options of a run with Optuna, each tried for a few epochs on the validation samples.

    pip install optuna
    python examples/search_options.py configs/elasticity_quick.toml --output runs/search --trials 20 --epochs 4

The study is a file of the folder: the same command goes on. Train the best options to the end with the printed command.
"""

from __future__ import annotations

import argparse
import csv
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path

import optuna

from pitgeo.config.config import load_config
from pitgeo.workflows.run import train


def options(trial: optuna.Trial) -> list[str]:
    """What is searched: change this for your problem."""
    rate = trial.suggest_float("training.learning_rate", 1e-3, 3e-2, log=True)
    decay = trial.suggest_float("training.weight_decay", 1e-6, 1e-3, log=True)
    quantile = trial.suggest_float("model.pit.encoder_quantile", 0.01, 0.1, log=True)
    heads = trial.suggest_categorical("model.pit.heads", [2, 4, 8])
    given = {"training.learning_rate": rate, "training.weight_decay": decay, "model.pit.encoder_quantile": quantile}
    return [*(f"{name}={value:.3g}" for name, value in given.items()), f"model.pit.heads={heads}"]


def validation_error(folder: Path) -> float:
    """The smallest validation error of a run."""
    with (folder / "metrics.csv").open(newline="") as file:
        return min(float(row["val_error"]) for row in csv.DictReader(file) if row["val_error"])


def main(argv: Sequence[str] | None = None) -> None:
    """Search, and print the best options as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder of the study and of its runs")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=4, help="epochs of a trial")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="options of all trials")
    given = parser.parse_args(argv)
    logging.getLogger("pitgeo").setLevel(logging.WARNING)
    given.output.mkdir(parents=True, exist_ok=True)

    def objective(trial: optuna.Trial) -> float:
        chosen = options(trial)
        trial.set_user_attr("options", chosen)
        folder = given.output / f"trial_{trial.number:03}"
        config = load_config(given.config, [*given.set, *chosen, f"training.epochs={given.epochs}"])
        train(config, folder, overwrite=True)
        return validation_error(folder)

    study = optuna.create_study(
        study_name=given.config.stem,
        storage=f"sqlite:///{(given.output / 'study.db').resolve()}",
        sampler=optuna.samplers.TPESampler(seed=0),
        load_if_exists=True,
    )
    study.optimize(objective, n_trials=given.trials, catch=(ArithmeticError,))  # a loss that is not finite
    if not any(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials):
        raise SystemExit(f"Expected a trial with a finite loss (got none of {len(study.trials)}); search lower rates")
    options_of_best = [*given.set, *study.best_trial.user_attrs["options"]]
    sets = " ".join(f"--set {shlex.quote(option)}" for option in options_of_best)
    print(f"validation error {study.best_value:.4f} after {given.epochs} epochs; train it to the end:")
    print(f"pitgeo train {shlex.quote(str(given.config))} {sets}")


if __name__ == "__main__":
    main()
