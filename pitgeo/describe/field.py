"""One field over all files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pitgeo.describe.facts import MANY, FieldFacts, MeshFacts, Place
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
    found: tuple[tuple[MeshFacts, FieldFacts], ...]

    @property
    def facts(self) -> list[FieldFacts]:
        """What it is in each file."""
        return [facts for _, facts in self.found]

    @property
    def components(self) -> tuple[int, ...]:
        """The different numbers of components."""
        return tuple(sorted({facts.components for facts in self.facts}))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The different types of its values."""
        return tuple(sorted({facts.dtype for facts in self.facts}))

    @property
    def is_float(self) -> bool:
        """Whether it holds floating-point numbers in every file."""
        return all(dtype.startswith("float") for dtype in self.dtypes)

    @property
    def is_finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        return not any(facts.bad for facts in self.facts)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Range of each component over all files; a single one if files disagree; none if there is no finite value."""
        known = [facts for facts in self.facts if facts.low]
        if len({len(facts.low) for facts in known}) > 1:
            return ((min(min(facts.low) for facts in known), max(max(facts.high) for facts in known)),)
        lows = [min(parts) for parts in zip(*(facts.low for facts in known), strict=True)]
        highs = [max(parts) for parts in zip(*(facts.high for facts in known), strict=True)]
        return tuple(zip(lows, highs, strict=True))

    @property
    def is_constant(self) -> bool:
        """Whether no component ever differs from one value."""
        return bool(self.ranges) and all(low == high for low, high in self.ranges)

    @property
    def is_parameter(self) -> bool:
        """Whether every file has one value of its own, as of a load case."""
        return not self.is_constant and all(facts.low and facts.low == facts.high for facts in self.facts)

    @property
    def is_mark(self) -> bool:
        """Whether it marks a set: zeros and ones, one a point or cell, both in some file."""
        return self.place != "mesh" and self.components == (1,) and self.whole == {0.0, 1.0} and not self.is_parameter

    @property
    def role(self) -> Role:
        """What it is in every file beside a result."""
        roles = {facts.role for facts in self.facts}
        return roles.pop() if len(roles) == 1 else ""

    @property
    def whole(self) -> frozenset[float]:
        """The different values, if all are whole and they are few; else empty."""
        together: frozenset[float] = frozenset()
        for facts in self.facts:
            if facts.whole is None:
                return frozenset()
            together |= facts.whole
        return together if len(together) <= MANY else frozenset()


def collect_fields(meshes: Iterable[MeshFacts]) -> list[Field]:
    """The fields of all files: of points, of cells, of whole meshes, each in the order in which they first come."""
    found: dict[tuple[Place, str], list[tuple[MeshFacts, FieldFacts]]] = {}
    for mesh in meshes:
        for facts in mesh.fields:
            found.setdefault((facts.place, facts.name), []).append((mesh, facts))
    fields = [Field(place, name, tuple(pairs)) for (place, name), pairs in found.items()]
    return sorted(fields, key=lambda field: ("points", "cells", "mesh").index(field.place))
