"""One field over all files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pitgeo.describe.file_summary import MANY, FileField, FileSummary, Place
from pitgeo.describe.roles import Role


@dataclass(frozen=True)
class Field:
    """A field in all files that have it.

    Args:
        place: Whether it has a value for each point, each cell, or the whole mesh.
        name: Its name.
        found: Each file that has it, and what it is there.
    """

    place: Place
    name: str
    found: tuple[tuple[FileSummary, FileField], ...]

    @property
    def in_files(self) -> list[FileField]:
        """The field in each file."""
        return [own for _, own in self.found]

    @property
    def components(self) -> tuple[int, ...]:
        """The different numbers of components."""
        return tuple(sorted({own.components for own in self.in_files}))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The different types of its values."""
        return tuple(sorted({own.dtype for own in self.in_files}))

    @property
    def is_float(self) -> bool:
        """Whether it holds floating-point numbers in every file."""
        return all(dtype.startswith("float") for dtype in self.dtypes)

    @property
    def is_finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        return not any(own.bad for own in self.in_files)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Range of each component over all files; a single one if files disagree; none if there is no finite value."""
        known = [own for own in self.in_files if own.low]
        if len({len(own.low) for own in known}) > 1:
            return ((min(min(own.low) for own in known), max(max(own.high) for own in known)),)
        lows = [min(parts) for parts in zip(*(own.low for own in known), strict=True)]
        highs = [max(parts) for parts in zip(*(own.high for own in known), strict=True)]
        return tuple(zip(lows, highs, strict=True))

    @property
    def is_constant(self) -> bool:
        """Whether no component ever differs from one value."""
        return bool(self.ranges) and all(low == high for low, high in self.ranges)

    @property
    def is_parameter(self) -> bool:
        """Whether every file has one value of its own, as of a load case."""
        return not self.is_constant and all(own.low and own.low == own.high for own in self.in_files)

    @property
    def is_mark(self) -> bool:
        """Whether it marks a set: zeros and ones, one a point or cell, both in some file."""
        return self.place != "mesh" and self.components == (1,) and self.whole == {0.0, 1.0} and not self.is_parameter

    @property
    def role(self) -> Role:
        """The role that the field has in every file; empty if there is none or several."""
        roles = {own.role for own in self.in_files}
        return roles.pop() if len(roles) == 1 else ""

    @property
    def whole(self) -> frozenset[float]:
        """The different values, if all are whole and there are at most :data:`MANY`; else empty."""
        together: frozenset[float] = frozenset()
        for own in self.in_files:
            if own.whole is None:
                return frozenset()
            together |= own.whole
        return together if len(together) <= MANY else frozenset()


def collect_fields(meshes: Iterable[FileSummary]) -> list[Field]:
    """The fields of all files: of points, of cells, of whole meshes, each in the order in which they first come."""
    found: dict[tuple[Place, str], list[tuple[FileSummary, FileField]]] = {}
    for mesh in meshes:
        for own in mesh.fields:
            found.setdefault((own.place, own.name), []).append((mesh, own))
    fields = [Field(place, name, tuple(pairs)) for (place, name), pairs in found.items()]
    return sorted(fields, key=lambda field: ("points", "cells", "mesh").index(field.place))
