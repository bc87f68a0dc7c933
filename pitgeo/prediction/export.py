"""Export of trained models as programs that run without pitgeo: torch's ``.pt2`` and ONNX."""

from __future__ import annotations

import io
import json
import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram

from pitgeo.data.point_data import GRAPHS, PointData
from pitgeo.nn import PiT, Rollout
from pitgeo.prediction.portable import Form, Portable
from pitgeo.prediction.predictor import Predictor, load
from pitgeo.system.atomic_files import write_atomic

ENDINGS = (".pt2", ".onnx")
OPSET = 18
_POSITIONS = {"input": "pos", "latent": "pos_latent", "output": "pos_out"}

Outputs = Literal["input", "own"]

__all__ = ["ENDINGS", "Program", "export_model", "program_inputs"]


@dataclass(frozen=True)
class Program:
    """The description of an exported file, also stored in it: as ``pitgeo.json``, or in the metadata of ONNX.

    Args:
        path: The file.
        inputs: Shape of every input, by its name, in their order; a word stands for any number.
        outputs: Name of every channel of the output.
        attention: The form that global attention was exported in.
        graphs: The quantile of every graph, by its name.
        latent: Choice of the latent points, as in ``[model.pit.latent]``.
        period: Length of the domain along each axis, for a periodic domain.
        offset: To be subtracted from all positions before they become single precision; empty for nothing.
    """

    path: Path
    inputs: dict[str, list[int | str]]
    outputs: tuple[str, ...]
    attention: Form
    graphs: dict[str, float]
    latent: dict[str, Any]
    period: tuple[float, ...]
    offset: tuple[float, ...]

    def facts(self) -> str:
        """All but the path, as JSON."""
        return json.dumps({name: value for name, value in vars(self).items() if name != "path"})


def export_model(
    checkpoint: str | Path,
    path: str | Path,
    sample: PointData | None = None,
    outputs: Outputs = "input",
    attention: Form = "dense",
) -> Program:
    """Write a trained PiT as a program for one sample at a time, from physical inputs to physical outputs.

    The program contains the scalings and the unit box. Points and graphs are inputs, see :func:`program_inputs`.

    Args:
        checkpoint: ``best.ckpt`` or ``last.ckpt`` of a run.
        path: The file to write, ``.pt2`` for :func:`torch.export.load` or ``.onnx``.
        sample: A raw sample that fixes the numbers of points and edges of the program; ``None`` for any numbers.
        outputs: ``"input"``: the output points are the input points; ``"own"``: they are another input. With a
            ``sample``, its output points decide.
        attention: Form of the processor's global attention: ``"dense"`` is exact for any length scale, and holds a
            matrix of all pairs of latent points; ``"fused"`` is torch's scaled dot-product attention, less exact for
            heads with lengths much smaller than the domain.

    Returns:
        The description of the file.

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        ImportError: If ``path`` is an ONNX file and ``pip install 'pitgeo[export]'`` is missing.
        ValueError: If the file has another ending, or the model cannot be exported in this way.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(
            f"Expected a file to export to that ends in {' or '.join(ENDINGS)} (got {path}); choose one of these"
        )
    if path.suffix.lower() == ".onnx":
        _require_onnx()
    for name, value, allowed in (("outputs", outputs, ("input", "own")), ("attention", attention, ("dense", "fused"))):
        if value not in allowed:
            raise ValueError(f"Expected '{name}' to be one of {allowed} (got {value!r})")
    predictor = load(checkpoint)
    _model(predictor)
    module = Portable(predictor, attention)
    example = program_inputs(predictor, sample) if sample else _example(predictor, outputs)
    dynamic = {name: {} for name in example} if sample else _dimensions(predictor, example)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its own
        exported = torch.export.export(module, (), example, dynamic_shapes=dynamic, strict=False)
    shapes: dict[str, list[int | str]] = {
        name: [dynamic[name][axis].__name__ if axis in dynamic[name] else size for axis, size in enumerate(value.shape)]
        for name, value in example.items()
    }
    graphs = {name: getattr(_model(predictor).graphs, name) for name in _graphs(predictor)}
    options: Any = predictor.config.model.options
    latent, period = options.latent.model_dump(exclude_none=True), options.period
    offset = predictor.table.offset
    program = Program(path, shapes, predictor.targets, attention, graphs, latent, period, offset)
    if path.suffix.lower() == ".onnx":
        content = _onnx(exported, program)
    else:
        buffer = io.BytesIO()
        torch.export.save(exported, buffer, extra_files={"pitgeo.json": program.facts()})
        content = buffer.getvalue()
    write_atomic(path, content)
    return program


def program_inputs(checkpoint: str | Path | Predictor, sample: PointData) -> dict[str, Tensor]:
    """The inputs of an exported program for a raw sample, by their names.

    These are ``pos`` ``[N, D]``; ``x`` ``[N, C]``, if there are values; ``pos_latent`` ``[L, D]``, if the latent points
    are not the input points; ``pos_out`` ``[M, D]``, if the output points are not the input points;
    ``<graph>_edge_index`` ``[2, E]``, sources, then targets, for those of ``encoder`` (input to latent), ``decoder``
    (latent to output) and ``output`` that the model has; and ``quadrature`` ``[N]``, if the model weighs input points.

    Args:
        checkpoint: The model that was exported, as a file or loaded.
        sample: The sample, with positions and values in physical units.

    Raises:
        ValueError: If the sample has other channels than the model, or is a batch.
    """
    predictor = checkpoint if isinstance(checkpoint, Predictor) else load(checkpoint)
    _model(predictor)
    wanted = predictor.facts["shape"]["in_channels"]
    if sample.input_dim != wanted or sample.x.dim() != 2 or "batch" in sample:
        raise ValueError(
            f"Expected one sample with {wanted} input channels, coordinates and values together (got "
            f"{sample.pos.shape[1]} coordinates and values of shape {list(sample.x.shape)}"
            f"{', in a batch' if 'batch' in sample else ''}); take the samples one by one"
        )
    data = predictor.config.model.options.transform()(sample)
    inputs = {"pos": data.pos}
    if data.x.shape[-1]:
        inputs["x"] = data.x
    for kind in ("latent", "output"):
        if not data.coincide("input", kind):
            inputs[_POSITIONS[kind]] = data.points(kind)[0]
    for graph in _graphs(predictor):
        inputs[f"{graph}_edge_index"] = data.graph(graph).edge_index
    if _model(predictor).graphs.quadrature:
        inputs["quadrature"] = data.quadrature
    return inputs


def _model(predictor: Predictor) -> PiT:
    """The PiT of a predictor; a ``ValueError`` if it has none, or corrects a control."""
    model = predictor.model.model if isinstance(predictor.model, Rollout) else predictor.model
    if not isinstance(model, PiT):
        raise ValueError(
            f"Expected a model of the kind 'pit' to export (got {predictor.path}, of the kind "
            f"{predictor.config.model.name!r}); other models cannot be exported"
        )
    if predictor.module.control is not None:
        raise ValueError(
            f"Expected a model that predicts alone (got {predictor.path}, which corrects a control); train with "
            f"model.pit.residual_of = 'none' to export it"
        )
    if predictor.module.frame is not None:
        raise ValueError(
            f"Expected a model without scaling.frame (got {predictor.path}, which turns every mesh along "
            f"{predictor.module.frame.name!r}); train without it to export the model"
        )
    return model


def _graphs(predictor: Predictor) -> list[str]:
    graphs = _model(predictor).graphs
    return [name for name in GRAPHS if getattr(graphs, name) is not None]


def _example(predictor: Predictor, outputs: Outputs) -> dict[str, Tensor]:
    """Example inputs of the right form, with all sizes different, from which torch traces the program."""
    shape = predictor.facts["shape"]
    dimension = shape["dimension"]
    fixed_in, fixed_out = _fixed(predictor)
    sizes = {"input": fixed_in or 13}
    options: Any = predictor.config.model.options
    if options.latent.method != "input":
        sizes["latent"] = 7
    if outputs == "own":
        sizes["output"] = fixed_out or 11
    inputs = {"pos": _values(sizes["input"], dimension)}
    if shape["in_channels"] > dimension:
        inputs["x"] = _values(sizes["input"], shape["in_channels"] - dimension)
    inputs |= {_POSITIONS[kind]: _values(size, dimension) for kind, size in sizes.items() if kind != "input"}
    for number, graph in enumerate(_graphs(predictor)):
        counts = [sizes.get(kind, sizes["input"]) for kind in GRAPHS[graph]]
        target = torch.arange(2 * counts[0] + number) % counts[0]
        inputs[f"{graph}_edge_index"] = torch.stack([torch.arange(len(target)) % counts[1], target])
    if _model(predictor).graphs.quadrature:
        inputs["quadrature"] = _values(sizes["input"], 1).flatten()
    return inputs


def _values(rows: int, columns: int) -> Tensor:
    """Positive values, all different."""
    return torch.linspace(0.1, 1.0, rows * columns).reshape(rows, columns)


def _dimensions(predictor: Predictor, example: dict[str, Tensor]) -> dict[str, dict[int, Any]]:
    """The sizes of the inputs that may differ from those of the example."""
    points = {name: Dim(f"{kind}_points") for kind, name in _POSITIONS.items()}
    if _fixed(predictor)[0]:
        del points["pos"]
    points |= {"x": points["pos"], "quadrature": points["pos"]} if "pos" in points else {}
    if _fixed(predictor)[1]:
        points.pop("pos_out")
    dimensions: dict[str, dict[int, Any]] = {}
    for name in example:
        if name.endswith("_edge_index"):
            dimensions[name] = {1: Dim(name.replace("edge_index", "edges"))}
        else:
            dimensions[name] = {0: points[name]} if name in points else {}
    return dimensions


def _fixed(predictor: Predictor) -> tuple[int, int]:
    """Numbers of input and output points if there is a scaling for every point; else 0."""
    module = predictor.module
    inputs, outputs = (
        len(part.mean) if part.mean.dim() == 2 else 0 for part in (module.input_scaling, module.target_scaling)
    )
    return inputs, outputs


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Expected onnx and onnxscript to be installed, to write ONNX (got: {error}); run\n"
            f"    pip install 'pitgeo[export]'"
        ) from error


def _onnx(exported: ExportedProgram, program: Program) -> bytes:
    registry = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registry.level
    registry.setLevel(logging.ERROR)  # it warns that there is no torchvision
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, about its own
            written = cast(Any, torch.onnx.export(exported, (), dynamo=True, opset_version=OPSET, verbose=False))
    finally:
        registry.setLevel(level)
    written.model.metadata_props["pitgeo.json"] = program.facts()
    return cast(bytes, written.model_proto.SerializeToString())
