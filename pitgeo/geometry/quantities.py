"""Numbers of a field by name: ``"mean:temperature@outlet"``, ``"peak:von_mises"``, ``"force_x:pressure@wall"``."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from pitgeo.geometry.sets import AT
from pitgeo.system.numbers import finite

AXES = "xyz"
OPERATIONS = ("integral", "mean", "peak", "min", "flux", "force", "moment")
NEED_NORMALS = ("flux", "force", "moment")

_FORM = re.compile(r"(?P<sign>-?)(?P<name>[a-z]+)(?P<percent>[0-9.]*)(_(?P<axis>[xyz]))?(\((?P<about>[^()]*)\))?")


@dataclass(frozen=True)
class Quantity:
    """A number of a field, over the mesh or one of its named sets.

    Args:
        text: Its name.
        operation: What is computed; ``"p"`` for a percentile.
        field: The field, perhaps with a component at the end.
        within: The set; ``None``: everywhere.
        sign: 1, or -1 for the opposite.
        axis: The component of a force or moment; ``None``: all.
        about: The point of a moment; empty: the origin.
        percent: Of a percentile.

    Example:
        >>> found = Quantity.parse("-force_x:pressure@wall")
        >>> found.operation, found.field, found.within, found.sign
        ('force', 'pressure', 'wall', -1.0)
    """

    text: str
    operation: str
    field: str
    within: str | None = None
    sign: float = 1.0
    axis: int | None = None
    about: tuple[float, ...] = ()
    percent: float = math.nan

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """The quantity of a name, ``"<operation>:<field>"`` or ``"<operation>:<field>@<set>"``.

        Raises:
            ValueError: If the name is not of this form, or the operation is unknown.

        Example:
            >>> Quantity.parse("-moment_z(0.25,0):pressure@wing").about
            (0.25, 0.0)
            >>> Quantity.parse("p95:von_mises").percent
            95.0
        """
        head, _, rest = text.partition(":")
        field, at, within = rest.rpartition(AT) if AT in rest else (rest, "", "")
        found = _FORM.fullmatch(head)
        if found is None or not field or (at and not within):
            raise ValueError(
                f"Expected '<operation>:<field>' or '<operation>:<field>@<set>', as in 'mean:temperature@outlet' (got "
                f"{text!r}); operations are {', '.join(OPERATIONS)} and percentiles, p95"
            )
        name, percent, axis, about = (found[key] for key in ("name", "percent", "axis", "about"))
        vector = name in ("force", "moment")
        if name not in (*OPERATIONS, "p") or (percent != "") != (name == "p") or (axis and not vector):
            near = difflib.get_close_matches(name, OPERATIONS, 1)
            hint = f"; did you mean {near[0]!r}?" if near and near[0] != name else ""
            raise ValueError(
                f"Expected {', '.join(OPERATIONS)} or a percentile as p95 before the ':' of a quantity, and an axis "
                f"only of force and moment (got {head!r} in {text!r}){hint}"
            )
        if about is not None and name != "moment":
            raise ValueError(f"Expected a point in brackets only of a moment (got {text!r})")
        share = _number(percent, text) if percent else math.nan
        if name == "p" and not 0 < share < 100:
            raise ValueError(f"Expected a percentile between 0 and 100 (got {percent} in {text!r})")
        point = tuple(_number(part, text) for part in about.split(",")) if about else ()
        return cls(
            *(text, name, field, within or None),
            *(-1.0 if found["sign"] else 1.0, AXES.index(axis) if axis else None, point, share),
        )

    @property
    def is_linear(self) -> bool:
        """Whether it is a sum of weighted values."""
        return self.operation in ("integral", "mean", *NEED_NORMALS)

    def label(self, axis: str = "", component: str = "") -> str:
        """Its name with an axis after the operation, or a component after the field."""
        if axis:
            head, _, rest = self.text.partition(":")
            name, bracket, point = head.partition("(")
            return f"{name}_{axis}{bracket}{point}:{rest}"
        if component:
            head, _, rest = self.text.partition(":")
            return f"{head}:{self.field}_{component}{rest[len(self.field) :]}"
        return self.text

    def of_field(self, names: Collection[str]) -> tuple[str, str]:
        """The field and the ending of the component, if it names one; the field alone, if there is one of that name.

        Example:
            >>> Quantity.parse("mean:velocity_x").of_field(["velocity"])
            ('velocity', 'x')
        """
        name, _, end = self.field.rpartition("_")
        if self.field in names or name not in names or not (end in AXES or end.isdecimal()):
            return self.field, ""
        return name, end

    def renamed(self, field: str) -> Quantity:
        """The same of another field."""
        return replace(self, field=field)


def _number(text: str, whole: str) -> float:
    value = finite(text)
    if value is None:
        raise ValueError(f"Expected a number (got {text!r} in {whole!r})")
    return value
