"""The command line: ``pitgeo train|evaluate|calibrate|predict|sweep|optimise|choose|view|describe|export``.

Here alone pitgeo prints, and sets exit codes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pitgeo.cli.arguments import make_parser, with_flags
from pitgeo.cli.decide import choose, optimise, sweep
from pitgeo.cli.model import loaded
from pitgeo.cli.terminal import bars, check_folder, console, given
from pitgeo.cli.view import view
from pitgeo.system.interrupted import InterruptionError, ignore_echoes
from pitgeo.system.memory import importing, keep_memory
from pitgeo.system.threads import share_processors

if TYPE_CHECKING:
    from pitgeo.evaluation.scores import Split

ERROR = 2
"""Exit code when something was asked for that cannot be done."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments; ``None`` for those of the process.

    Returns:
        The exit code: 0, 2 for a mistake (one line says which), or 128 and the signal's number.
    """
    share_processors()
    with console():
        arguments = make_parser(_COMMANDS).parse_args(argv)
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
            hint = "; if the run has a last.ckpt, --resume goes on from there" if "resume" in arguments else ""
            print(f"pitgeo: stopped{hint}", file=sys.stderr)
            return 130
        except OSError as error:
            what = f"{error.filename}: {error.strerror}; check the path" if error.filename else str(error)
            print(f"pitgeo: error: {with_flags(' '.join(what.split()))}", file=sys.stderr)
            return ERROR
        except (ValueError, TypeError, ImportError, ArithmeticError, RuntimeError) as error:
            print(f"pitgeo: error: {with_flags(' '.join(str(error).split()))}", file=sys.stderr)
            return ERROR


def _train(arguments: argparse.Namespace) -> int:
    with importing():
        from pitgeo.config.config import load_config
        from pitgeo.workflows.run import dry_run, train

    overrides = [*arguments.set]
    overrides += [f'training.device="{arguments.device}"'] if arguments.device else []
    overrides += [f'training.precision="{arguments.precision}"'] if arguments.precision else []
    config = load_config(arguments.config, overrides)
    if arguments.dry_run:
        print("\n".join(dry_run(config)))
        return 0
    output = arguments.output or Path("runs") / arguments.config.stem
    check_folder(output)
    if arguments.members is not None:
        from pitgeo.workflows.train_ensemble import train_ensemble

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
    with importing():
        import torch

        from pitgeo.evaluation.evaluation import evaluate
        from pitgeo.training import torch_device

    split: Split = arguments.split or "test"
    if arguments.files:
        return _evaluate_files(arguments)
    if arguments.parameters:
        raise ValueError("Expected --parameters with --files, whose numbers the table has (got no --files)")
    if arguments.checkpoint.suffix.lower() == ".json":
        return _evaluate_ensemble(arguments)
    output = arguments.output or _report_folder(arguments.checkpoint, split)
    check_folder(output)
    torch.set_flush_denormal(True)  # as in training
    device = torch_device(arguments.device)
    result = evaluate(
        arguments.checkpoint, output, split, device, progress=not arguments.quiet, overrides=arguments.set
    )
    _report(result, arguments.checkpoint, output)
    return 0


def _evaluate_files(arguments: argparse.Namespace) -> int:
    from pitgeo.evaluation.evaluation import write_json
    from pitgeo.evaluation.measure_table import format_errors, format_quantities
    from pitgeo.evaluation.trust import format_trust

    if arguments.set or arguments.split:
        raise ValueError("Expected no --set and no --split with --files, which are evaluated as they are (got one)")
    if arguments.output:
        check_folder(arguments.output)
    result = loaded(arguments).evaluate(
        arguments.files, arguments.parameters, bars("evaluate", "mesh", arguments.quiet)
    )
    print(f"{result['checkpoint']}: {result['model']}, {_files(result['samples'])}\n")
    print("\n".join([*format_errors(result["errors"]), *format_quantities(result), *format_trust(result)]))
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        write_json(arguments.output / "evaluation.json", result)
        print(f"report: {arguments.output / 'evaluation.json'}")
    return 0


def _evaluate_ensemble(arguments: argparse.Namespace) -> int:
    import torch

    from pitgeo.evaluation.calibration import evaluate_ensemble
    from pitgeo.prediction.predictor import load_ensemble
    from pitgeo.training import torch_device

    if arguments.set:
        raise ValueError("Expected no --set with an ensemble, which is evaluated on its own data (got one)")
    folder, split = arguments.checkpoint.parent, cast("Split", arguments.split or "test")
    output = arguments.output or (folder if split == "test" else folder / split)
    torch.set_flush_denormal(True)  # as in training
    ensemble = load_ensemble(arguments.checkpoint, torch_device(arguments.device))
    _report_ensemble(evaluate_ensemble(ensemble, output, split, progress=not arguments.quiet), output)
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
    with importing():
        from pitgeo.evaluation.measure_table import format_errors, format_quantities
        from pitgeo.prediction.files import QUANTITIES, predict_with
        from pitgeo.prediction.query import Line, Plane, Query

    check_folder(arguments.output)
    query = Query(
        given(arguments.value),
        arguments.fill,
        tuple(map(Line.parse, arguments.line)),
        tuple(map(Plane.parse, arguments.slice)),
    )
    predictor = loaded(arguments)
    measures = predictor.measures()
    written = predict_with(
        predictor,
        arguments.meshes,
        arguments.output,
        bars("predict", "mesh", arguments.quiet),
        arguments.parameters,
        arguments.steps,
        measures,
        query,
    )
    print(f"{_files(len(written))} in {arguments.output}" if arguments.quiet else "\n".join(map(str, written)))
    if measures.quantities:
        print(arguments.output / QUANTITIES)
    if measures.names:  # beside the list of files
        lines = [f"errors in {_files(len(measures.names))} with the truth", *format_errors(measures.result())]
        print("\n".join([*lines, *format_quantities(measures.quantities.result())]), file=sys.stderr)
    return 0


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def _describe(arguments: argparse.Namespace) -> int:
    from pitgeo.describe import describe, format_description

    if arguments.json:
        check_folder(arguments.json.parent, "--json")
    if arguments.write:
        check_folder(arguments.write.parent, "--write")
        if arguments.write.exists() and not arguments.overwrite:
            raise ValueError(
                f"Expected a new file to write to (got {arguments.write}, which is there); give another --write, or "
                f"--overwrite"
            )
    description = describe(arguments.meshes, bars("describe", "mesh", arguments.quiet))
    if arguments.json:
        from pitgeo.evaluation.evaluation import write_json  # training comes with it

        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        write_json(arguments.json, description.to_dict())
    print(format_description(description))
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(description.suggestion, encoding="utf-8")
        print(f"\nwritten to {arguments.write}; train with: pitgeo train {arguments.write}")
    return 0


def _calibrate(arguments: argparse.Namespace) -> int:
    from pitgeo.prediction.bounds import LEVELS

    predictor = loaded(arguments)
    bounds = predictor.calibrate(arguments.meshes, arguments.parameters, bars("calibrate", "mesh", arguments.quiet))
    predictor.store_bounds()
    texts = [text for level in LEVELS if (text := bounds.lacking(level))]
    print("\n".join([*texts, f"bounds calibrated on {bounds.source}, stored in {arguments.checkpoint}"]))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    with importing():
        from pitgeo.prediction.export import export_model

    check_folder(arguments.file.parent, "FILE")
    program = export_model(
        arguments.checkpoint, arguments.file, outputs=arguments.outputs, attention=arguments.attention
    )
    for name, shape in program.inputs.items():
        print(f"{name}: {' x '.join(str(size) for size in shape)}")
    print(f"gives: {', '.join(program.outputs)}\nglobal attention: {program.attention}\n{program.path}")
    return 0


def _report(result: dict[str, Any], checkpoint: Path, output: Path) -> None:
    from pitgeo.evaluation.evaluation import format_table

    _report_verdict(result)
    print(format_table(result))
    print(f"checkpoint: {checkpoint}\nreport: {output / 'evaluation.json'}, pictures in {output / 'pictures'}")


def _report_verdict(result: dict[str, Any]) -> None:
    if sentences := result.get("verdict", {}).get("sentences"):
        print("\n".join([*sentences, ""]))


def _report_ensemble(result: dict[str, Any], output: Path) -> None:
    from pitgeo.evaluation.calibration import format_ensemble

    _report_verdict(result)
    print(format_ensemble(result))
    print(f"ensemble: {output / 'ensemble.json'}, picture: {output / 'pictures' / 'calibration.png'}")


_COMMANDS = {
    "train": _train,
    "evaluate": _evaluate,
    "calibrate": _calibrate,
    "predict": _predict,
    "sweep": sweep,
    "optimise": optimise,
    "choose": choose,
    "view": view,
    "describe": _describe,
    "export": _export,
}
