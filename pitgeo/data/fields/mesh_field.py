"""A field of a mesh as an input or target, and numbers of the whole mesh in a named set: ``"load@tip"``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pitgeo.geometry.sets import AT

Place = Literal["point", "cell", "mesh"]
AXES = "xyz"


@dataclass(frozen=True)
class MeshField:
    """A field of a mesh, as an input or target of a model.

    Args:
        name: Name of the field in the file, or of a geometry input.
        components: Numbers of a point that the model takes or predicts.
        place: The values belong to points, to cells, or to the mesh as a whole.
        width: Numbers of a point in the file; more than ``components`` if the third of a planar vector is zero.
        categories: Whole numbers that stand for kinds; each becomes a channel of zeros and ones.
        is_geometry: Whether the field is computed from the mesh, see :mod:`pitgeo.geometry`.
        within: The named set on which a number of the whole mesh is given, with zeros elsewhere; the field is then
            called ``"<number>@<set>"``. ``None`` for the whole mesh.

    Example:
        >>> MeshField("velocity", components=2, place="cell").labels
        ('velocity_x', 'velocity_y')
    """

    name: str
    components: int = 1
    place: Place = "point"
    width: int | None = None
    categories: tuple[int, ...] | None = None
    is_geometry: bool = False
    within: str | None = None

    @property
    def source(self) -> str:
        """The name of the values in the file: for a number in a set, that of the number."""
        return self.name if self.within is None else self.name.removesuffix(f"{AT}{self.within}")

    @property
    def channels(self) -> int:
        """Number of channels of the model."""
        return self.components if self.categories is None else len(self.categories)

    @property
    def stored(self) -> int:
        """How many numbers the file holds for a point."""
        return self.components if self.width is None else self.width

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for every channel."""
        if self.categories is not None:
            return tuple(f"{self.name}={kind}" for kind in self.categories)
        if self.components == 1:
            return (self.name,)
        ends = AXES if self.components <= 3 else [str(number + 1) for number in range(self.components)]
        return tuple(f"{self.name}_{end}" for end in ends[: self.components])


def component_names(field: MeshField) -> tuple[str, ...]:
    """The names of the numbers that a field of the whole mesh holds, whatever its set.

    Example:
        >>> component_names(MeshField("load@tip", 2, "mesh", within="tip"))
        ('load_x', 'load_y')
    """
    if field.categories is not None:
        return (field.source,)
    return tuple(f"{field.source}{label.removeprefix(field.name)}" for label in field.labels)


def number_and_set(name: str) -> tuple[str, str] | None:
    """The number and the set in ``"number@set"``, split at the last ``@``; ``None`` unless the name has both.

    Example:
        >>> number_and_set("load@tip"), number_and_set("a@b@tip"), number_and_set("load"), number_and_set("load@")
        (('load', 'tip'), ('a@b', 'tip'), None, None)
    """
    number, _, within = name.rpartition(AT)
    return (number, within) if number and within else None


def with_numbers(names: Iterable[str]) -> set[str]:
    """The names, and for every ``"number@set"`` also the name of the number."""
    names = set(names)
    return names | {pair[0] for name in names if (pair := number_and_set(name))}


def own_number(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number ``[K]`` of a field ``[n, K]`` that has it in a set, and zeros elsewhere.

    Example:
        >>> own_number(np.array([[0.0], [-2.0], [0.0]]))
        array([-2.])
    """
    number: NDArray[np.float64] = np.take_along_axis(values, np.abs(values).argmax(0)[None], 0)[0]
    return number
