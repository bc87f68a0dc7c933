"""The Elasticity benchmark: von Mises stress round a random void in a hyper-elastic sheet.

A unit square with a void at its centre is clamped at the bottom and pulled at the top. Files have the names and layout
of the originals of Geo-FNO, and one more file holds the finite-element mesh.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from elasticity_mesh import (
    GAUSS_POINTS,
    MODES,
    Floats,
    gauss_cells,
    gauss_subcells,
    mesh_elements,
    mesh_nodes,
    shape_functions,
    side_edges,
    subcell_corners,
    void_radii,
    void_radius,
)
from elasticity_solver import RivlinSaunders, cauchy_stress, edge_load, equilibrium, von_mises
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike, NDArray

from pitgeo.datasets.generators import check_drawable
from pitgeo.datasets.resumable import check_numbers, make_files

log = logging.getLogger(f"pitgeo.datasets.{__name__}")  # shown as those of the package are

VERSION = 1
METHOD = "Rivlin-Saunders, plane stress, 36 x 3 nine-node quadrilaterals, Newton"
TRACTION = (0.0, 100.0)
POSITIONS, STRESS = "Random_UnitCell_XY_10.npy", "Random_UnitCell_sigma_10.npy"
SHAPE, COEFFICIENTS = "Random_UnitCell_rr_10.npy", "Random_UnitCell_theta_10.npy"
MESH = "Random_UnitCell_mesh_10.npz"
FILES = (POSITIONS, STRESS, SHAPE, COEFFICIENTS, MESH)
_CHUNK = 50


@dataclass(frozen=True)
class ElasticitySample:
    """One shape and its stress.

    Args:
        theta: Coefficients of the void, ``[10]``.
        radii: Radius of the void at 42 angles from 0 to 2 pi inclusive, ``[42]``.
        points: Gauss points, ``[972, 2]``, those of an element together, along the angle slowest.
        von_mises: Von Mises stress at the Gauss points, ``[972]``.
        nodes: Nodes of the mesh, ``[504, 2]``.
        displacement: Displacement of the nodes, ``[504, 2]``.
    """

    theta: Floats
    radii: Floats
    points: Floats
    von_mises: Floats
    nodes: Floats
    displacement: Floats


def draw_theta(seed: int, number: int) -> Floats:
    """Coefficients of sample ``number``, whatever the number of samples: ten standard normals."""
    return np.random.default_rng(np.random.SeedSequence((seed, number))).standard_normal(2 * MODES)


def solve(theta: ArrayLike) -> ElasticitySample:
    """Solve one shape.

    Args:
        theta: Coefficients ``[10]`` of the void, see :func:`~elasticity_mesh.void_radius`.

    Raises:
        ValueError: If there are not ten finite coefficients, or the shape inverts an element.
        ArithmeticError: If Newton's method does not converge.

    Example:
        >>> sample = solve(np.zeros(10))  # a round void
        >>> sample.points.shape, sample.radii[0].round(3).item()
        ((972, 2), 0.3)
    """
    theta = np.array(theta, np.float64)
    nodes, elements = mesh_nodes(lambda angle: void_radius(theta, angle)), mesh_elements()
    edges = side_edges()
    material = RivlinSaunders()
    load = edge_load(nodes, edges["top"], TRACTION)
    displacement, _ = equilibrium(nodes, elements, load, np.unique(edges["bottom"]), material=material)
    stress = von_mises(cauchy_stress(nodes, elements, displacement, material=material)).ravel()
    values, _ = shape_functions(GAUSS_POINTS)
    points = (values @ nodes[elements]).reshape(-1, 2)
    return ElasticitySample(theta, void_radii(theta), points, stress, nodes, displacement)


def generate(
    output: Path, samples: int = 2000, seed: int = 0, processes: int | None = None, progress: bool = True
) -> None:
    """Write the benchmark's files to a folder.

    Interrupted, it goes on where it stopped when run again with the same seed. Files appear under their final names
    only once they are whole. If they are there already, with at least as many samples, nothing is done.

    Args:
        output: Folder to write to.
        samples: How many; sample k is the same whatever the number.
        seed: Seed of the shapes.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.

    Raises:
        ValueError: If a number is out of range.
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    check_numbers(samples, seed, processes)
    settings = {"method": METHOD, "version": VERSION, "seed": seed, "samples": samples}
    solver = functools.partial(_arrays, seed)
    make_files(Path(output), settings, solver, _contents, FILES, _CHUNK, processes, progress)


def picture(directory: Path, output: Path, samples: int = 6) -> Path:
    """Draw the von Mises stress of the first samples of a folder that :func:`generate` wrote.

    Args:
        directory: Folder with the files.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If a file is missing; the originals come without a mesh.
    """
    from pitgeo.evaluation.plots.style import new_figure, save  # solvers in other processes need no pictures

    directory = Path(directory)
    check_drawable(directory, [STRESS, MESH], samples)
    stress = np.load(directory / STRESS, mmap_mode="r")
    with np.load(directory / MESH) as mesh:
        corners, subcells = mesh["corners"], mesh["subcells"]
    count = min(samples, stress.shape[1])
    columns = min(count, 3)
    rows = -(-count // columns)
    # The few values at the most stressed spots would turn the rest dark.
    norm = Normalize(0, float(np.percentile(stress[:, :count], 99.5)))
    figure = new_figure(2.7 * columns + 1, 2.8 * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    for number, axis in enumerate(axes.flat):
        axis.set_axis_off()
        if number >= count:
            continue
        cells = PolyCollection(list(corners[subcells, :, number]), array=stress[:, number], norm=norm, cmap="viridis")
        cells.set(edgecolor="face", linewidth=0.5)
        axis.add_collection(cells)
        axis.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal", title=f"sample {number}")
    figure.colorbar(cells, ax=axes, label="von Mises stress", extend="max", shrink=0.8)
    return save(figure, output, dpi=150)


def _arrays(seed: int, number: int) -> dict[str, NDArray[Any]]:
    """The arrays kept of a sample; single precision, but for the coefficients, which allow to solve it again."""
    try:
        sample = solve(draw_theta(seed, number))
    except (ValueError, ArithmeticError) as error:
        raise ArithmeticError(f"Sample {number} with seed {seed} could not be solved: {error}") from error
    subcells = subcell_corners()
    corners = np.empty((subcells.max() + 1, 2))
    corners[subcells] = gauss_subcells(sample.nodes, mesh_elements())
    kept = {
        "points": sample.points,
        "von_mises": sample.von_mises,
        "radii": sample.radii,
        "nodes": sample.nodes,
        "corners": corners,
    }
    return {"theta": sample.theta, **{name: array.astype(np.float32) for name, array in kept.items()}}


def _contents(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any] | dict[str, NDArray[Any]]]:
    """File names and contents, samples last as in the originals."""
    last = {name: np.ascontiguousarray(np.moveaxis(array, 0, -1)) for name, array in arrays.items()}
    mesh = {
        "nodes": last["nodes"],
        "elements": mesh_elements(),
        "cells": gauss_cells(),
        "corners": last["corners"],
        "subcells": subcell_corners(),
    }
    return {
        POSITIONS: last["points"],
        STRESS: last["von_mises"],
        SHAPE: last["radii"],
        COEFFICIENTS: arrays["theta"],
        MESH: mesh,
    }
