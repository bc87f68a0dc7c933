"""The arguments of the commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pitgeo.cli.terminal import argument

DEVICES = ("auto", "cpu", "gpu")

_SAME = "host members number output overwrite parameters port resume samples seed starts steps"
FLAGS = {**{name: name for name in _SAME.split()}, "overrides": "set", "values": "value"}
"""Flags by the arguments of functions that they become."""


def make_parser(commands: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        commands: What each command runs; its name is that of the command.
    """
    parser = argparse.ArgumentParser(prog="pitgeo", description="Neural operators on point clouds and meshes.")
    verbs = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    train = verbs.add_parser("train", help="train a model, evaluate it once on the test set")
    train.add_argument("config", type=Path, metavar="CONFIG", help="TOML file of the run, as in configs/")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        type=argument,
        metavar="KEY=VALUE",
        help="change a key, as in training.epochs=5",
    )
    train.add_argument("--output", type=Path, metavar="DIR", help="folder of the run (default: runs/<CONFIG's name>)")
    train.add_argument("--members", type=int, metavar="N", help="train an ensemble, its seeds one after the other")
    train.add_argument("--resume", action="store_true", help="go on from the folder's last.ckpt")
    train.add_argument("--overwrite", action="store_true", help="delete an earlier run's files in the folder")
    train.add_argument(
        "--dry-run",
        action="store_true",
        help="print shapes and the number of parameters, and try the model on a sample or two; train nothing",
    )
    train.add_argument("--device", choices=DEVICES, help="the same as --set training.device=...")
    train.add_argument("--precision", choices=("32", "bf16"), help="the same as --set training.precision=...")
    _add_quiet(train)
    train.set_defaults(run=commands["train"])

    evaluate = verbs.add_parser("evaluate", help="relative errors and pictures of a checkpoint")
    _add_checkpoint(evaluate)
    evaluate.add_argument("--output", type=Path, metavar="DIR", help="where to write (default: the run's folder)")
    evaluate.add_argument(
        "--set",
        action="append",
        default=[],
        type=argument,
        metavar="KEY=VALUE",
        help="change the data or what is reported, as in data.darcy2d.test=50",
    )
    evaluate.add_argument("--split", choices=("train", "validation", "test"), help="default: test")
    evaluate.add_argument("--files", nargs="+", metavar="MESH", help="in place of a split: any files with the truth")
    evaluate.add_argument("--parameters", type=Path, metavar="TABLE", help="numbers of these files, .csv or .json")
    _add_device(evaluate)
    _add_quiet(evaluate)
    evaluate.set_defaults(run=commands["evaluate"])

    calibrate = verbs.add_parser("calibrate", help="bounds of the errors from held-out files, kept in the checkpoint")
    _add_checkpoint(calibrate)
    calibrate.add_argument(
        "meshes", type=Path, nargs="+", metavar="MESH", help="mesh files with the truth, which were not trained on"
    )
    calibrate.add_argument("--parameters", type=Path, metavar="TABLE", help="numbers of these files, .csv or .json")
    _add_device(calibrate)
    _add_quiet(calibrate)
    calibrate.set_defaults(run=commands["calibrate"])

    predict = verbs.add_parser("predict", help="predict the fields of mesh files")
    _add_checkpoint(predict)
    predict.add_argument("meshes", type=Path, nargs="+", metavar="MESH", help="mesh files with the input fields")
    predict.add_argument(
        "--parameters", type=Path, metavar="TABLE", help="numbers of the files, .csv (with a column 'file') or .json"
    )
    predict.add_argument("--steps", type=int, metavar="N", help="states to predict, of a model of time series")
    predict.add_argument(
        "--value",
        action="append",
        default=[],
        type=argument,
        metavar="NAME=NUMBER",
        help="a number that the files lack, or a component of one, as in load_x=2; once a number",
    )
    predict.add_argument(
        "--fill",
        type=float,
        metavar="SPACING",
        help="the meshes are closed surfaces: fill them with points this far apart",
    )
    predict.add_argument(
        "--line",
        action="append",
        default=[],
        metavar="FROM:TO:N",
        help="a table of values along a line, .csv, as in --line=0,0,0:1,0,0:100; may be repeated",
    )
    predict.add_argument(
        "--slice",
        action="append",
        default=[],
        metavar="POINT:NORMAL",
        help="the fields on a plane, .vtp, as in --slice=0,0,0.5:0,0,1; may be repeated",
    )
    predict.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write the mesh files")
    _add_device(predict)
    _add_quiet(predict)
    predict.set_defaults(run=commands["predict"])

    _add_sweep(verbs.add_parser("sweep", help="predict one mesh for many values of its numbers"), commands["sweep"])
    optimise = verbs.add_parser("optimise", help="find the values of a mesh's numbers for which a quantity is smallest")
    _add_optimise(optimise, commands["optimise"])
    _add_choose(verbs.add_parser("choose", help="which meshes to simulate next"), commands["choose"])

    _add_view(verbs.add_parser("view", help="look at predictions in the browser"), commands["view"])

    describe = verbs.add_parser("describe", help="what is in mesh files, and what could go wrong with them")
    describe.add_argument("meshes", nargs="+", metavar="MESH", help="mesh files, quoted patterns, or folders of them")
    describe.add_argument("--write", type=Path, metavar="FILE", help="write a configuration to train with, .toml")
    describe.add_argument("--overwrite", action="store_true", help="replace the file of --write")
    describe.add_argument("--json", type=Path, metavar="FILE", help="write the same to a JSON file")
    _add_quiet(describe)
    describe.set_defaults(run=commands["describe"])

    export = verbs.add_parser("export", help="write a trained model as a program that runs without pitgeo")
    export.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="best.ckpt or last.ckpt of a run")
    export.add_argument("file", type=Path, metavar="FILE", help="what to write, .pt2 (torch) or .onnx")
    export.add_argument(
        "--outputs",
        choices=("input", "own"),
        default="input",
        help="where values are wanted: at the input points (default), or at points of their own",
    )
    export.add_argument(
        "--attention", choices=("dense", "fused"), default="dense", help="form of global attention (default: dense)"
    )
    export.set_defaults(run=commands["export"])
    return parser


def _add_sweep(sweep: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    _add_mesh(sweep)
    _add_vary(sweep, "values of a number: load=0:10:5 (five from 0 to 10), load=1,2,5, or load=0:10 with --samples")
    sweep.add_argument("--samples", type=int, metavar="N", help="draw so many from the ranges, a Latin hypercube")
    sweep.add_argument("--seed", type=int, default=0, metavar="N", help="of the Latin hypercube (default: 0)")
    sweep.add_argument(
        "--quantity",
        action="append",
        default=[],
        type=argument,
        metavar="NAME",
        help="a column of the table, as in peak:von_mises or mean:heat@outlet (default: those of the run, or peaks)",
    )
    sweep.add_argument("--fields", action="store_true", help="write the predicted meshes too")
    sweep.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write sweep.csv")
    _add_device(sweep)
    _add_quiet(sweep)
    sweep.set_defaults(run=run)


def _add_optimise(optimise: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    _add_mesh(optimise)
    _add_vary(optimise, "a number and its range, as in load=0:10")
    goal = optimise.add_mutually_exclusive_group(required=True)
    goal.add_argument("--minimise", type=argument, metavar="NAME", help="a quantity (peak:von_mises) or a number")
    goal.add_argument("--maximise", type=argument, metavar="NAME", help="the same, to become largest")
    optimise.add_argument(
        "--subject-to",
        action="append",
        default=[],
        type=argument,
        metavar="LIMIT",
        help="a constraint, as in 'peak:von_mises<=2e8'",
    )
    optimise.add_argument("--samples", type=int, default=64, metavar="N", help="first values to try (default: 64)")
    optimise.add_argument("--starts", type=int, default=3, metavar="N", help="searches from the best (default: 3)")
    optimise.add_argument("--seed", type=int, default=0, metavar="N", help="of the first values (default: 0)")
    optimise.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write optimum.vtu")
    _add_device(optimise)
    _add_quiet(optimise)
    optimise.set_defaults(run=run)


def _add_choose(choose: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    choose.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="ensemble.json, or best.ckpt or last.ckpt")
    choose.add_argument(
        "pool", nargs="+", metavar="POOL", help="mesh files with the input fields, or patterns; one file with --vary"
    )
    _add_parameters(choose)
    choose.add_argument("--number", type=int, required=True, metavar="N", help="how many to choose")
    choose.add_argument(
        "--quantity",
        default="",
        type=argument,
        metavar="NAME",
        help="what matters, as in peak:von_mises (default: all)",
    )
    _add_vary(choose, "values of a number of one mesh to choose from, as in load=0:10:50", is_required=False)
    choose.add_argument("--output", type=Path, required=True, metavar="FILE", help="the table to write, .csv")
    _add_device(choose)
    _add_quiet(choose)
    choose.set_defaults(run=run)


def _add_view(view: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    _add_checkpoint(view)
    view.add_argument("meshes", nargs="*", metavar="MESH", help="mesh files (default: the test samples of the run)")
    _add_parameters(view)
    view.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="interface to listen on (default: 127.0.0.1, this machine alone); elsewhere the address has a token",
    )
    view.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on (default: any that is free)")
    _add_device(view)
    view.set_defaults(run=run)


def _add_mesh(command: argparse.ArgumentParser) -> None:
    _add_checkpoint(command)
    command.add_argument("mesh", type=Path, metavar="MESH", help="a mesh file with the input fields")
    _add_parameters(command)


def _add_parameters(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--parameters",
        type=Path,
        metavar="TABLE",
        help="numbers that a file lacks, .csv (with a column 'file') or .json",
    )


def _add_vary(command: argparse.ArgumentParser, text: str, is_required: bool = True) -> None:
    command.add_argument(
        "--vary",
        action="append",
        required=is_required,
        default=None if is_required else [],
        type=argument,
        metavar="NAME=VALUES",
        help=f"{text}; once a number",
    )


def _add_checkpoint(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="best.ckpt, last.ckpt or ensemble.json of a run"
    )


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", choices=DEVICES, default="auto", help="where the model runs (default: auto)")


def with_flags(text: str) -> str:
    """A message in which the arguments of functions are called by their flags; names of fields stay as they are.

    Example:
        >>> with_flags("Expected 'steps' of at least 1 (got 0); choose another 'output'")
        'Expected --steps of at least 1 (got 0); choose another --output'
        >>> with_flags("Expected a field 'steps' (got 'output', 'parameters')")
        "Expected a field 'steps' (got 'output', 'parameters')"
    """
    names = "|".join(FLAGS)
    return re.sub(rf"(?<!field )(?<!\(got )(?<!', )'({names})'", lambda found: f"--{FLAGS[found[1]]}", text)


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no progress bars, and nothing file by file")
