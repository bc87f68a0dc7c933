"""A trained model as a module with only tensors as inputs, which torch can export."""

from __future__ import annotations

import copy
from typing import Literal, cast

from torch import Tensor, nn

from pitgeo.data.transforms import UnitBox
from pitgeo.data.transforms.unit_box import box_center
from pitgeo.nn import DenseLayout, GlobalPositionAttention, PositionAttention, SelfPositionAttention
from pitgeo.prediction.predictor import Predictor

Form = Literal["dense", "fused"]


class Portable(nn.Module):
    """A trained model made of torch's own operators, with tensors as inputs.

    Args:
        predictor: The trained model.
        attention: The form of global attention.

    Raises:
        ValueError: If the form is fused and the domain is periodic.
    """

    def __init__(self, predictor: Predictor, attention: Form) -> None:
        super().__init__()
        self.module = copy.deepcopy(predictor.module)
        self.box = next((step for step in predictor.transform.transforms if isinstance(step, UnitBox)), None)
        for layer in self.module.modules():
            if isinstance(layer, PositionAttention):
                layer.backend = "reference"
            elif isinstance(layer, (GlobalPositionAttention, SelfPositionAttention)):
                if attention == "fused" and layer.metric.is_periodic:
                    raise ValueError(
                        f"Expected 'attention' to be 'dense' on a periodic domain (got {attention!r}); leave it out"
                    )
                layer.backend, layer.is_fused = attention, attention == "fused"
                if isinstance(layer, GlobalPositionAttention):
                    layer.expanded, layer.grid = [], None
        self.eval()

    def forward(
        self,
        pos: Tensor,
        x: Tensor | None = None,
        pos_latent: Tensor | None = None,
        pos_out: Tensor | None = None,
        encoder_edge_index: Tensor | None = None,
        decoder_edge_index: Tensor | None = None,
        output_edge_index: Tensor | None = None,
        quadrature: Tensor | None = None,
    ) -> Tensor:
        """Values at the output points of one sample."""
        x = pos.new_zeros(pos.shape[0], 0) if x is None else x
        points = {"input": pos, "latent": pos_latent, "output": pos_out}
        if self.box is not None:
            center, scale = box_center(pos), self.box.scale
            points = {kind: None if part is None else (part - center) * scale for kind, part in points.items()}
        graphs = {"encoder": encoder_edge_index, "decoder": decoder_edge_index, "output": output_edge_index}
        return cast(Tensor, self.module(_Sample(x, points, graphs, quadrature)))


class _Sample:
    """The part of :class:`~pitgeo.data.PointData` that a model uses, made of tensors only."""

    samples = 1
    common_grid = None

    def __init__(
        self,
        x: Tensor,
        points: dict[str, Tensor | None],
        graphs: dict[str, Tensor | None],
        quadrature: Tensor | None,
    ) -> None:
        self.x, self._quadrature = x, quadrature
        self._points, self._graphs = points, graphs
        self.pos = cast(Tensor, points["input"])
        self.input_dim = self.pos.shape[-1] + x.shape[-1]

    def points(self, kind: str) -> tuple[Tensor, None]:
        own = self._points[kind]
        return (self.pos if own is None else own), None

    def coincide(self, first: str, second: str) -> bool:
        return self.points(first)[0] is self.points(second)[0]

    def get(self, name: str) -> DenseLayout | Tensor | None:
        if name == "quadrature":
            return self._quadrature
        return DenseLayout(1, self.points("latent")[0].shape[0], None, None) if name == "latent_layout" else None

    def has_graph(self, graph: str) -> bool:
        return True

    def graph(self, graph: str) -> Tensor:
        return cast(Tensor, self._graphs[graph])
