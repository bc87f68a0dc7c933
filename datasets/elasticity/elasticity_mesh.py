"""The Elasticity mesh: an O-grid of nine-node quadrilaterals between a random void and the sides of the unit square.

Nodes, elements and Gauss points are numbered along the angle first, then outwards, from the corner (1, 1) of the
square and counter-clockwise. Nodes of an element are ordered as in VTK's biquadratic quadrilateral (``quad9``): four
corners counter-clockwise, four mid-edge nodes, the centre. Its first reference coordinate runs outwards, its second
along the angle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SECTORS, LAYERS = 36, 3
MODES = 5
RADII = 42

# Reference coordinates of the nine nodes, and of the Gauss points in the order of the files: along the angle slowest.
NODE_POINTS: Floats = np.array(
    [(-1, -1), (1, -1), (1, 1), (-1, 1), (0, -1), (1, 0), (0, 1), (-1, 0), (0, 0)], dtype=np.float64
)
GAUSS_1D: Floats = np.sqrt(0.6) * np.array([-1.0, 0.0, 1.0])
WEIGHTS_1D: Floats = np.array([5.0, 8.0, 5.0]) / 9
GAUSS_POINTS: Floats = np.array([(outwards, along) for along in GAUSS_1D for outwards in GAUSS_1D])
GAUSS_WEIGHTS: Floats = np.outer(WEIGHTS_1D, WEIGHTS_1D).ravel()
# Where a reference side is cut so that every Gauss point has a piece as long as its weight.
_CUTS = np.array([-1.0, -4 / 9, 4 / 9, 1.0])


def void_radius(theta: ArrayLike, angle: ArrayLike) -> Floats:
    r"""Radius of the void at each angle.

    .. math::
        r = 0.2 + \frac{0.2}{1 + e^g}, \qquad g(\varphi) = \sum_{k=1}^{5} \frac{4}{\sqrt{\pi (k^2 + 9)}}
            (a_k \cos k \varphi + b_k \sin k \varphi)

    Args:
        theta: The coefficients :math:`a_1 \dots a_5, b_1 \dots b_5`.
        angle: Angles in radians.

    Shapes:
        - **theta** ``[10]``; **angle** any; **output** as **angle**.

    Raises:
        ValueError: If there are not ten finite coefficients.

    Example:
        >>> void_radius(np.zeros(10), [0.0, 1.0]).round(3).tolist()
        [0.3, 0.3]
    """
    theta = np.asarray(theta, np.float64)
    if theta.shape != (2 * MODES,) or not np.isfinite(theta).all():
        raise ValueError(f"Expected 'theta' to be {2 * MODES} finite coefficients (got {theta})")
    angle = np.asarray(angle, np.float64)
    mode = np.arange(1, MODES + 1)
    amplitude = 4 / np.sqrt(np.pi * (mode**2 + 9))
    phase = angle[..., None] * mode
    field = np.cos(phase) @ (amplitude * theta[:MODES]) + np.sin(phase) @ (amplitude * theta[MODES:])
    return np.asarray(0.2 + 0.2 * expit(-field), np.float64)


def void_radii(theta: ArrayLike) -> Floats:
    """The 42 radii of a sample, at angles from 0 to 2 pi inclusive: the first is the last."""
    radii = void_radius(theta, np.linspace(0, 2 * np.pi, RADII))
    radii[-1] = radii[0]
    return radii


def mesh_nodes(radius: Callable[[Floats], Floats], sectors: int = SECTORS, layers: int = LAYERS) -> Floats:
    """Nodes of the mesh round a void: on rays from the centre, evenly spaced between the void and the square.

    Equal to the mesh of a round void with every node moved along its ray. Nodes on the void, those at mid-edges too,
    lie on the true curve, and the corners of the square are nodes.

    Args:
        radius: Radius of the void as a function of the angle.
        sectors: Elements round the void; a multiple of 4.
        layers: Elements between the void and the square.

    Shapes:
        - **output** ``[2 sectors (2 layers + 1), 2]``
    """
    if sectors < 4 or sectors % 4 or layers < 1:
        raise ValueError(f"Expected 'sectors' to be a multiple of 4 and 'layers' positive (got {sectors}, {layers})")
    angle: Floats = np.pi / 4 + np.pi / sectors * np.arange(2 * sectors, dtype=np.float64)
    ray = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    inner, outer = radius(angle), 0.5 / np.abs(ray).max(axis=-1)
    share = np.linspace(0, 1, 2 * layers + 1)
    distance = inner[:, None] + share * (outer - inner)[:, None]
    nodes: Floats = 0.5 + distance[..., None] * ray[:, None]
    return nodes.reshape(-1, 2)


def mesh_elements(sectors: int = SECTORS, layers: int = LAYERS) -> Ints:
    """Node numbers of each element, ``[sectors layers, 9]``, ordered as in VTK's biquadratic quadrilateral."""
    sector, layer = (grid.reshape(-1, 1) for grid in np.mgrid[:sectors, :layers])
    outwards, along = (NODE_POINTS.T + 1).astype(np.int64)
    elements: Ints = ((2 * sector + along) % (2 * sectors)) * (2 * layers + 1) + 2 * layer + outwards
    return elements


def side_edges(sectors: int = SECTORS, layers: int = LAYERS) -> dict[str, Ints]:
    """Node numbers ``[sectors / 4, 3]`` (end, middle, end) of the edges on each side of the square."""
    edges = mesh_elements(sectors, layers)[layers - 1 :: layers][:, [1, 5, 2]]
    top, left, bottom, right = edges.reshape(4, -1, 3)
    return {"top": top, "left": left, "bottom": bottom, "right": right}


def gauss_grid(sectors: int = SECTORS, layers: int = LAYERS) -> Ints:
    """Numbers of the Gauss points as a polar grid, ``[3 sectors, 3 layers]``: angle (periodic) by outwards.

    Example:
        >>> gauss_grid().shape, sorted(gauss_grid().ravel().tolist()) == list(range(972))
        ((108, 9), True)
    """
    number = np.arange(9 * sectors * layers).reshape(sectors, layers, 3, 3)  # sector, layer, along, outwards
    return number.transpose(0, 2, 1, 3).reshape(3 * sectors, 3 * layers)


def gauss_cells(sectors: int = SECTORS, layers: int = LAYERS) -> Ints:
    """Quadrilaterals between neighbouring Gauss points, counter-clockwise: ``[864, 4]`` for the benchmark's mesh."""
    return _grid_cells(gauss_grid(sectors, layers))


def subcell_corners(sectors: int = SECTORS, layers: int = LAYERS) -> Ints:
    """Corner numbers ``[9 sectors layers, 4]`` of the piece of an element that belongs to each Gauss point.

    The corners are those of :func:`gauss_subcells`, each counted once, along the angle first, then outwards.
    """
    corners = np.arange(3 * sectors * (3 * layers + 1)).reshape(3 * sectors, 3 * layers + 1)
    subcells = np.empty((9 * sectors * layers, 4), np.int64)
    subcells[gauss_grid(sectors, layers).ravel()] = _grid_cells(corners)
    return subcells


def gauss_subcells(nodes: Floats, elements: Ints) -> Floats:
    """Cut each element into nine quadrilaterals, one a Gauss point, that together cover it.

    Both reference coordinates are cut at -4/9 and 4/9, so that areas are in proportion to the Gauss weights.

    Shapes:
        - **nodes** ``[N, 2]``; **elements** ``[E, 9]``
        - **output** ``[9 E, 4, 2]``: corners counter-clockwise, in the order of the Gauss points
    """
    along, outwards = (grid.ravel() for grid in np.mgrid[:3, :3])
    corner = [(0, 0), (1, 0), (1, 1), (0, 1)]
    local = np.array([[_CUTS[outwards + i], _CUTS[along + j]] for i, j in corner]).transpose(2, 0, 1)  # [9, 4, 2]
    values, _ = shape_functions(local.reshape(-1, 2))
    polygons: Floats = np.einsum("qa,eai->eqi", values, nodes[elements])
    return polygons.reshape(-1, 4, 2)


def shape_functions(points: Floats) -> tuple[Floats, Floats]:
    """The nine biquadratic shape functions ``[Q, 9]`` and their gradients ``[Q, 9, 2]`` at reference points."""
    x = points[:, None, :]
    node = NODE_POINTS[None]
    # 1 - x^2 for a middle node, x (x + node) / 2 for an end node.
    value = np.where(node == 0, 1 - x**2, x * (x + node) / 2)
    slope = np.where(node == 0, -2 * x, x + node / 2)
    gradient = np.stack([slope[..., 0] * value[..., 1], value[..., 0] * slope[..., 1]], axis=-1)
    return value.prod(axis=-1), gradient


def _grid_cells(grid: Ints) -> Ints:
    following = np.roll(grid, -1, axis=0)
    quads = [grid[:, :-1], grid[:, 1:], following[:, 1:], following[:, :-1]]
    return np.stack(quads, axis=-1).reshape(-1, 4)
