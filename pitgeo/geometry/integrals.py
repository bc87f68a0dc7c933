"""Integrals, means, fluxes, forces, moments, peaks and percentiles of fields on a mesh."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.integration import gauss_points
from pitgeo.geometry.moving import slope_by_points
from pitgeo.geometry.orders import Order, extreme, percentile
from pitgeo.geometry.quantities import AXES, Quantity
from pitgeo.geometry.regions import Region, cells_in, surface_of
from pitgeo.geometry.sets import marks_of, moved, one_kind
from pitgeo.geometry.weights import Floats, Place, Rule, Weights, matrix_of, rule_of
from pitgeo.mesh import Mesh
from pitgeo.mesh.mesh import joined

PLACES: tuple[Place, ...] = ("point", "cell")


Functional = Weights | Order


class Integrals:
    """Quantities on one mesh; what several of them share is computed once.

    Args:
        mesh: The mesh.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> float(Integrals(mesh).measure())
        2.0
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._region: Callable[[str | None, bool, bool], Region] = lru_cache(None)(self._find)

    def _find(self, within: str | None, is_surface: bool, has_normals: bool) -> Region:
        return surface_of(self.mesh, within, has_normals) if is_surface else cells_in(self.mesh, within)

    def measure(self, within: str | None = None) -> float:
        """The volume, area or length of the cells of the highest dimension, or of those of a set."""
        region = self._region(within, False, False)
        return sum(
            float(at.measures.sum())
            for part in region.parts
            for at in gauss_points(self.mesh.points, part.kind, part.nodes)
        )

    def functional(self, quantity: Quantity, place: Place, components: int, end: str = "") -> Functional:
        """What computes a quantity from the values of a field.

        Args:
            quantity: The quantity.
            place: Where the values are.
            components: Numbers of a value.
            end: The component that is meant, ``"x"`` or from 4 components on ``"1"``; empty: all.

        Raises:
            ValueError: If there is no such set or component, the set has nothing to integrate over, or the operation
                does not go with the mesh or the field.
        """
        if not quantity.is_linear:
            return self._order(quantity, place, self._column(quantity, components, end))
        rule, region = self._linear(quantity, components, end)
        matrix, size = matrix_of(self.mesh, region, rule, components, place)
        if quantity.operation == "mean":
            matrix = matrix / self._some(size, quantity)
        notes = (*region.notes, *_taken_as(quantity, components, end))
        return Weights(rule.labels, matrix, quantity.field, place, notes, self.mesh.where)

    def slope_by_points(self, quantity: Quantity, values: Floats, place: Place, end: str = "") -> Floats:
        """How a quantity changes when nodes move and the values ``[n, components]`` stay: ``[numbers, N, D]``.

        It is zero for quantities that depend on the order of the values, apart from percentiles, which are refused.

        Raises:
            ValueError: If it is a percentile, or as :meth:`functional`.
        """
        if quantity.operation == "p":
            raise ValueError(f"Expected a quantity with a derivative (got {quantity.text!r}); take mean or peak")
        if not quantity.is_linear:
            return np.zeros((1, *self.mesh.points.shape))
        rule, region = self._linear(quantity, values.shape[1], end)
        return slope_by_points(self.mesh, region, rule, values, place, quantity.operation == "mean")

    def _linear(self, quantity: Quantity, components: int, end: str) -> tuple[Rule, Region]:
        """What a linear quantity does at a Gauss point, and over what."""
        column = self._column(quantity, components, end)
        rule = rule_of(self.mesh, quantity, components, column)
        is_surface = quantity.operation not in ("integral", "mean")
        is_pressure = components == 1 or column is not None
        return rule, self._region(quantity.within, is_surface, quantity.operation == "flux" or is_pressure)

    def numbers(self, quantity: Quantity, values: Floats, place: Place, end: str = "") -> dict[str, float]:
        """A quantity of values ``[n]`` or ``[n, components]`` at the points or cells, by its labels."""
        found = self.functional(quantity, place, int(np.prod(np.shape(values)[1:])), end)
        return dict(zip(found.labels, found(values).tolist(), strict=True))

    def _column(self, quantity: Quantity, components: int, end: str) -> int | None:
        if not end:
            return None
        column = AXES.index(end) if end in AXES else int(end) - 1
        if column not in range(components) or components == 1 or (components > 3) != end.isdecimal():
            raise ValueError(
                f"{self.mesh.where}Expected a component that the field has in {quantity.text!r} (got one of "
                f"{components}); name another"
            )
        return column

    def _some(self, size: float, quantity: Quantity) -> float:
        if not size > 0:
            raise ValueError(
                f"{self.mesh.where}Expected cells of a size above zero for {quantity.text!r} (got {size:g}); mend the "
                f"mesh, or name another set"
            )
        return size

    def _order(self, quantity: Quantity, place: Place, column: int | None) -> Order:
        own = (quantity, place, column)
        if quantity.operation in ("peak", "min"):
            return extreme(self.mesh, self._places(quantity.within, place), *own)
        return percentile(self.mesh, self._region(quantity.within, False, False), *own)

    def _places(self, within: str | None, place: Place) -> NDArray[np.int64]:
        """The points or cells of a set, or all."""
        if within is None:
            return np.arange(len(self.mesh.points) if place == "point" else self.mesh.number_of_cells)
        marks = marks_of(self.mesh, within)
        kind = one_kind(self.mesh, within, marks)
        found = np.flatnonzero(moved(self.mesh, kind, marks[kind], place))
        if not len(found):
            raise ValueError(f"{self.mesh.where}Expected {place}s in the set {within!r} (got none); name another set")
        return found


def weights(mesh: Mesh, text: str, place: Place | None = None, components: int | None = None) -> Weights:
    """The matrix of a linear quantity on a mesh: integral, mean, flux, force or moment.

    Args:
        mesh: The mesh.
        text: The quantity, as of :func:`compute`.
        place: Where the values are, if the mesh does not have the field.
        components: Numbers of a value, if the mesh does not have the field.

    Raises:
        ValueError: If the quantity is not linear, or as :func:`compute`.

    Example:
        >>> line = Mesh(np.array([[0.0], [1.0], [3.0]]), (("line", np.array([[0, 1], [1, 2]])),))
        >>> weights(line, "integral:heat", "point", 1).matrix.toarray()
        array([[0.5, 1.5, 1. ]])
    """
    quantity = Quantity.parse(text)
    if not quantity.is_linear:
        raise ValueError(f"Expected a quantity that is linear in the values (got {text!r}); take compute")
    if place is None and components is None:
        place, end, values = _field(mesh, quantity)
        components = values.shape[1]
    elif place not in PLACES or components is None or components < 1:
        raise ValueError(f"Expected 'place' and 'components' together (got {place!r} and {components!r})")
    else:
        names = [quantity.field.rpartition("_")[0]] if components > 1 else [quantity.field]
        end = quantity.of_field(names)[1]
    found = Integrals(mesh).functional(quantity, place, components, end)
    assert isinstance(found, Weights)
    return found


def compute(mesh: Mesh, *texts: str) -> dict[str, float]:
    """Quantities of the fields of a mesh.

    Each is named ``"<operation>:<field>"``, over the whole mesh, or ``"<operation>:<field>@<set>"``; a component of a
    field is named by its ending, ``"mean:velocity_x@outlet"``; a minus before it gives the opposite.

    - ``integral``, ``mean``: over the cells of the highest dimension, or those of the set.
    - ``peak``, ``min``, ``p95`` (or another percentile): the largest and smallest value at the points or cells; the
      value that 95% of the region do not exceed. Of a vector, of its length.
    - ``flux``: the integral of field times normal, for a vector.
    - ``force``: for a scalar, a pressure, minus the integral of field times normal: what pushes on the mesh from
      outside. On a mesh of a fluid, this is the force on the fluid, and ``-force`` that on the walls. For a vector, a
      traction as shear stress, its integral. ``force_x`` is one component.
    - ``moment``: that of the force about the origin, or about a point: ``moment_z(0.25,0)``.

    Normals are those of :func:`~pitgeo.geometry.regions.surface_of`. Values at points are interpolated by the shape
    functions of their cells and integrated exactly, except for the area of curved faces; values of cells count by the
    measure of the cell.

    Args:
        mesh: The mesh.
        texts: Names of quantities.

    Returns:
        The numbers by name; of a vector one for each component.

    Raises:
        ValueError: If a name is not of this form, there is no such field or set, the set has nothing to integrate over,
            the operation does not go with mesh or field, or a value is not finite; the message names the file.

    Example:
        >>> points = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
        >>> mesh = Mesh(points, (("quad", np.array([[0, 1, 2, 3]])),), point_data={"heat": points[:, 0]})
        >>> compute(mesh, "mean:heat", "peak:heat", "force:heat")
        {'mean:heat': 1.0, 'peak:heat': 2.0, 'force_x:heat': -2.0, 'force_y:heat': 0.0}
    """
    integrals, numbers = Integrals(mesh), dict[str, float]()
    for text in texts:
        quantity = Quantity.parse(text)
        place, end, values = _field(mesh, quantity)
        numbers |= integrals.numbers(quantity, values, place, end)
    return numbers


def measure(mesh: Mesh, within: str | None = None) -> float:
    """The volume, area or length of a mesh, or of one of its sets.

    Raises:
        ValueError: If there is no such set, or it has nothing to integrate over.

    Example:
        >>> import numpy as np
        >>> from pitgeo.mesh import Mesh
        >>> points, quad = np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]), np.array([[0, 1, 2, 3]])
        >>> mesh = Mesh(points, (("quad", quad),), {"u": np.arange(4.0)})
        >>> measure(mesh)
        2.0
    """
    return Integrals(mesh).measure(within)


def _taken_as(quantity: Quantity, components: int, end: str) -> tuple[str, ...]:
    """What a force or moment takes a vector for, unless its name says so."""
    name = quantity.field
    if quantity.operation not in ("force", "moment") or components == 1:
        return ()
    if end:
        return (f"the component {name!r} is taken as a pressure; of a traction name the whole vector",)
    if "traction" in name.lower():
        return ()
    return (f"the vector {name!r} is taken as a traction, a force by area; of a pressure name a field of one number",)


def _field(mesh: Mesh, quantity: Quantity) -> tuple[Place, str, Floats]:
    """Where the field of a quantity is, the component that is meant, and all values."""
    data: dict[Place, Any] = {"point": mesh.point_data, "cell": mesh.cell_data}
    start, _, rest = quantity.field.partition(":")
    wanted = [place for place in PLACES if place == start and rest]
    bare = replace(quantity, field=rest) if wanted else quantity
    found = []
    for place in wanted or PLACES:
        name, end = bare.of_field(data[place])
        found += [(place, name, end)] if name in data[place] else []
    if not found:
        names = [*mesh.point_data, *mesh.cell_data]
        near = difflib.get_close_matches(bare.field, names, 1)
        raise ValueError(
            f"{mesh.where}Expected a field {bare.field!r} of points or cells for {quantity.text!r} (got "
            f"{', '.join(map(repr, names)) or 'none'}){f'; did you mean {near[0]!r}?' if near else ''}"
        )
    if len(found) > 1:
        raise ValueError(
            f"{mesh.where}Expected a field of points or of cells in {quantity.text!r} (got both); say which: "
            f"'point:{bare.field}' or 'cell:{bare.field}'"
        )
    place, name, end = found[0]
    values = np.asarray(mesh.point_data[name] if place == "point" else joined(mesh.cell_data)[name])
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{mesh.where}Expected numbers in the field {name!r} (got {values.dtype}); name another")
    return place, end, values.reshape(len(values), -1).astype(np.float64)
