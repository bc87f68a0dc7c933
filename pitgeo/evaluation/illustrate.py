"""Pictures and mesh files of the best, median and worst sample of an evaluation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pitgeo.data.fields import FieldTable
from pitgeo.data.samples import Samples
from pitgeo.evaluation import plots
from pitgeo.measures.measures import Measures
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.nn import PiT, PositionAttention
from pitgeo.prediction.predictor import Predictor

log = logging.getLogger(__name__)

LABELS = {"von_mises": "von Mises stress"}
"""Names of targets in pictures, if different from those in the data."""

LONGEST = 60
"""Letters of a target in a file name: each takes up to four bytes, and a name may have 255."""


def export(samples: Samples, chosen: dict[str, int], result: dict[str, Any], folder: Path) -> None:
    """Write best, median and worst sample as mesh files with inputs and truth, where the data set has meshes."""
    for which, number in chosen.items():
        if (mesh := samples.mesh(number)) is None:
            continue
        for earlier in folder.glob(f"{which}_*.vtu"):
            earlier.unlink()
        write_mesh(folder / f"{which}_{result['dataset']}_{result[which]['sample_id']}.vtu", mesh)


def draw(
    predictor: Predictor,
    samples: Samples,
    predictions: Sequence[Tensor],
    chosen: dict[str, int],
    result: dict[str, Any],
    folder: Path,
    measures: Measures,
) -> None:
    """Write those of ``fields.png``, ``latent_mesh.png`` and ``length_scales.png`` that apply to a folder.

    Fields without a mesh are drawn on a line and in the plane, latent points in the plane. With several targets, file
    names end in the target. The title of every field has its errors in the sample.
    """
    channels = samples.drawn or range(len(predictor.targets))
    labels = samples.targets or predictor.targets
    first = samples[chosen["median"]]
    axes = first.pos.shape[1]
    table = samples.table
    meshes = _meshes(samples, chosen, axes)
    names = file_names(labels)
    for channel in channels:
        label = labels[channel]
        name = "fields.png" if len(labels) == 1 else f"fields_{names[channel]}.png"
        text = LABELS.get(label, label.replace("$", r"\$"))  # in matplotlib, a dollar begins a formula
        cases = {
            f"{_title(which, result)}, {_errors(measures, number, channel)}": number for which, number in chosen.items()
        }
        if meshes:
            _draw_on_meshes(meshes, cases, samples, predictions, channel, table, folder / name, text)
        elif axes < 3:
            rows = [_row(title, samples, predictions, number, channel) for title, number in cases.items()]
            draw_fields = plots.field_triptych if axes == 2 else plots.field_curves
            draw_fields(rows, folder / name, text)
        else:
            log.info("Fields are not drawn: positions have 3 axes, and there are no meshes")
    prepared = predictor.transform(first)
    if axes == 2 and not prepared.coincide("input", "latent"):
        pos, latent = (prepared.points(kind)[0].numpy() for kind in ("input", "latent"))
        plots.latent_mesh(pos, latent, folder / "latent_mesh.png")
    if scales := head_lengths(predictor):
        spacing, extent = (predictor.facts["shape"][name] / _box_scale(predictor) for name in ("spacing", "extent"))
        plots.length_scales(scales, folder / "length_scales.png", spacing, extent)


def head_lengths(predictor: Predictor) -> list[tuple[str, str, NDArray[np.float32]]]:
    """Name, kind and lengths of every attention layer with length scales, in the unit of the files' positions."""
    pit = next((part for part in predictor.model.modules() if isinstance(part, PiT)), None)
    if pit is None:
        return []
    scale = _box_scale(predictor)
    local = [name for name, part in pit.named_modules() if isinstance(part, PositionAttention)]
    return [
        (name, "local" if any(layer.startswith(name) for layer in local) else "global", (lengths / scale).cpu().numpy())
        for name, lengths in pit.length_scales()
    ]


def _box_scale(predictor: Predictor) -> float:
    """What the positions of files are multiplied by."""
    return float(predictor.facts["box_scale"] or 1.0)


def _meshes(samples: Samples, chosen: dict[str, int], axes: int) -> dict[int, Mesh]:
    """Meshes to draw on: those of mesh files, or lines in the plane, whose values are read over their length."""
    if samples.table is None and axes != 2:
        return {}
    drawable = {number: samples.mesh(number) for number in {*chosen.values()}}
    meshes = {number: mesh for number, mesh in drawable.items() if mesh is not None}
    kinds = {kind for mesh in meshes.values() for kind, _ in mesh.cells}
    is_curve = bool(kinds) and all(kind.startswith("line") for kind in kinds)
    return meshes if samples.table is not None or is_curve else {}


def _draw_on_meshes(
    meshes: dict[int, Mesh],
    cases: dict[str, int],
    samples: Samples,
    predictions: Sequence[Tensor],
    channel: int,
    table: FieldTable | None,
    output: Path,
    label: str,
) -> None:
    """A target on the cells of meshes; numbers of whole meshes are not drawn."""
    field = None
    if table is not None:
        of_channels = [field for field in table.targets for _ in range(field.channels)]
        field = of_channels[channel % len(of_channels)]  # the channels of a series repeat at every step
    place = "point" if field is None else field.place
    if place == "mesh":
        return
    rows = []
    for title, number in cases.items():
        shown = slice(None) if table is None or field is None else table.rows(meshes[number], field)
        truth, prediction = (values[shown, channel].numpy() for values in (samples[number].y, predictions[number]))
        rows.append(plots.MeshSample(title, meshes[number], place, truth, prediction))
    try:
        plots.mesh_fields(rows, output, label)
    except ImportError as error:
        log.warning("%s is not drawn: %s", output.name, error)


def _title(which: str, result: dict[str, Any]) -> str:
    case = result[which]
    name = Path(case["name"]).name if "name" in case else f"sample {case['sample_id']}"
    name = name.replace("$", r"\$")
    return f"{which}: {name}"


def _errors(measures: Measures, number: int, channel: int) -> str:
    """The errors of one channel in one sample, for a title."""
    relative, rmse = measures.of_sample(number, channel)
    return f"relative l2 {'not defined' if relative is None else f'{relative:.4f}'}, rmse {rmse:.4g}"


def file_names(labels: Sequence[str]) -> list[str]:
    """A valid file name for every label, all different.

    Example:
        >>> file_names(["von mises", "von/mises", "T"])
        ['von_mises', 'von_mises_2', 'T']
    """
    code, result = sys.getfilesystemencoding(), list[str]()
    for label in labels:
        text = label.encode(code, "replace").decode(code)
        text = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text)[:LONGEST]
        name, number = text, 1
        while name in result:
            number += 1
            name = f"{text}_{number}"
        result.append(name)
    return result


def _row(title: str, samples: Samples, predictions: Sequence[Tensor], number: int, channel: int) -> plots.FieldSample:
    sample = samples[number]
    polygons = samples.polygons(number)
    pos = sample.points("output")[0].numpy() if polygons is None else polygons.mean(1)
    shown = np.ones(len(pos), bool)
    for axis, (low, high) in enumerate(samples.window or ()):
        shown &= (pos[:, axis] >= low) & (pos[:, axis] <= high)
    return plots.FieldSample(
        title,
        None if polygons is None else polygons[shown],
        pos[shown],
        sample.y[:, channel].numpy()[shown],
        predictions[number][:, channel].numpy()[shown],
    )
