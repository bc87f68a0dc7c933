"""A picture of bent solids, coloured by their von Mises stress."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from pitgeo.datasets.generators import check_drawable
from pitgeo.evaluation.plots.style import new_figure, save
from pitgeo.mesh import Mesh, read_mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MEGA = 1e6
_BENT = 0.1  # the largest displacement drawn, by the solid's longest extent
# Where the eye's right, upward and forward directions point in the solid's axes: seen from the front, above.
_FORWARD = np.array([-0.25, 0.75, -0.6]) / np.linalg.norm([-0.25, 0.75, -0.6])
_RIGHT = np.cross(_FORWARD, [0, 0, 1]) / np.linalg.norm(np.cross(_FORWARD, [0, 0, 1]))
_UP = np.cross(_RIGHT, _FORWARD)


def bent_solids(prefix: str, directory: Path, output: Path, samples: int = 6) -> Path:
    """Draw the first solids of a folder of VTU files with ``displacement`` and ``von_mises``, bent visibly.

    Args:
        prefix: What the files' names begin with.
        directory: Folder with the files.
        output: Picture to write.
        samples: How many.

    Raises:
        FileNotFoundError: If there are no files.
        ValueError: If ``samples`` is not positive.
    """
    directory = Path(directory)
    check_drawable(directory, [], samples)
    files = sorted(directory.glob(f"{prefix}_*.vtu"))[:samples]
    if not files:
        raise FileNotFoundError(f"Expected files {prefix}_*.vtu in {directory} (got none); generate the data first")
    meshes = [read_mesh(file) for file in files]
    stress = np.concatenate([mesh.point_data["von_mises"] for mesh in meshes]) / _MEGA
    # The few values at the most stressed spots would turn the rest dark.
    norm = Normalize(0, float(np.percentile(stress, 99.5)))
    columns = min(len(files), 3)
    rows = -(-len(files) // columns)
    figure = new_figure(3.6 * columns + 1, 2.4 * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    for number, axis in enumerate(axes.flat):
        axis.set_axis_off()
        if number >= len(files):
            continue
        corners, values, factor = _seen_faces(meshes[number])
        faces = PolyCollection(list(corners), array=values, norm=norm, cmap="viridis")
        faces.set(edgecolor="face", linewidth=0.3)
        axis.add_collection(faces)
        axis.autoscale_view()
        axis.set(aspect="equal", title=f"{files[number].stem}, bent {factor:.0f} times")
    figure.colorbar(faces, ax=axes, label="von Mises stress in MPa", extend="max", shrink=0.8)
    return save(figure, output, dpi=150)


def outer_faces(cells: Ints) -> Ints:
    """Triangles ``[F, 3]`` of tetrahedra ``[T, 4]`` that belong to one alone, counter-clockwise seen from outside."""
    faces = cells[:, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]].reshape(-1, 3)
    _, first, uses = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer: Ints = faces[first[uses == 1]]
    return outer


def _seen_faces(mesh: Mesh) -> tuple[Floats, Floats, float]:
    """Faces turned to the eye, far ones first, ``[F, 3, 2]``; their stress ``[F]``; how much the solid is bent."""
    displacement = np.asarray(mesh.point_data["displacement"], np.float64)
    factor = (
        _BENT * float(np.ptp(mesh.points, axis=0).max()) / max(float(np.linalg.norm(displacement, axis=1).max()), 1e-12)
    )
    faces = outer_faces(mesh.cells[0][1])
    corners = (mesh.points + factor * displacement)[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    seen = normal @ _FORWARD < 0
    corners, faces = corners[seen], faces[seen]
    order = np.argsort(-(corners.mean(axis=1) @ _FORWARD))
    values = np.asarray(mesh.point_data["von_mises"], np.float64)[faces].mean(axis=1) / _MEGA
    return (corners @ np.stack([_RIGHT, _UP], axis=1))[order], values[order], factor
