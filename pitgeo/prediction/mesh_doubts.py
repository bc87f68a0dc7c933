"""Differences of a mesh from those of the training: inputs out of range, another size or shape, another time step."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_case import MeshCase, descriptor_sizes
from pitgeo.data.fields.mesh_sizes import MeshSizes, units_hint
from pitgeo.data.fields.reading import Floats
from pitgeo.data.reference_quantities import ReferenceQuantities
from pitgeo.data.samples import Samples
from pitgeo.geometry.shape import count
from pitgeo.mesh import Mesh, Note, summary
from pitgeo.mesh.step_numbers import step_range
from pitgeo.prediction.novelty import LEAST, MARGIN, RARE, Novelty
from pitgeo.prediction.trust import Trust
from pitgeo.training.metadata import linear_in, references_of

log = logging.getLogger(__name__)

DO_NOT = ": do not rely on the prediction"
EDGE = 0.05
"""Share of the training samples that are farther from the others than a sample at the edge."""
ROUNDING = 1e-6
"""Values within this share of the ends of the training range are not at its edge."""
WORDS = {"shape": "the shape", "combination": "the combination of inputs"}
KINDS = {"shape": "shape", "combination": "inputs"}
"""The descriptors of a :class:`MeshCase` that are compared."""
MOST_SAMPLES = 500
MOST_VALUES = 100_000
"""Largest number of descriptors that a checkpoint holds."""


class MeshDoubts:
    """Compares meshes with those of the training, as the checkpoint describes them, and reports differences.

    Args:
        table: Inputs and targets.
        facts: What the checkpoint says about itself.
    """

    def __init__(self, table: FieldTable, facts: Mapping[str, Any]) -> None:
        self.table = table
        self.references = references_of(facts)
        self.linear_in = linear_in(facts)  # predictions go with these however large they are
        self.ranges: Sequence[tuple[float, float]] | None = facts.get("ranges")
        self.sizes = None if facts.get("meshes") is None else MeshSizes.parse(facts["meshes"])
        stored = facts.get("descriptors") or {}
        self.novelties = {kind: _novelty(np.asarray(values), kind, table) for kind, values in stored.items()}
        self._kept: list[tuple[str, Sequence[Note]]] | None = None
        self._found: dict[str, Trust] = {}

    @property
    def time_step(self) -> float | None:
        """The time from one state to the next in training, if the model has learned such steps."""
        return None if self.sizes is None else self.sizes.time_step

    @property
    def margin(self) -> float:
        """Share of the training range that an input may leave it by without being outside of the training set."""
        return min((novelty.margin for novelty in self.novelties.values()), default=MARGIN)

    def case(self, mesh: Mesh, inputs: Floats, has_shape: bool = False) -> MeshCase:
        """A mesh as the numbers that are compared.

        Args:
            mesh: The mesh.
            inputs: The result of :meth:`FieldTable.read` for it.
            has_shape: Whether the numbers of the shape are found in any case, not only where they are compared.
        """
        return self.divided(self.measured(mesh, inputs, has_shape), mesh.where)

    def measured(self, mesh: Mesh, inputs: Floats, has_shape: bool = False) -> MeshCase:
        """The same with the inputs as they are in the file."""
        return MeshCase.of(self.table, mesh, inputs, has_shape or "shape" in self.novelties)

    def divided(self, case: MeshCase, where: str = "") -> MeshCase:
        """Numbers of a mesh, with those of its inputs divided by their references."""
        return _compared(self.table, case, self.references, self.linear_in, where)

    def of_case(self, case: MeshCase) -> list[Note]:
        """A note for everything that puts a mesh outside of the training set.

        That is an input that leaves the training range by more than :attr:`margin`, another size or spacing, normals
        that point the other way, a shape or a combination of inputs that is far from the nearest one of the training.
        """
        notes = self._beyond(case, self.margin)
        own = [] if self.sizes is None else list(self.sizes.doubts(case.sizes, case.normal))
        if any(note.kind == "size" for note in own):  # which changes computed inputs, and the shape too
            notes = [note for note in notes if not note.kind.startswith("geometry ")]
        else:
            notes += [] if any(note.kind.startswith("geometry ") for note in notes) else self._far(case, "shape")
        if not any(note.kind.startswith("input ") for note in notes):
            notes += self._far(case, "combination")
        return [*own, *notes]

    def trust(self, case: MeshCase, notes: Sequence[Note] | None = None) -> Trust:
        """Whether a mesh is inside the training set, at its edge or outside, and why.

        Args:
            case: The mesh.
            notes: The result of :meth:`of_case`, if it is at hand.
        """
        if self.ranges is None and not self.novelties:
            return Trust("unknown", ("the checkpoint does not describe its training set",))
        notes = self.of_case(case) if notes is None else notes
        if found := outside(notes):
            return found
        edge = [*self._beyond(case, 0.0), *(note for kind in WORDS for note in self._far(case, kind, EDGE, 0.0))]
        if edge:
            return Trust("edge", tuple(note.text.removesuffix(DO_NOT) for note in edge))
        number = min((len(novelty) for novelty in self.novelties.values()), default=LEAST)
        few = f"by the ranges of its {number} samples, too few to compare shapes with"
        return Trust("inside", (few,) if number < LEAST else ())

    def _beyond(self, case: MeshCase, share: float) -> list[Note]:
        """A note for every input that leaves the training range by more than a share of it."""
        notes: dict[Note, None] = {}
        fields = [field for field in self.table.inputs for _ in range(field.stored)]
        ends = zip(case.low, case.high, strict=True)
        for field, (least, most), (low, high) in zip(fields, ends, self.ranges or (), strict=self.ranges is not None):
            if field.name in self.linear_in:
                continue
            is_rounded = not share or self.references is not None
            margin = share * (high - low) + ROUNDING * max(abs(low), abs(high)) * is_rounded
            if least < low - margin or most > high + margin:
                formula = None if self.references is None else self.references.formulas.get(field.name)
                hint = "" if field.is_geometry or not share else units_hint((least, most), (low, high))
                hint = hint if formula is None else f" (divided by {formula.text})"
                own = f"is {least:.4g}" if least == most else f"runs from {least:.4g} to {most:.4g}"
                text = f"{field.name!r} {own}, outside of the {low:.4g} to {high:.4g} of the training set{hint}{DO_NOT}"
                notes[Note(f"{'geometry' if field.is_geometry else 'input'} {field.name}", text)] = None
        return list(notes)

    def _far(self, case: MeshCase, kind: str, share: float = RARE, margin: float | None = None) -> list[Note]:
        """A note if the shape or the inputs are far from the training set."""
        novelty = self.novelties.get(kind)
        if novelty is None or len(novelty) < LEAST:
            return []
        text = novelty.compare(np.array(getattr(case, KINDS[kind])), share, margin)
        return [Note(kind, f"{WORDS[kind]} {text}{DO_NOT}")] if text else []

    def of_times(self, times: Sequence[float]) -> list[Note]:
        """A note if the time steps of a series differ from those of the training."""
        lengths = np.diff(times).tolist()
        if self.time_step is None or not lengths or step_range([self.time_step, *lengths]) is None:
            return []
        text = f"steps of {lengths[0]:g}, but those of the training are of {self.time_step:g}"
        return [Note("time step", f"{text}{DO_NOT}")]

    def say(self, mesh: Mesh, notes: Sequence[Note], trust: Trust | None = None) -> None:
        """Log the notes on a mesh; within :meth:`summed_up`, keep them and those of its reader until the end.

        Args:
            mesh: The mesh.
            notes: What to say of it.
            trust: What :meth:`trust` found, to be kept within :meth:`summed_up`.
        """
        if self._kept is not None:
            name = str(mesh.path or "the mesh")
            self._kept.append((name, [*mesh.notes, *notes]))
            if trust is not None:
                before = self._found.get(name)
                others = before.reasons if before is not None and before.status == "outside" else ()
                self._found[name] = replace(trust, reasons=(*others, *trust.reasons))
            return
        for note in notes:
            log.warning("%s: %s", mesh.path or "the mesh", note.text)

    @contextmanager
    def summed_up(self) -> Iterator[Mapping[str, Trust]]:
        """Log the notes on all meshes at the end of this context, one line for each kind; gives the trust by name."""
        self._kept, self._found = [], {}
        try:
            yield self._found
        finally:
            kept, self._kept = self._kept, None
            for line in summary(kept, len({name for name, _ in kept})):
                log.warning("%s", line)


def outside(notes: Sequence[Note]) -> Trust | None:
    """What is said of a mesh with these notes; ``None`` without any."""
    return Trust("outside", tuple(note.text.removesuffix(DO_NOT) for note in notes)) if notes else None


def _novelty(values: Floats, kind: str, table: FieldTable) -> Novelty:
    own = count(table.dimension) if kind == "shape" else 0
    return Novelty(values, descriptor_sizes(np.asarray(values, np.float64), own))


def training_ranges(samples: Samples, references: ReferenceQuantities | None) -> list[tuple[float, float]] | None:
    """Smallest and largest value of every input number, divided by its reference; ``None`` where they are not known."""
    if references is None or samples.case(0) is None:
        return samples.ranges()
    cases = [references.case(*_case(samples, number)) for number in range(len(samples))]
    low, high = np.min([case.low for case in cases], 0), np.max([case.high for case in cases], 0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def training_descriptors(
    samples: Samples, table: FieldTable, references: ReferenceQuantities | None, linear: Collection[str]
) -> dict[str, Tensor] | None:
    """Descriptors of evenly chosen training samples, for a checkpoint; ``None`` where they are not known."""
    first = samples.case(0)
    if first is None:
        return None
    most = max(LEAST, MOST_VALUES // max(1, len(first.inputs) + len(first.shape)))
    chosen = min(len(samples), MOST_SAMPLES, most)
    cases = [
        _compared(table, case, references, linear, where)
        for case, where in (_case(samples, number * len(samples) // chosen) for number in range(chosen))
    ]
    parts = {kind: [getattr(case, name) for case in cases] for kind, name in KINDS.items()}
    return {kind: torch.tensor(rows, dtype=torch.float32) for kind, rows in parts.items() if rows[0]}


def _case(samples: Samples, number: int) -> tuple[MeshCase, str]:
    """A training sample as a few numbers, and its name for messages."""
    name = samples.name(number)
    return cast(MeshCase, samples.case(number)), "" if name is None else f"{name}: "


def _compared(
    table: FieldTable, case: MeshCase, references: ReferenceQuantities | None, linear: Collection[str], where: str
) -> MeshCase:
    """The numbers that are compared: divided by references, without those that targets are linear in."""
    case = case if references is None else references.case(case, where)
    return case.without(table, linear) if linear else case
