"""Differences of a mesh from those of the training: inputs out of range, another size, another time step."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_sizes import MeshSizes, units_hint
from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh, Note, summary
from pitgeo.mesh.step_numbers import step_range

log = logging.getLogger(__name__)


class MeshDoubts:
    """Compares meshes with those of the training, as the checkpoint describes them, and reports differences.

    Args:
        table: Inputs and targets.
        facts: What the checkpoint says about itself.
    """

    def __init__(self, table: FieldTable, facts: Mapping[str, Any]) -> None:
        self.table = table
        self.ranges: Sequence[tuple[float, float]] | None = facts.get("ranges")
        self.sizes = None if facts.get("meshes") is None else MeshSizes.parse(facts["meshes"])
        self._kept: list[tuple[str, Sequence[Note]]] | None = None

    @property
    def time_step(self) -> float | None:
        """The time from one state to the next in training, if the model has learned such steps."""
        return None if self.sizes is None else self.sizes.time_step

    def of_inputs(self, inputs: Floats) -> list[Note]:
        """A note for every input that leaves the range of the training set by more than a tenth of it.

        Args:
            inputs: The result of :meth:`~pitgeo.data.fields.FieldTable.read` for a mesh.
        """
        notes: dict[Note, None] = {}
        fields = [field for field in self.table.inputs for _ in range(field.stored)]
        ends = np.stack(self.table.ranges(inputs), 1).tolist()
        for field, (least, most), (low, high) in zip(fields, ends, self.ranges or (), strict=self.ranges is not None):
            margin = (high - low) / 10
            if least < low - margin or most > high + margin:
                hint = "" if field.is_geometry else units_hint((least, most), (low, high))
                text = (
                    f"{field.name!r} runs from {least:.4g} to {most:.4g}, outside of the {low:.4g} to {high:.4g} of "
                    f"the training set{hint}: do not rely on the prediction"
                )
                notes[Note(f"{'geometry' if field.is_geometry else 'input'} {field.name}", text)] = None
        return list(notes)

    def of_mesh(self, mesh: Mesh, inputs: Floats) -> list[Note]:
        """The notes of :meth:`of_inputs`, and those on the size and the normals of the mesh."""
        notes = self.of_inputs(inputs)
        if self.sizes is None:
            return notes
        parts = self.table.parts(inputs, "inputs")
        normals = [part.mean(0).tolist() for field, part in parts if field.is_geometry and field.name == "normals"]
        own = list(self.sizes.doubts(mesh, normals[0] if normals else ()))
        if any(note.kind == "size" for note in own):  # which changes computed inputs too
            notes = [note for note in notes if not note.kind.startswith("geometry ")]
        return [*own, *notes]

    def of_times(self, times: Sequence[float]) -> list[Note]:
        """A note if the time steps of a series differ from those of the training."""
        lengths = np.diff(times).tolist()
        if self.time_step is None or not lengths or step_range([self.time_step, *lengths]) is None:
            return []
        text = f"steps of {lengths[0]:g}, but those of the training are of {self.time_step:g}"
        return [Note("time step", f"{text}: do not rely on the prediction")]

    def say(self, mesh: Mesh, notes: Sequence[Note]) -> None:
        """Log the notes on a mesh; within :meth:`summed_up`, keep them and those of its reader until the end."""
        if self._kept is not None:
            self._kept.append((str(mesh.path or "the mesh"), [*mesh.notes, *notes]))
            return
        for note in notes:
            log.warning("%s: %s", mesh.path or "the mesh", note.text)

    @contextmanager
    def summed_up(self) -> Iterator[None]:
        """Log the notes on all meshes at the end of this context, one line for each kind."""
        self._kept = []
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            for line in summary(kept, len({name for name, _ in kept})):
                log.warning("%s", line)
