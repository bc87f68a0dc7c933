"""Searches for the best values of numbers by a trained model, with and without derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from scipy.optimize import minimize

from pitgeo.data.fields.reading import Floats
from pitgeo.mesh import Mesh
from pitgeo.prediction.guards import check_states
from pitgeo.prediction.many import predictions, study_of
from pitgeo.prediction.response import Response, find_quantity, number_of
from pitgeo.prediction.study import MeshStudy
from pitgeo.system.numbers import finite

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor

MakeMesh = Callable[[Mapping[str, float]], Mesh]
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Constraint:
    """A quantity and its limit.

    Args:
        text: The quantity.
        limit: The limit.
        is_upper: Whether the quantity may not exceed it.
    """

    text: str
    limit: float
    is_upper: bool

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """The constraint of ``"peak:von_mises<=2e8"``, or with ``">="``.

        Raises:
            ValueError: If the text has another form.

        Example:
            >>> Constraint.parse("peak:von_mises <= 2e8")
            Constraint(text='peak:von_mises', limit=200000000.0, is_upper=True)
        """
        found = re.fullmatch(r"\s*(.+?)\s*(<=|>=)\s*(\S+)\s*", text)
        limit = finite(found[3]) if found else None
        if found is None or limit is None:
            raise ValueError(
                f"Expected a quantity and its limit, as in 'peak:von_mises<=2e8' or 'mean:v_x>=0' (got {text!r})"
            )
        return cls(found[1], limit, found[2] == "<=")

    def margin(self, value: float) -> float:
        """How far the quantity is from its limit, negative if it breaks it."""
        return self.limit - value if self.is_upper else value - self.limit


class Search:
    """Evaluates quantities for values of the numbers, and follows them downhill.

    Args:
        predictor: The trained model.
        mesh: The mesh, or a function that makes meshes.
        ranges: The lower and upper end of every number.
        texts: The quantities; the first is to become small.
        parameters: Other inputs of the mesh as a whole that it does not hold.
    """

    def __init__(
        self,
        predictor: MeshPredictor,
        mesh: Mesh | MakeMesh,
        ranges: Mapping[str, tuple[float, float]],
        texts: Sequence[str],
        parameters: Mapping[str, float] | None,
    ) -> None:
        self.predictor, self.given, self.texts, self.parameters = predictor, mesh, texts, parameters
        self.low, self.high = (np.array([ends[side] for ends in ranges.values()]) for side in (0, 1))
        self.names = list(ranges)
        self.evaluations = 0
        self.response: Response | None = None
        check_states(predictor)
        if isinstance(mesh, Mesh):
            first = dict(zip(self.names, self.low.tolist(), strict=True))
            self.response = Response(predictor, mesh, first, texts, parameters)
        self._last: tuple[bytes, tuple[Floats, Floats]] | None = None

    def __call__(self, point: Floats) -> tuple[Floats, Floats]:
        """The quantities ``[K]`` and, for one mesh, their derivatives ``[K, numbers]``."""
        key = np.asarray(point, np.float64).tobytes()
        if self._last is None or self._last[0] != key:
            self.evaluations += 1
            found = self._of_made(point) if self.response is None else self.response(point)
            self._last = key, found
        return self._last[1]

    def all(self, design: Floats, progress: Progress) -> Floats:
        """The quantities ``[S, K]`` of a design ``[S, numbers]``."""
        if self.response is None:
            return np.stack([self(point)[0] for point in progress(design)])
        columns, found = dict(zip(self.names, design.T, strict=True)), list[Floats]()
        study = study_of(self.predictor, cast(Mesh, self.given), columns, self.parameters)
        for rows, fields in predictions(self.predictor, study, progress):
            for number, point in enumerate(design[rows]):
                own = {
                    name.removesuffix("_prediction"): torch.from_numpy(part[number])
                    for name, part in fields.items()
                    if name.endswith("_prediction")
                }
                found.append(self.response.values_of(own, point))
        self.evaluations += len(design)
        return np.stack(found)

    def polish(self, start: Floats, limits: Sequence[Constraint], scale: Floats) -> Floats:
        """The point to which a search from a first one leads.

        With derivatives by SLSQP, without by COBYQA, both of ``scipy.optimize``, in units of the ranges.

        Args:
            start: The first point ``[numbers]``.
            limits: What the other quantities may be.
            scale: Typical size of the differences of every quantity ``[K]``.
        """
        width, has_slopes = self.high - self.low, self.response is not None

        def at(unit: Floats) -> Floats:
            return np.asarray(self.low + np.clip(unit, 0.0, 1.0) * width)

        def value(unit: Floats) -> Any:
            numbers, slopes = self(at(unit))
            return (numbers[0] / scale[0], slopes[0] * width / scale[0]) if has_slopes else numbers[0] / scale[0]

        def margin(number: int, limit: Constraint) -> dict[str, Any]:
            sign = -1.0 if limit.is_upper else 1.0
            entry: dict[str, Any] = {"type": "ineq"}
            entry["fun"] = lambda unit: limit.margin(self(at(unit))[0][number]) / scale[number]
            if has_slopes:
                entry["jac"] = lambda unit: sign * self(at(unit))[1][number] * width / scale[number]
            return entry

        options: dict[str, Any] = {
            "method": "SLSQP" if has_slopes else "COBYQA",
            "jac": has_slopes or None,
            "bounds": [(0.0, 1.0)] * len(width),
            "constraints": [margin(number, limit) for number, limit in enumerate(limits, 1)],
            "options": {"maxiter": 60} if has_slopes else {"maxfev": 40 * len(width)},
        }
        return at(minimize(value, (start - self.low) / width, **options).x)

    def mesh(self, values: Mapping[str, float]) -> Mesh:
        """The mesh with these numbers, without the targets that belong to the numbers of the file."""
        if isinstance(self.given, Mesh):
            columns, table = {name: [value] for name, value in values.items()}, self.predictor.table
            return table.without_targets(MeshStudy(table, self.given, columns, self.parameters).mesh)
        made = self.given(values)
        if not isinstance(made, Mesh):
            raise TypeError(f"Expected a function that returns a pitgeo.mesh.Mesh (got {type(made).__name__})")
        return made

    def _of_made(self, point: Floats) -> tuple[Floats, Floats]:
        mesh = self.mesh(dict(zip(self.names, point.tolist(), strict=True)))
        table = self.predictor.table
        output: Any = self.predictor.fields(table.mesh_sample(mesh, self.parameters))["_prediction"]
        fields = cast("Mapping[str, torch.Tensor]", table.split(mesh, output))  # it slices, as of arrays
        quantities = [find_quantity(self.predictor, mesh, text, self.names) for text in self.texts]
        points = torch.from_numpy(mesh.points)
        numbers = [float(number_of(quantity, fields, points, point)) for quantity in quantities]
        return np.array(numbers), np.zeros((0, 0))
