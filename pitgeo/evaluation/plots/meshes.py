"""Pictures of fields on the cells of meshes: truth, prediction, error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pitgeo.evaluation.plots.arcs import Curves, chains
from pitgeo.evaluation.plots.drawn import DrawnField, MeshSample
from pitgeo.evaluation.plots.grid import Grid
from pitgeo.evaluation.plots.panels import Plane, Section, Space
from pitgeo.evaluation.plots.style import color_limits, save

__all__ = ["MeshSample", "mesh_fields"]


def mesh_fields(rows: Sequence[MeshSample], output: Path | str, label: str = "value") -> Path | None:
    """Draw truth, prediction and absolute error of each sample, one sample a row.

    Meshes in the plane are drawn with their cells, or as dots without cells. For a line or curves in the plane, values
    are drawn over the position or the arc length. VTK draws meshes in space from outside, with marks where the truth (a
    ring) and the prediction (a cross) are largest, faint where something is before them. Below bodies is a cut through
    the peak of the truth. Truth and prediction share their colours and their view; all rows share the colours of the
    error. Arrows on the colour bars have the meaning of those in :func:`~pitgeo.evaluation.plots.field_triptych`.

    Args:
        rows: The samples.
        output: The PNG file to write.
        label: Name and unit of the field.

    Returns:
        The file written; ``None`` (and a warning in the log) if a mesh is in space and VTK cannot draw here.

    Raises:
        ValueError: If there is no row, or the number of values differs from that of the points or cells.
        ImportError: If a mesh is in space and PyVista is not installed.
    """
    if not rows:
        raise ValueError("Expected 'rows' to hold at least one sample (got none)")
    fields = [DrawnField(row) for row in rows]
    errors = [field.error for field in fields if field.error is not None]
    limits = color_limits(np.concatenate(errors), start=0.0) if errors else None
    titles, drawers = list[str](), list[Curves | Plane | Space]()
    for field in fields:
        drawers.append(_drawer(field, limits))
        titles.append(field.title)
        if isinstance(drawers[-1], Space) and field.dimension == 3:
            section = Section(field, limits)
            drawers.append(section)
            titles.append(f"cut at {section.place}, by the peak of the {section.what}")
    if any(isinstance(drawer, Space) and drawer.shown is None for drawer in drawers):
        return None
    aspects = [drawer.aspect for drawer in drawers]
    grid = Grid(titles, aspects, 3 if errors or any(isinstance(drawer, Curves) for drawer in drawers) else 1)
    for number, drawer in enumerate(drawers):
        grid.name(number)
        drawer.draw(grid, number, label)
    return save(grid.figure, output)


def _drawer(field: DrawnField, errors: tuple[float, float] | None) -> Curves | Plane | Space:
    axes = field.mesh.points.shape[1]
    if axes == 3:
        return Space(field, errors)
    if axes == 1:
        return Curves(field, None)
    if field.dimension == 1 and (curves := chains(field.segments)) is not None:
        return Curves(field, curves)
    return Plane(field, errors)
