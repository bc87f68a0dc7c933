"""Errors of predictions on a mesh, for the targets whose true values the mesh holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pitgeo.data import PointData
from pitgeo.data.fields.reading import Floats
from pitgeo.measures.measures import Measures
from pitgeo.mesh import Mesh


def add_mesh(
    measures: Measures, mesh: Mesh, sample: PointData, prediction: Floats, truths: Sequence[Mapping[str, Floats]]
) -> None:
    """Add the errors on one mesh, for the targets and steps with a known truth, and the quantities of the prediction.

    Args:
        measures: Collects the errors; without any known truth, quantities alone are added.
        mesh: The mesh.
        sample: The sample of the prediction.
        prediction: Predicted values ``[m, steps * K]``.
        truths: True values of the first steps by the name of the target, as
            :meth:`~pitgeo.data.fields.FieldTable.truth` gives them; later steps are not known.
    """
    values, known, start = np.zeros_like(prediction), np.zeros(prediction.shape, bool), 0
    for truth in truths:
        for field in measures.table.targets:
            part = slice(start, start + field.channels)
            start += field.channels
            if field.name in truth:
                rows = slice(None) if field.place == "mesh" else measures.table.rows(mesh, field)
                values[rows, part], known[rows, part] = truth[field.name], True
    if known.any():
        name = str(mesh.path) if mesh.path else f"mesh {len(measures.names)}"
        measures.add(name, values, prediction, known, sample.points("output")[0])
    if measures.quantities:
        measures.quantities.add_known(mesh, truths, prediction)
