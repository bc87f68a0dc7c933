"""One field of a mesh, as a model sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pitgeo.geometry.sets import AT

Place = Literal["point", "cell", "mesh"]
AXES = "xyz"


@dataclass(frozen=True)
class MeshField:
    """One field of a mesh, as a model sees it.

    Args:
        name: Its name in the file, or that of a geometry input.
        components: Numbers a point that are learned from, or learned.
        place: Where the values belong: to points, to cells, or to the mesh as a whole.
        width: Numbers a point in the file; more than ``components`` where the third of a planar vector is zero.
        categories: Whole numbers that stand for kinds, each of which becomes a channel of zeros and ones.
        is_geometry: Whether it is computed from the mesh, see :mod:`pitgeo.geometry`.
        within: The named set where a number of the whole mesh is given, as zero elsewhere; ``None`` for everywhere.
            The field is called ``"<number>@<set>"`` then.
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
        """What its values are called in the file: of a number in a set, the number."""
        return self.name if self.within is None else self.name.removesuffix(f"{AT}{self.within}")

    @property
    def channels(self) -> int:
        """Channels of the model."""
        return self.components if self.categories is None else len(self.categories)

    @property
    def stored(self) -> int:
        """Numbers a point in the file."""
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
