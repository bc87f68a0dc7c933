"""The numbers of the whole mesh that are inputs of a model, by the names that formulas, sweeps and views use."""

from __future__ import annotations

from dataclasses import dataclass

from pitgeo.data.fields.mesh_field import MeshField, component_names
from pitgeo.data.fields.roles import FieldRoles


@dataclass(frozen=True)
class Number:
    """A number of the whole mesh that a model takes, as it enters the input values.

    Args:
        name: Its name: that of the field, with the axis behind it for a component of a vector.
        source: The name of the field.
        component: The component of the field.
        fields: The inputs that hold it, each with its first column among the numbers of
            :meth:`~pitgeo.data.fields.FieldTable.read`, and its first channel among the input values.
    """

    name: str
    source: str
    component: int
    fields: tuple[tuple[MeshField, int, int], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Its columns among the numbers of :meth:`~pitgeo.data.fields.FieldTable.read`."""
        return tuple(column + self.component for _, column, _ in self.fields)


def number_fields(table: FieldRoles) -> list[tuple[MeshField, int, int]]:
    """The inputs of the whole mesh, each with its first column and its first channel, as :class:`Number` has them."""
    found, column, channel = [], 0, 0
    for field in table.inputs:
        if field.place == "mesh" and not field.is_geometry:
            found.append((field, column, channel))
        column, channel = column + field.stored, channel + field.channels
    return found


def numbers(table: FieldRoles) -> dict[str, Number]:
    """The numbers of the whole mesh that are inputs of a model, by name; a vector's components are ``"load_x"``.

    A field that is called like the component of another has the name alone, and the component has none. New tables have
    no such pair, see :meth:`~pitgeo.data.fields.roles.FieldRoles.infer`.
    """
    fields = number_fields(table)
    taken = {field.source for field, _, _ in fields}
    found: dict[str, Number] = {}
    for entry in fields:
        field = entry[0]
        for component, name in enumerate(component_names(field)):
            if name in taken and name != field.source:
                continue
            before = found[name].fields if name in found else ()
            found[name] = Number(name, field.source, component, (*before, entry))
    return found
