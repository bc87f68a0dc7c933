"""A picture of bodies, coloured by the pressure on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from pitgeo.datasets.generators import check_drawable
from pitgeo.evaluation.plots.space import Colors, render
from pitgeo.evaluation.plots.style import color_limits, new_figure, save
from pitgeo.mesh import read_mesh

_COLORS = "viridis"


def picture(directory: Path, output: Path, samples: int = 6) -> Path:
    """Draw the first bodies of a folder that :func:`bodies_samples.generate` wrote.

    Args:
        directory: Folder with the files.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If there are no files.
        ValueError: If ``samples`` is not positive.
        OSError: If VTK cannot draw on this machine.
    """
    directory = Path(directory)
    check_drawable(directory, [], samples)
    files = sorted(directory.glob("body_*.vtp"))[:samples]
    if not files:
        raise FileNotFoundError(f"Expected files body_*.vtp in {directory} (got none); generate the data first")
    meshes = [read_mesh(file) for file in files]
    pressures = [np.asarray(mesh.point_data["pressure_coefficient"], np.float64) for mesh in meshes]
    limits = color_limits(np.concatenate(pressures))
    columns = min(len(files), 3)
    rows = -(-len(files) // columns)
    figure = new_figure(3.6 * columns + 1, 2.6 * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, file, mesh, pressure in zip(axes.flat, files, meshes, pressures, strict=False):
        drawn = render(mesh, "point", [Colors(pressure, _COLORS, limits)])
        if drawn is None:
            raise OSError("Expected a machine on which VTK can draw (got none of OpenGL, EGL and OSMesa)")
        axis.imshow(drawn.pictures[0])
        stream = ", ".join(f"{share:.1f}" for share in mesh.field_data["direction"])
        axis.set_title(f"{file.stem}, stream to ({stream})", fontsize=9)
    colors = ScalarMappable(Normalize(*limits), _COLORS)
    figure.colorbar(colors, ax=axes, label="pressure coefficient", extend="both", shrink=0.8)
    return save(figure, output, dpi=150)
