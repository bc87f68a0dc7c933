"""Which brackets there are: their families, the numbers of each, and how they are drawn. Lengths are in mm."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

Face = tuple[tuple[float, float, float], tuple[float, float, float], float]
"""A point on an axis, the axis' direction, and a radius: a cylinder; or a radius of zero: a plane across the axis."""


class ImpossibleShape(ValueError):
    """Numbers that are impossible together, or a solid that OpenCASCADE or gmsh does not make."""


FAMILIES = ("angle", "boss", "ribbed", "lug")
RING = 2.0
"""So much flat material, in mm, is left round every bolt hole and every other hole."""


@dataclass(frozen=True)
class Shape:
    """The numbers of a bracket, in mm; those that its family does not have are zero.

    All have a base plate, ``0 <= x <= length, 0 <= y <= width, 0 <= z <= thickness``.

    Args:
        family: ``"angle"``: a wall at x = 0. ``"boss"``: a hollow cylinder on the middle. ``"ribbed"``: ribs along x
            up to the end. ``"lug"``: an upright plate across y with a round top and a bore.
        length: Length of the base plate.
        width: Width of the base plate.
        thickness: Thickness of the base plate.
        fillet: Radius of the fillets round ribs, boss and lug.
        bolt_radius: Radius of the bolt holes.
        bolt_x: Where the bolt holes are, see :meth:`bolts`.
        bolt_y: As ``bolt_x``.
        height: The angle's height from z = 0; over the plate, the boss' height, or that of the lug's bore's centre.
        wall: Thickness of the wall or the lug.
        bend: Radius of the fillet between base plate and wall.
        radius: Outer radius of the boss; half of the lug's width.
        bore: Radius of the bore in boss or lug.
        ribs: How many ribs.
        rib_thickness: Their thickness.
        rib_length: How far ribs reach on the base plate from what they support; for ``"ribbed"`` their whole length.
        rib_height: Their height over the base plate.
        holes: Places and radii of other holes: (y, z, radius) in the angle's wall, (x, y, radius) in a ribbed plate.
    """

    family: str
    length: float
    width: float
    thickness: float
    fillet: float
    bolt_radius: float
    bolt_x: float
    bolt_y: float
    height: float = 0.0
    wall: float = 0.0
    bend: float = 0.0
    radius: float = 0.0
    bore: float = 0.0
    ribs: int = 0
    rib_thickness: float = 0.0
    rib_length: float = 0.0
    rib_height: float = 0.0
    holes: tuple[tuple[float, float, float], ...] = field(default=())

    def columns(self) -> dict[str, float | int | str]:
        """Its numbers as columns of a table, lengths in m; two holes, of radius zero where there are fewer."""
        found: dict[str, float | int | str] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("family", "ribs"):
                found[item.name] = value
            elif item.name != "holes":
                found[item.name] = float(value) / 1000
        for number, hole in enumerate((*self.holes, *[(0.0, 0.0, 0.0)] * 2)[:2], 1):
            names = (f"hole{number}_one", f"hole{number}_two", f"hole{number}_radius")
            found |= {name: float(value) / 1000 for name, value in zip(names, hole, strict=True)}
        return found

    def bolts(self) -> tuple[Face, ...]:
        """The bolt holes, all through the base plate.

        ======== ===================================================================================================
        angle    ``bolt_x`` from x = 0, and ``bolt_y`` to both sides of the middle; with two ribs both holes are in the
                 middle, ``bolt_y`` before and behind ``bolt_x``
        boss     four, ``bolt_x`` and ``bolt_y`` from the middle of the plate
        ribbed   ``bolt_x`` from x = 0, and ``bolt_y`` to both sides of the middle
        lug      as boss
        ======== ===================================================================================================
        """
        middle = self.width / 2
        if self.family in ("boss", "lug"):
            signs = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
            places = [(self.length / 2 + one * self.bolt_x, middle + two * self.bolt_y) for one, two in signs]
        elif self.family == "angle" and self.ribs == 2:
            places = [(self.bolt_x - self.bolt_y, middle), (self.bolt_x + self.bolt_y, middle)]
        else:
            places = [(self.bolt_x, middle - self.bolt_y), (self.bolt_x, middle + self.bolt_y)]
        return tuple(((x, y, 0.0), (0.0, 0.0, 1.0), self.bolt_radius) for x, y in places)

    def loaded(self) -> Face:
        """The loaded face: the wall's upper end, the boss' upper end, the ribbed plate's end x = length, the bore."""
        x, y = self.length / 2, self.width / 2
        if self.family == "angle":
            return (0.0, 0.0, self.height), (0.0, 0.0, 1.0), 0.0
        if self.family == "boss":
            return (0.0, 0.0, self.thickness + self.height), (0.0, 0.0, 1.0), 0.0
        if self.family == "ribbed":
            return (self.length, 0.0, 0.0), (1.0, 0.0, 0.0), 0.0
        return (x, y, self.thickness + self.height), (0.0, 1.0, 0.0), self.bore

    def rib_places(self) -> tuple[float, ...]:
        """Places of the ribs of an angle or a ribbed plate along y."""
        return _rib_places(self.width, self.ribs, self.rib_thickness, self.fillet)


def _rib_places(width: float, ribs: int, thickness: float, fillet: float) -> tuple[float, ...]:
    if ribs < 2:
        return (width / 2,) * ribs
    side = thickness / 2 + fillet + RING
    return tuple(float(place) for place in np.linspace(side, width - side, ribs))


def draw_kind(random: np.random.Generator) -> tuple[str, int, int]:
    """Family, and the numbers of ribs and of holes beside bolt holes and bore; each equally likely."""
    family = FAMILIES[int(random.integers(len(FAMILIES)))]
    ribs = {"angle": (0, 1, 2), "boss": (0, 2, 4), "ribbed": (1, 2, 3), "lug": (0, 2)}[family]
    holes = {"angle": 2, "boss": 1, "ribbed": 3, "lug": 1}[family]
    return family, ribs[int(random.integers(len(ribs)))], int(random.integers(holes))


def draw_shape(random: np.random.Generator, family: str, ribs: int, holes: int) -> Shape:
    """All other numbers of a bracket, each uniform in its range.

    Raises:
        ImpossibleShape: If a number has no room left by others; what is returned may still be impossible.
    """
    thickness, fillet, bolt, rib_thickness = random.uniform((5, 3, 3, 6), (10, 5, 5, 9))
    clear = rib_thickness / 2 + fillet if ribs else 0.0
    ring = bolt + RING
    common: dict[str, Any] = {"thickness": thickness, "fillet": fillet, "bolt_radius": bolt, "ribs": ribs}
    if ribs:
        common["rib_thickness"] = rib_thickness
    if family == "angle":
        length, width, height, wall, bend = random.uniform((60, 40, 60, 5, 4), (100, 70, 100, 10, 10))
        if ribs:
            long, tall = random.uniform(0.4, 0.7, 2) * (length - wall, height - thickness)
            common |= {"rib_length": long, "rib_height": tall}
        low, high = wall + bend + ring, length - ring
        if ribs == 2:
            bolt_y = _between(random, ring, (high - low) / 2)
            bolt_x = _between(random, low + bolt_y, high - bolt_y)
        else:
            bolt_x, bolt_y = _between(random, low, high), _between(random, ring + clear, width / 2 - ring)
        radii = random.uniform(4, 9, holes)
        places = [
            (_between(random, r + RING, width - r - RING), _between(random, thickness + bend + r, height - r), r)
            for r in radii
        ]
        special = {"height": height, "wall": wall, "bend": bend}
    elif family == "boss":
        length, width, height, radius_ = random.uniform((70, 50, 10, 10), (110, 90, 30, 18))
        bolt_x = _between(random, max(length / 4, clear + ring), length / 2 - ring)
        bolt_y = _between(random, max(width / 4, clear + ring), width / 2 - ring)
        if ribs:
            free = (width if ribs == 4 else length) / 2 - radius_
            long, high = random.uniform((0.4, 0.5), (0.8, 0.8)) * (free, height)
            common |= {"rib_length": long, "rib_height": high}
        places = []
        special = {"height": height, "radius": radius_, "bore": random.uniform(0.4, 0.65) * radius_}
    elif family == "ribbed":
        length, width, high = random.uniform((80, 50, 6), (120, 90, 18))
        long = random.uniform(0.55, 0.8) * length
        bolt_x = _between(random, ring, length - long - fillet - ring)
        bolt_y = _between(random, ring, width / 2 - ring)
        common |= {"rib_length": long, "rib_height": high}
        sides = [0.0, *(y + side for y in _rib_places(width, ribs, rib_thickness, fillet) for side in (-clear, clear))]
        gaps = np.reshape([*sides, width], (-1, 2))
        places = []
        for _ in range(holes):
            radius, gap = random.uniform(3, 7), gaps[int(random.integers(len(gaps)))]
            x = _between(random, length - long, length - radius - RING)
            places.append((x, _between(random, gap[0] + radius + RING, gap[1] - radius - RING), radius))
        special = {}
    elif family == "lug":
        length, width, height, wall, radius_ = random.uniform((60, 50, 20, 8, 12), (100, 80, 45, 14, 18))
        bore = random.uniform(0.4, 0.6) * radius_
        bolt_x = _between(random, clear + ring, length / 2 - ring)
        bolt_y = _between(random, wall / 2 + fillet + ring, width / 2 - ring)
        if ribs:
            long, high = random.uniform((0.4, 0.5), (0.8, 0.9)) * ((width - wall) / 2, height - bore)
            common |= {"rib_length": long, "rib_height": high}
        places = []
        special = {"height": height, "wall": wall, "radius": radius_, "bore": bore}
    else:
        raise ValueError(f"Expected a family of {', '.join(FAMILIES)} (got {family!r})")
    numbers = {"length": length, "width": width, "bolt_x": bolt_x, "bolt_y": bolt_y, **common, **special}
    return Shape(family, holes=tuple(places), **numbers)


def _between(random: np.random.Generator, low: float, high: float) -> float:
    if low > high:
        raise ImpossibleShape("There is no room for a hole")
    return float(random.uniform(low, high))
