"""The command line: ``pitgeo train|evaluate|predict|describe|export``.

Here alone pitgeo prints, and sets exit codes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pitgeo.interrupted import InterruptionError, ignore_echoes
from pitgeo.memory import keep_memory
from pitgeo.terminal import argument, console

DEVICES = ("auto", "cpu", "gpu")
ERROR = 2
"""Exit code when something was asked for that cannot be done."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments; ``None`` for those of the process.

    Returns:
        The exit code: 0, 2 for a mistake (one line says which), or 128 and the signal's number.
    """
    with console():
        arguments = _parser().parse_args(argv)
        keep_memory()
        try:
            return int(arguments.run(arguments))
        except InterruptionError as interruption:
            ignore_echoes()
            from pitgeo.training.distributed import is_first_process

            if is_first_process():  # all stop at the same step
                print(f"pitgeo: {interruption}; resume with the same command and --resume", file=sys.stderr)
            return 128 + interruption.number
        except KeyboardInterrupt:
            print("pitgeo: stopped; if the run has a last.ckpt, --resume goes on from there", file=sys.stderr)
            return 130
        except OSError as error:
            what = f"{error.filename}: {error.strerror}; check the path" if error.filename else str(error)
            print(f"pitgeo: error: {' '.join(what.split())}", file=sys.stderr)
            return ERROR
        except (ValueError, TypeError, ImportError, ArithmeticError, RuntimeError) as error:
            print(f"pitgeo: error: {' '.join(str(error).split())}", file=sys.stderr)
            return ERROR


def _train(arguments: argparse.Namespace) -> int:
    from pitgeo.config import load_config
    from pitgeo.run import dry_run, train

    overrides = [*arguments.set]
    overrides += [f'training.device="{arguments.device}"'] if arguments.device else []
    overrides += [f'training.precision="{arguments.precision}"'] if arguments.precision else []
    config = load_config(arguments.config, overrides)
    if arguments.dry_run:
        print("\n".join(dry_run(config)))
        return 0
    output = arguments.output or Path("runs") / arguments.config.stem
    _check_folder(output)
    if arguments.members is not None:
        from pitgeo.train_ensemble import train_ensemble

        result = train_ensemble(
            config, output, arguments.members, arguments.resume, arguments.overwrite, progress=not arguments.quiet
        )
        _report_ensemble(result, output)
        return 0
    trained = train(config, output, arguments.resume, arguments.overwrite, progress=not arguments.quiet)
    if trained.evaluation:
        _report(trained.evaluation, trained.checkpoint, output)
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    import torch

    from pitgeo.evaluation import evaluate
    from pitgeo.training import torch_device

    if arguments.checkpoint.suffix.lower() == ".json":
        return _evaluate_ensemble(arguments)
    output = arguments.output or _report_folder(arguments.checkpoint, arguments.split)
    _check_folder(output)
    torch.set_flush_denormal(True)  # as in training
    device = torch_device(arguments.device)
    result = evaluate(
        arguments.checkpoint, output, arguments.split, device, progress=not arguments.quiet, overrides=arguments.set
    )
    _report(result, arguments.checkpoint, output)
    return 0


def _evaluate_ensemble(arguments: argparse.Namespace) -> int:
    import torch

    from pitgeo.calibration import evaluate_ensemble
    from pitgeo.predict import load_ensemble
    from pitgeo.training import torch_device

    if arguments.set:
        raise ValueError("Expected no --set with an ensemble, which is evaluated on its own data (got one)")
    folder = arguments.checkpoint.parent
    output = arguments.output or (folder if arguments.split == "test" else folder / arguments.split)
    torch.set_flush_denormal(True)  # as in training
    ensemble = load_ensemble(arguments.checkpoint, torch_device(arguments.device))
    _report_ensemble(evaluate_ensemble(ensemble, output, arguments.split, progress=not arguments.quiet), output)
    return 0


def _report_folder(checkpoint: Path, split: str) -> Path:
    """The run's folder, unless the report of another split or checkpoint is there: it must not be replaced."""
    folder = checkpoint.parent
    if split != "test":
        return folder / split
    report = folder / "evaluation.json"
    if report.exists() and json.loads(report.read_text(encoding="utf-8"))["checkpoint"] != checkpoint.name:
        return folder / checkpoint.stem
    return folder


def _predict(arguments: argparse.Namespace) -> int:
    import torch

    from pitgeo.predict import predict_files
    from pitgeo.training import torch_device

    def progress(files: Sequence[Path]) -> Iterable[Path]:
        bar: Iterable[Path] = tqdm(files, desc="predict", unit="mesh", disable=arguments.quiet)
        return bar

    _check_folder(arguments.output)
    torch.set_flush_denormal(True)  # as in training
    device = torch_device(arguments.device)
    for path in predict_files(
        arguments.checkpoint,
        arguments.meshes,
        arguments.output,
        device,
        progress,
        arguments.parameters,
        arguments.steps,
    ):
        print(path)
    return 0


def _describe(arguments: argparse.Namespace) -> int:
    from pitgeo.describe import describe, format_description

    def progress(files: Sequence[Path]) -> Iterable[Path]:
        bar: Iterable[Path] = tqdm(files, desc="describe", unit="mesh", disable=arguments.quiet)
        return bar

    if arguments.json:
        _check_folder(arguments.json.parent, "--json")
    description = describe(arguments.meshes, progress)
    if arguments.json:
        from pitgeo.evaluation import write_json  # training comes with it

        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        write_json(arguments.json, description.to_dict())
    print(format_description(description))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from pitgeo.export import export_model

    _check_folder(arguments.file.parent, "FILE")
    program = export_model(
        arguments.checkpoint, arguments.file, outputs=arguments.outputs, attention=arguments.attention
    )
    for name, shape in program.inputs.items():
        print(f"{name}: {' x '.join(str(size) for size in shape)}")
    print(f"gives: {', '.join(program.outputs)}\nglobal attention: {program.attention}\n{program.path}")
    return 0


def _check_folder(folder: Path, option: str = "--output") -> None:
    """Find out before any work whether results can be written.

    Raises:
        ValueError: If a file is in the way, or there is no right to write.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ValueError(
            f"Expected a folder to write to (got {folder}, where {there} is a file); give another {option}"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"Expected a folder that can be written to (got {there}); give another {option}")


def _report(result: dict[str, Any], checkpoint: Path, output: Path) -> None:
    from pitgeo.evaluation import format_table

    print(format_table(result))
    print(f"checkpoint: {checkpoint}\nreport: {output / 'evaluation.json'}, pictures in {output / 'pictures'}")


def _report_ensemble(result: dict[str, Any], output: Path) -> None:
    from pitgeo.calibration import format_ensemble

    print(format_ensemble(result))
    print(f"ensemble: {output / 'ensemble.json'}, picture: {output / 'pictures' / 'calibration.png'}")


def _parser() -> argparse.ArgumentParser:
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
    train.set_defaults(run=_train)

    evaluate = verbs.add_parser("evaluate", help="relative errors and pictures of a checkpoint")
    evaluate.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="best.ckpt, last.ckpt or ensemble.json of a run"
    )
    evaluate.add_argument("--output", type=Path, metavar="DIR", help="where to write (default: the run's folder)")
    evaluate.add_argument(
        "--set",
        action="append",
        default=[],
        type=argument,
        metavar="KEY=VALUE",
        help="change the data, as in data.darcy2d.test=50",
    )
    evaluate.add_argument("--split", choices=("train", "validation", "test"), default="test", help="default: test")
    evaluate.add_argument("--device", choices=DEVICES, default="auto", help="where the model runs (default: auto)")
    _add_quiet(evaluate)
    evaluate.set_defaults(run=_evaluate)

    predict = verbs.add_parser("predict", help="predict the fields of mesh files")
    predict.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="best.ckpt, last.ckpt or ensemble.json of a run"
    )
    predict.add_argument("meshes", type=Path, nargs="+", metavar="MESH", help="mesh files with the input fields")
    predict.add_argument(
        "--parameters", type=Path, metavar="TABLE", help="numbers of the files, .csv (with a column 'file') or .json"
    )
    predict.add_argument("--steps", type=int, metavar="N", help="states to predict, of a model of time series")
    predict.add_argument("--output", type=Path, required=True, metavar="DIR", help="where to write the mesh files")
    predict.add_argument("--device", choices=DEVICES, default="auto", help="where the model runs (default: auto)")
    _add_quiet(predict)
    predict.set_defaults(run=_predict)

    describe = verbs.add_parser("describe", help="what is in mesh files, and what could go wrong with them")
    describe.add_argument("meshes", nargs="+", metavar="MESH", help="mesh files, quoted patterns, or folders of them")
    describe.add_argument("--json", type=Path, metavar="FILE", help="write the same to a JSON file")
    _add_quiet(describe)
    describe.set_defaults(run=_describe)

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
    export.set_defaults(run=_export)
    return parser


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


if __name__ == "__main__":
    raise SystemExit(main())
