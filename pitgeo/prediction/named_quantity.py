"""Quantities by name as functions of predicted fields that have derivatives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from pitgeo.data.fields import FieldTable
from pitgeo.geometry.integrals import Integrals
from pitgeo.geometry.orders import Order
from pitgeo.geometry.weights import Floats
from pitgeo.measures.quantities import TargetQuantity
from pitgeo.mesh import Mesh


class NamedQuantity:
    """One number of the predicted fields of a mesh, by its name.

    Args:
        table: The targets.
        mesh: The mesh.
        text: A quantity of a target, as :func:`pitgeo.integrals.compute` names it, or a target of the whole mesh.

    Raises:
        ValueError: If it is neither, has more than one number, or is a percentile, which has no derivative here.
    """

    def __init__(self, table: FieldTable, mesh: Mesh, text: str) -> None:
        self.sign = -1.0 if text.startswith("-") else 1.0
        self.functional = None
        whole = [field for field in table.targets if field.name == text.removeprefix("-") and field.place == "mesh"]
        if whole and whole[0].channels == 1:
            self.field = whole[0]
            return
        self.own = TargetQuantity.find(table, text)
        if self.own.quantity.operation == "p":
            raise ValueError(f"Expected a quantity with a derivative (got the percentile {text!r}); take mean or peak")
        self.field = self.own.field
        self.integrals = Integrals(mesh)
        self.functional = self.own.functional(self.integrals)
        if len(self.functional.labels) > 1:
            raise ValueError(
                f"Expected a quantity of one number (got {text!r}, of {len(self.functional.labels)}); name one, as "
                f"{self.functional.labels[0]!r}"
            )

    def __call__(self, fields: Mapping[str, Tensor], points: Tensor) -> Tensor:
        """The number, from the fields ``[n, components]`` by target; it does not know that ``points`` weigh values."""
        values = fields[self.field.name]
        if self.functional is None:
            return self.sign * values.sum()
        if isinstance(self.functional, Order):
            column = self.functional.column
            chosen = values[torch.from_numpy(self.functional.used)]
            chosen = chosen if column is None else chosen[:, column : column + 1]
            lengths = chosen[:, 0] if chosen.shape[1] == 1 else torch.linalg.vector_norm(chosen, dim=1)
            quantity = self.own.quantity
            return quantity.sign * (lengths.max() if quantity.operation == "peak" else lengths.min())
        entries = self.functional.matrix.tocoo()
        flat = self._padded(values).reshape(-1)[torch.from_numpy(entries.col.astype(np.int64))]
        return (torch.from_numpy(entries.data) * flat.double()).sum()

    def slope_by_points(self, fields: Mapping[str, Tensor]) -> Floats | float:
        """How the number changes when nodes move and the fields stay, ``[N, D]``."""
        if self.functional is None:
            return 0.0
        values = self._padded(fields[self.field.name].detach()).double().numpy()
        slopes: Floats = self.integrals.slope_by_points(self.own.quantity, values, self.own.place, self.own.end)[0]
        return slopes

    def _padded(self, values: Tensor) -> Tensor:
        """Values with the third component, of zeros, that vectors of a plane have in the file."""
        return torch.nn.functional.pad(values, (0, self.own.components - values.shape[1]))
