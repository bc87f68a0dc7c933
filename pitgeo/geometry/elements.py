"""Shape functions and Gauss points of every type of cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.reference_cells import (
    BUBBLES,
    PRISMS,
    is_high,
    order_of,
    own_places,
    plain_name,
    rounds,
    unknown,
    vtk_places,
)
from pitgeo.mesh.cell_types import SHAPES, base

Floats = NDArray[np.float64]
Nodes = tuple[int, ...]
Exponents = Sequence[tuple[int, ...]]
Basis = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]

STEP = 1e-30
"""Imaginary step of derivatives: those of polynomials are then exact to rounding."""


class Element(NamedTuple):
    """A cell at its Gauss points.

    Args:
        values: Shape functions ``[points, nodes]``; 1 in sum.
        slopes: Their derivatives by the reference coordinates ``[points, nodes, axes]``.
        weights: Weights of the points, for the reference coordinates.
    """

    values: Floats
    slopes: Floats
    weights: Floats


@lru_cache
def element(kind: str, width: int, power: int = 0) -> Element:
    """The shape functions of a type of cells at Gauss points.

    The points are as many as integrate exactly, on straight and on curved cells: a field that the shape functions
    hold, times the volume element (or the area element with its normal), times so many factors linear in position.
    Polygons are split at the mean of their corners into triangles, prisms on pentagons and hexagons into wedges;
    pyramids are hexahedra with a collapsed side, their functions being those of Bedrosian (1992).

    Args:
        kind: The type.
        width: Its number of nodes.
        power: Number of factors that are linear in position.

    Raises:
        ValueError: If the nodes of such cells are not on the cell, or the type is not known.
    """
    shape = base(kind)
    if shape not in (*SHAPES, "polygon"):
        raise unknown(kind, width)
    if shape == "polygon":
        return _fan(element("triangle", 3, power), width, 1)
    if shape in PRISMS:
        return _fan(element("wedge", 6, power), width // 2, 2)
    if shape == "vertex":
        return Element(np.ones((1, 1)), np.zeros((1, 1, 0)), np.ones(1))
    (functions,) = shape_functions(kind, width)
    points, weights = _rule(shape, functions.degree, power)
    return Element(*functions.at(points), weights)


class ShapeFunctions(NamedTuple):
    """The shape functions of a type of cells, on a reference cell.

    Args:
        shape: The reference cell: a line, triangle, quad, tetra, wedge, hexahedron or pyramid.
        basis: Functions that the shape functions span.
        inverse: The shape functions as sums of these ``[functions, nodes]``.
        degree: The degree of the functions.
    """

    shape: str
    basis: Basis
    inverse: Floats
    degree: int

    def at(self, points: Floats) -> tuple[Floats, Floats]:
        """Values ``[points, nodes]``, and derivatives ``[points, nodes, axes]``, at places in the reference cell."""
        values = self.basis(points.astype(complex)).real @ self.inverse
        steps = [self.basis(points + 1j * STEP * axis).imag / STEP @ self.inverse for axis in np.eye(points.shape[1])]
        return values, np.stack(steps, -1)


@lru_cache
def shape_functions(kind: str, width: int) -> tuple[ShapeFunctions, ...]:
    """The shape functions of a type of cells; for those that are split, of each of the parts.

    Args:
        kind: The type.
        width: Its number of nodes.

    Raises:
        ValueError: If the nodes of such cells are not on the cell, or the type is not known.
    """
    shape = base(kind)
    if shape not in (*SHAPES, "polygon"):
        raise unknown(kind, width)
    if shape == "polygon" or shape in PRISMS:
        count, layers, part = (width, 1, "triangle") if shape == "polygon" else (width // 2, 2, "wedge")
        (own,) = shape_functions(part, 3 * layers)
        return tuple(own._replace(inverse=own.inverse @ nodes) for nodes in _fan_nodes(count, layers))
    nodes, basis, degree = _space(kind, shape, width)
    inverse = np.asarray(np.linalg.inv(basis(nodes.astype(complex)).real), np.float64)
    return (ShapeFunctions(shape, basis, inverse, degree),)


def _space(kind: str, shape: str, width: int) -> tuple[Floats, Basis, int]:
    """Reference places of the nodes, the functions that the shape functions span, and their degree."""
    if is_high(kind, width):
        nodes = vtk_places(kind, width)[:, : SHAPES[shape].dimension]
        order = order_of(shape, width)
    elif shape == "line":
        nodes, order = np.array([0.0, 1.0, *np.arange(1, width - 1) / (width - 1)])[:, None], width - 1
    else:
        nodes, order = own_places(kind, shape, width), 1 if width == SHAPES[shape].corners else 2
    triangle, line, cube = _simplex(2, order), _box(1, order), {"line": 1, "quad": 2, "hexahedron": 3}
    if shape in BUBBLES and width == BUBBLES[shape][0]:
        return nodes, _with_bubbles(shape), BUBBLES[shape][2]
    spaces: dict[str, Exponents] = {
        "quad6": [(a, b) for a in range(3) for b in range(2)],
        "quad8": _serendipity(2),
        "hexahedron20": _serendipity(3),
        "hexahedron24": [*_serendipity(3), (2, 0, 2), (2, 1, 2), (0, 2, 2), (1, 2, 2)],
        "wedge12": _product(triangle, _box(1, 1)),
        "wedge15": [*_product(triangle, _box(1, 1)), *_product(_simplex(2, 1), [(2,)])],
        "pyramid": _PYRAMID[:5],
        "pyramid13": _PYRAMID[:13],
        "pyramid14": _PYRAMID,
    }
    exponents = spaces.get(plain_name(kind, width))
    if exponents is None and shape in cube:
        exponents = _box(cube[shape], order)
    elif exponents is None:
        exponents = _product(triangle, line) if shape == "wedge" else _simplex(SHAPES[shape].dimension, order)
    if len(exponents) != len(nodes):
        raise unknown(kind, width)
    return nodes, _monomials(exponents, shape == "pyramid"), order


def _rule(shape: str, degree: int, power: int) -> tuple[Floats, Floats]:
    """Gauss points and weights on the reference cell."""
    axes, field = SHAPES[shape].dimension, degree * (1 + power)
    if shape in ("triangle", "tetra"):
        return _gauss_simplex(axes, axes * (degree - 1) + field)
    if shape == "wedge":
        flat, along = _gauss_simplex(2, 3 * degree - 2 + field), _gauss(1, 3 * degree - 1 + field)
        pairs = [(*a, *b) for a in flat[0] for b in along[0]]
        return np.array(pairs), np.outer(flat[1], along[1]).ravel()
    return _gauss(axes, axes * degree - 1 + field)


def _gauss(axes: int, degree: int) -> tuple[Floats, Floats]:
    """Gauss's rule on the unit cube, exact for a degree in every variable."""
    points, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    points, weights = (points + 1) / 2, weights / 2
    return (
        np.array(list(itertools.product(points, repeat=axes))),
        np.array([math.prod(own) for own in itertools.product(weights, repeat=axes)]),
    )


def _gauss_simplex(axes: int, degree: int) -> tuple[Floats, Floats]:
    """A rule on the unit simplex, exact for a total degree: Gauss's on a cube with collapsed sides."""
    if degree <= 1:
        return np.full((1, axes), 1 / (axes + 1)), np.array([1 / math.factorial(axes)])
    cube, weights = _gauss(axes, degree + axes - 1)
    points, left = np.zeros_like(cube), np.ones(len(cube))
    for axis in range(axes):
        points[:, axis] = left * cube[:, axis]
        weights = weights * left
        left = left - points[:, axis]
    return points, weights


def _fan(part: Element, count: int, layers: int) -> Element:
    """A polygon, or a prism on one, as the triangles or wedges between its sides and the mean of its corners."""
    values, slopes = [], []
    for nodes in _fan_nodes(count, layers):
        values.append(part.values @ nodes)
        slopes.append(np.einsum("qma,mn->qna", part.slopes, nodes))
    return Element(np.concatenate(values), np.concatenate(slopes), np.tile(part.weights, count))


def _fan_nodes(count: int, layers: int) -> list[Floats]:
    """The nodes of every triangle or wedge as sums of those of the whole ``[own, nodes]``."""
    found = []
    for a, b in rounds(range(count)):
        nodes = np.zeros((3 * layers, count * layers))
        for layer in range(layers):
            nodes[3 * layer, layer * count : (layer + 1) * count] = 1 / count
            nodes[3 * layer + 1, layer * count + a] = nodes[3 * layer + 2, layer * count + b] = 1
        found.append(nodes)
    return found


def _box(axes: int, order: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(order + 1), repeat=axes))


def _simplex(axes: int, order: int) -> list[tuple[int, ...]]:
    return [own for own in _box(axes, order) if sum(own) <= order]


def _serendipity(axes: int) -> list[tuple[int, ...]]:
    return [own for own in _box(axes, 2) if own.count(2) <= 1]


def _product(first: Exponents, second: Exponents) -> list[tuple[int, ...]]:
    return [(*a, *b) for a in first for b in second]


def _monomials(exponents: Exponents, of_pyramid: bool = False) -> Basis:
    powers = np.array(exponents)

    def basis(points: NDArray[np.complex128]) -> NDArray[np.complex128]:
        if of_pyramid:
            points = np.concatenate([points[:, :2], 1 - points[:, 2:]], 1)
        return np.asarray(np.prod([points[:, axis, None] ** powers[:, axis] for axis in range(powers.shape[1])], 0))

    return basis


def _with_bubbles(shape: str) -> Basis:
    """Functions of order 2, and one that is zero on the edges for each triangle and for the tetrahedron."""

    def flat(points: NDArray[np.complex128]) -> NDArray[np.complex128]:
        axes = points.shape[1]
        own = np.concatenate([1 - points.sum(1, keepdims=True), points], 1)
        bubbles = [own[:, chosen].prod(1) for size in range(3, axes + 2) for chosen in _subsets(axes + 1, size)]
        return np.concatenate([_monomials(_simplex(axes, 2))(points), np.stack(bubbles, 1)], 1)

    def wedge(points: NDArray[np.complex128]) -> NDArray[np.complex128]:
        along = _monomials(_box(1, 2))(points[:, 2:])
        return (flat(points[:, :2])[:, :, None] * along[:, None]).reshape(len(points), -1)

    return wedge if shape == "wedge" else flat


def _subsets(count: int, size: int) -> list[list[int]]:
    return [list(chosen) for chosen in itertools.combinations(range(count), size)]


_PYRAMID = [
    *[(0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 1, 1)],
    *[(2, 0, 2), (0, 2, 2), (0, 0, 2), (1, 1, 2), (1, 0, 2), (0, 1, 2), (2, 1, 2), (1, 2, 2), (2, 2, 2)],
]
"""Powers of the collapsed coordinates, and of one less the height."""
