"""Named numbers of the targets, such as a force or the mean at an outlet, and their errors."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.geometry.integrals import Functional, Integrals
from pitgeo.geometry.quantities import NEED_NORMALS, Quantity
from pitgeo.geometry.weights import Place
from pitgeo.measures.error_sums import ErrorSums, summary
from pitgeo.measures.reference import Values
from pitgeo.mesh import Mesh
from pitgeo.mesh.pieces import PIECE

ROUNDING = 1e-6
"""A number is zero if it is smaller than this share of the sum of the absolute values of its terms."""


class Number(NamedTuple):
    """A number, and the sum of the absolute values of its terms: what its rounding error is relative to."""

    value: float
    size: float


@dataclass(frozen=True)
class TargetQuantity:
    """A quantity of a target of points or cells.

    Args:
        quantity: The quantity.
        field: The target.
        end: The component that is meant; empty: all.
    """

    quantity: Quantity
    field: MeshField
    end: str

    @classmethod
    def find(cls, table: FieldTable, text: str) -> TargetQuantity:
        """The quantity of this name.

        Raises:
            ValueError: If a name is not that of a quantity, or its field is no target of points or cells.
        """
        quantity, fields = Quantity.parse(text), {field.name: field for field in table.targets}
        name, end = quantity.of_field(fields)
        if name not in fields:
            near = difflib.get_close_matches(name, fields, 1)
            raise ValueError(
                f"Expected a quantity of a target (got {text!r}; targets are "
                f"{', '.join(map(repr, fields))}){f'; did you mean {near[0]!r}?' if near else ''}"
            )
        if fields[name].place == "mesh":
            raise ValueError(
                f"Expected a quantity of a field (got {text!r}, where {name!r} is a number of the whole mesh, "
                f"whose errors are reported anyway); leave it out"
            )
        return cls(quantity, fields[name], end)

    def functional(self, integrals: Integrals) -> Functional:
        """What computes it from values ``[n, components]`` on a mesh."""
        return integrals.functional(self.quantity, self.place, self.components, self.end)

    @property
    def place(self) -> Place:
        """Where the values are."""
        return "cell" if self.field.place == "cell" else "point"

    @property
    def components(self) -> int:
        """Numbers of a value: of a planar vector three, where directions in space matter."""
        has_directions = self.quantity.operation in NEED_NORMALS and not self.end
        return self.field.stored if has_directions else self.field.components


class Quantities:
    """Computes named numbers of the targets of a model on meshes.

    Args:
        table: The targets.
        texts: Names of quantities, see :func:`pitgeo.integrals.compute`; their fields are targets.

    Raises:
        ValueError: If a name is not that of a quantity, or its field is no target of points or cells.
    """

    def __init__(self, table: FieldTable, texts: Sequence[str]) -> None:
        self.table = table
        self.chosen = [TargetQuantity.find(table, text) for text in texts]
        self.notes: dict[str, None] = {}
        self._last: tuple[Mesh, list[Functional]] | None = None

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.chosen)

    def of(self, mesh: Mesh, *values: Values) -> list[dict[str, Number]]:
        """The numbers by name, for values ``[m, channels]`` at the output points, or several steps of them.

        Args:
            mesh: The mesh.
            values: Of the truth, and of the prediction, say.

        Raises:
            ValueError: If the mesh lacks a set, or as :func:`pitgeo.integrals.compute`; the message names the file.
        """
        return [self._numbers(mesh, own) for own in values]

    def _numbers(self, mesh: Mesh, values: Values) -> dict[str, Number]:
        count, numbers = len(self.table.target_labels), dict[str, Number]()
        steps = values.shape[1] // count
        for step in range(steps):
            split = self.table.split(mesh, values[:, step * count : (step + 1) * count])
            end = f", step {step + 1}" if steps > 1 else ""
            numbers |= {f"{name}{end}": number for name, number in self.of_fields(mesh, split).items()}
        return numbers

    def of_fields(self, mesh: Mesh, fields: Mapping[str, Values]) -> dict[str, Number]:
        """The numbers of those targets that are given, each ``[n, components]`` at its own place."""
        numbers = dict[str, Number]()
        for own, functional in zip(self.chosen, self._functionals(mesh), strict=True):
            if own.field.name in fields:
                values = np.asarray(fields[own.field.name], np.float64)
                values = np.pad(values, [(0, 0), (0, own.components - values.shape[1])])
                found = zip(functional.labels, functional(values), functional.sizes(values), strict=True)
                numbers |= {label: Number(float(value), float(size)) for label, value, size in found}
        return numbers

    def _functionals(self, mesh: Mesh) -> list[Functional]:
        """What computes the numbers on a mesh; that of the last mesh, if it is the same."""
        names = [own.quantity.within for own in self.chosen if own.quantity.within]
        if self._last is None or not _is_same(self._last[0], mesh, names):
            integrals, found = Integrals(mesh), list[Functional]()
            found.extend(own.functional(integrals) for own in self.chosen)
            self._last = mesh, found
            self.notes |= dict.fromkeys(
                f"{own.quantity.text}: {note}"
                for own, functional in zip(self.chosen, found, strict=True)
                for note in functional.notes
            )
        return self._last[1]


def _is_same(one: Mesh, other: Mesh, names: Sequence[str]) -> bool:
    """Whether two meshes have the same plane, points, cells, pieces, and sets or fields of these names."""
    if one.plane_axis != other.plane_axis or len(one.cells) != len(other.cells):
        return False
    if not np.array_equal(one.points, other.points):
        return False
    pairs = zip(one.cells, other.cells, strict=True)
    if not all(a[0] == b[0] and np.array_equal(a[1], b[1]) for a, b in pairs):
        return False
    bare = [name.removeprefix("point:").removeprefix("cell:") for name in names]
    kinds = ("point_sets", "cell_sets", "point_data", "cell_data")
    return all(
        _equal(getattr(one, kind).get(name), getattr(other, kind).get(name))
        for kind in kinds
        for name in (*names, *bare, PIECE)
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return np.array_equal(one, other) if one is not None and other is not None else one is other


class QuantityErrors:
    """Errors of predicted quantities, collected sample by sample.

    Args:
        quantities: The quantities.

    Example:
        >>> table = FieldTable((), (MeshField("heat"),), 1)
        >>> line = Mesh(np.array([[0.0], [1.0]]), (("line", np.array([[0, 1]])),))
        >>> errors = QuantityErrors(Quantities(table, ["mean:heat"]))
        >>> errors.add("bar.vtu", line, np.array([[1.0], [3.0]]), np.array([[1.0], [4.0]]))
        >>> found = errors.result()["quantities"]["mean:heat"]
        >>> found["bias"], found["relative_l2"]
        (0.5, 0.25)
    """

    def __init__(self, quantities: Quantities) -> None:
        self.quantities = quantities
        self.names: list[str] = []
        self._truths: list[dict[str, Number]] = []
        self._predictions: list[dict[str, Number]] = []

    def __bool__(self) -> bool:
        """Whether there are quantities to collect."""
        return bool(self.quantities)

    def add(self, name: str, mesh: Mesh, truth: Values, prediction: Values) -> None:
        """Add a sample: values ``[m, channels]`` at the output points, or several steps of them.

        Raises:
            ValueError: As :meth:`Quantities.of`.
        """
        self._add(name, *self.quantities.of(mesh, truth, prediction))

    def add_known(self, mesh: Mesh, truths: Sequence[Mapping[str, Values]], prediction: Values) -> None:
        """Add a mesh: of the truth the targets that are known, for the first steps ``[n, components]`` by name."""
        steps, known = prediction.shape[1] // len(self.quantities.table.target_labels), dict[str, Number]()
        for step, truth in enumerate(truths[:steps]):
            end = f", step {step + 1}" if steps > 1 else ""
            known |= {f"{name}{end}": number for name, number in self.quantities.of_fields(mesh, truth).items()}
        name = str(mesh.path) if mesh.path else f"mesh {len(self.names)}"
        self._add(name, known, self.quantities.of(mesh, prediction)[0])

    def _add(self, name: str, truth: dict[str, Number], prediction: dict[str, Number]) -> None:
        self.names.append(name)
        self._truths.append(truth)
        self._predictions.append(prediction)

    def pairs(self) -> dict[str, tuple[Values, Values]]:
        """True and predicted numbers of all samples that have both, by name."""
        return {
            label: (np.array([own.value for own in true]), np.array(found)) for label, true, found in self._columns()
        }

    def csv(self) -> str:
        """A table of all numbers: file, quantity, prediction, and truth, which is empty where it is not known."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(("file", "quantity", "prediction", "truth"))
        for name, truth, found in zip(self.names, self._truths, self._predictions, strict=True):
            for label, number in found.items():
                table.writerow((name, label, number.value, truth[label].value if label in truth else ""))
        return text.getvalue()

    def _columns(self) -> list[tuple[str, list[Number], list[float]]]:
        labels = dict.fromkeys(label for truth in self._truths for label in truth)
        both = list(zip(self._truths, self._predictions, strict=True))
        return [
            (
                label,
                [truth[label] for truth, found in both if label in truth and label in found],
                [found[label].value for truth, found in both if label in truth and label in found],
            )
            for label in labels
        ]

    def result(self) -> dict[str, Any]:
        """``quantities``, the errors by name, and ``quantity_cases``, the numbers of every sample; empty without any.

        Of every quantity: ``bias``, the mean of prediction less truth; ``rmse``, ``mean_absolute``,
        ``largest_absolute``, ``r2`` and ``relative_l2`` over the samples, as those of a field over its points; and
        ``relative``, the absolute error over the absolute truth, in every sample. ``None``, with a ``reason``, where
        a truth is zero or all are the same.
        """
        if not self.names or not self.quantities:
            return {}
        cases = []
        for name, truth, found in zip(self.names, self._truths, self._predictions, strict=True):
            numbers = {"truth": truth, "prediction": found}
            plain = {key: {label: own.value for label, own in part.items()} for key, part in numbers.items()}
            cases.append({"name": name, **plain})
        entries = {label: _entry(true, found) for label, true, found in self._columns() if true}
        notes = {"quantity_notes": list(self.quantities.notes)} if self.quantities.notes else {}
        return {"quantities": entries, "quantity_cases": cases, **notes}


def _entry(truth: Sequence[Number], prediction: Sequence[float]) -> dict[str, Any]:
    """The errors of a quantity."""
    true, found = np.array([own.value for own in truth]), np.array(prediction)
    sums = ErrorSums.of(0, true[:, None], found[:, None], np.full(1, np.nan), has_peak=False)
    is_zero = np.array([abs(own.value) <= ROUNDING * own.size for own in truth])
    relative = None if is_zero.any() else summary(np.abs(found - true) / np.abs(true))
    entry: dict[str, Any] = {
        "samples": len(true),
        "mean_truth": float(true.mean()),
        "bias": float((found - true).mean()),
        **{name: getattr(sums, name) for name in ("rmse", "mean_absolute", "largest_absolute")},
        "r2": None if is_zero.all() else sums.r2,
        "relative_l2": None if is_zero.all() else sums.relative_l2,
        "relative": relative,
    }
    reasons = {
        "relative": f"the truth is zero, up to rounding, in {int(is_zero.sum())} of {len(true)} samples",
        "relative_l2": "the truth is zero, up to rounding, in all samples",
        "r2": "the truth is the same in all samples" if len(true) > 1 else "r2 takes more than one sample",
    }
    missing = [reasons[name] for name in reasons if entry[name] is None]
    return entry | ({"reason": "; ".join(missing)} if missing else {})
