"""Sizes and point spacings of the training meshes, and whether another mesh differs from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh import Mesh, Note

QUERIES = 2000
"""Largest number of points that the spacing is measured at."""

NEIGHBORS = 8
"""Neighbours searched for each point; this many points in one place hide the spacing there."""

OTHER_SIZE = 1.5
"""A mesh has another size if it is larger or smaller than all training meshes by this factor."""

OTHER_SPACING = 2.0
"""A mesh has another spacing if its points are farther apart or closer than in training by this factor."""

TURNED = 0.3
"""A mean of normals shorter than this has no direction."""

NEAR = 0.05
"""A unit explains a size if the converted size is within this share of the training sizes."""

CELSIUS = 273.15
"""Kelvins at zero degrees Celsius."""

UNITS = {1e3: "mm and m", 1e2: "cm and m", 1e1: "mm and cm", 1e6: "µm and m", 25.4: "mm and inches"}
UNITS |= {39.37: "inches and m", 3.281: "feet and m", 304.8: "mm and feet", 12.0: "inches and feet"}
"""Pairs of units by how many of the smaller make up the larger, the most frequent mistakes first."""


def sizes(mesh: Mesh) -> dict[str, float]:
    """The ``extent`` of a mesh, the diagonal of its bounding box, and the ``spacing`` of its points.

    The spacing is the median distance to the nearest point in another place; 0 if there is none.
    """
    points = mesh.points
    queries = points[:: max(1, len(points) // QUERIES)]
    count = min(NEIGHBORS, len(points))
    distances = np.asarray(kd_tree(points).query(queries, k=count)[0]).reshape(len(queries), count)
    nearest = np.min(np.where(distances > 0, distances, np.inf), 1)
    nearest = nearest[np.isfinite(nearest)]
    spacing = float(np.median(nearest)) if len(nearest) else 0.0
    return {"extent": float(np.linalg.norm(np.ptp(points, 0))), "spacing": spacing}


@dataclass(frozen=True)
class MeshSizes:
    """Sizes of the training meshes.

    Args:
        extent: The smallest and the largest extent.
        spacing: The smallest and the largest spacing.
        normal: The mean of the normals of all meshes, if normals are inputs.
        time_step: The time from one state to the next, for a model of time series.
    """

    extent: tuple[float, float]
    spacing: tuple[float, float]
    normal: tuple[float, ...] = ()
    time_step: float | None = None

    def plain(self) -> dict[str, Any]:
        """Plain numbers and lists, for a checkpoint."""
        return asdict(self)

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> MeshSizes:
        """The sizes from the result of :meth:`plain`."""
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}
        return cls(**values)

    def doubts(self, own: Mapping[str, float], normals: Sequence[float] = ()) -> Iterator[Note]:
        """How a mesh differs from those of training: another size, another spacing, flipped faces.

        Args:
            own: The :func:`sizes` of the mesh.
            normals: The mean of its normals, if normals are inputs.
        """
        if _is_beyond(own["extent"], self.extent, OTHER_SIZE):
            yield Note(
                "size",
                f"{_ratio(own['extent'], self.extent, 'larger', 'smaller')} than the training meshes (an extent of "
                f"{own['extent']:.4g}, in training {_span(self.extent)}): "
                f"{unit_text(own['extent'], self.extent) or 'do not rely on the prediction'}",
            )
        elif _is_beyond(own["spacing"], self.spacing, OTHER_SPACING):
            yield Note(
                "spacing",
                f"points are {_ratio(own['spacing'], self.spacing, 'farther apart', 'closer')} than those of the "
                f"training meshes (about {own['spacing']:.3g}, in training {_span(self.spacing)}): do not rely on the "
                f"prediction",
            )
        if is_turned(normals, self.normal):
            yield Note(
                "turned faces",
                "normals point the other way than in the training meshes: the faces of an open surface have the "
                "opposite orientation, so reverse the order of their nodes",
            )


def is_turned(normal: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two means of normals are opposite; false if one has no direction."""
    if len(normal) != len(other) or not len(normal):
        return False
    lengths = [float(np.linalg.norm(mean)) for mean in (normal, other)]
    return min(lengths) > TURNED and float(np.dot(normal, other)) < -0.5 * lengths[0] * lengths[1]


def unit_text(value: float, known: tuple[float, float]) -> str:
    """The units whose conversion would bring a size into the known range, as a question; empty if there are none.

    Example:
        >>> unit_text(1400.0, (0.9, 1.5)), unit_text(0.04, (1.0, 1.0)), unit_text(7.0, (1.0, 1.0))
        ('mm and m?', 'mm and inches?', '')
    """
    low, high = known[0] * (1 - NEAR), known[1] * (1 + NEAR)
    near = (pair for number, pair in UNITS.items() if low <= value / number <= high or low <= value * number <= high)
    return next((f"{pair}?" for pair in near), "")


def units_hint(own: tuple[float, float], known: tuple[float, float]) -> str:
    """The offset or factor that brings the values of an input into the known range, as a question for a message.

    Example:
        >>> units_hint((20.0, 80.0), (290.0, 360.0)), units_hint((2e5, 3e5), (180.0, 320.0)), units_hint((5, 6), (1, 2))
        (' (°C and K?)', ' (by 1000: are units mixed?)', '')
        >>> units_hint((14, 14), (1, 10))  # though 1.4 and 0.14 are near the range
        ''
    """
    margin = max(known[1] - known[0], CELSIUS / 10) / 10

    def fits(values: Sequence[float]) -> bool:
        return known[0] - margin <= min(values) and max(values) <= known[1] + margin

    if any(fits([value + shift for value in own]) for shift in (CELSIUS, -CELSIUS)):
        return " (°C and K?)"
    margin = (known[1] - known[0]) / 10 or abs(known[1]) / 10
    factors = (1e3, 1e6, 1e2, 1e1, 1e9)
    sizes = [max(abs(value) for value in ends) for ends in (own, known)]
    apart = max(sizes) / min(sizes) if min(sizes) else 0.0
    number = next((n for n in factors if apart > n / 3 and any(fits([v * f for v in own]) for f in (n, 1 / n))), None)
    return "" if number is None else f" (by {number:g}: are units mixed?)"


def _is_beyond(value: float, known: tuple[float, float], factor: float) -> bool:
    low, high = known
    return min(value, low) > 0 and not low / factor <= value <= high * factor


def _ratio(value: float, known: tuple[float, float], more: str, less: str) -> str:
    """The ratio of a size to the geometric mean of the known range, in words."""
    ratio = value / float(np.sqrt(known[0] * known[1]))
    return f"{max(ratio, 1 / ratio):.4g} times {more if ratio > 1 else less}"


def _span(known: tuple[float, float]) -> str:
    low, high = (f"{value:.4g}" for value in known)
    return low if low == high else f"{low} to {high}"
