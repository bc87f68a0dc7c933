"""The registry of models: a name and its options, which build the model. Adding a model is one entry here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from torch import nn

from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.graphs.metric import Metric
from pitgeo.models.deeponet import DeepONetOptions
from pitgeo.models.fno_options import FNOOptions, FNOPlusOptions
from pitgeo.models.galerkin import GalerkinOptions
from pitgeo.models.geo_fno import GeoFNOOptions
from pitgeo.models.gino import GINOOptions
from pitgeo.models.gnot import GNOTOptions
from pitgeo.models.model_options import Count, DataSpec, ModelOptions, Options, Quantile
from pitgeo.models.oformer import OFormerOptions
from pitgeo.models.ono import ONOOptions
from pitgeo.models.pod import PODOptions
from pitgeo.models.shift_deeponet import ShiftDeepONetOptions
from pitgeo.models.transolver import TransolverOptions
from pitgeo.nn import Body, PiT, PointwiseMLP, Rollout

__all__ = [
    "MODELS",
    "DataSpec",
    "LatentOptions",
    "MLPOptions",
    "ModelOptions",
    "PiTOptions",
    "build",
    "parameter_count",
]


class LatentOptions(Options):
    """The latent mesh of a PiT, see :class:`pitgeo.data.transforms.LatentMesh`."""

    method: Literal["input", "farthest", "grid", "regular"] = "farthest"
    number: Count | None = None
    ratio: Quantile | None = None
    cells: tuple[Count, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> LatentOptions:
        self.transform(Metric())
        return self

    def transform(self, metric: Metric) -> LatentMesh:
        """The transform that adds the latent points."""
        number, ratio = self.number, self.ratio
        if self.method == "farthest" and number is None and ratio is None:
            ratio = 0.25
        return LatentMesh(self.method, number, ratio, self.cells, metric)


class PiTOptions(ModelOptions):
    """Options of ``model.name = "pit"``, see :class:`pitgeo.nn.PiT`.

    ``body``: ``"paper"``, or ``"moments"``: the same blocks, and first moments beside the averages of
    position-attention. With ``quadrature``, the encoder weighs input points by their share of the domain, for meshes
    with another grading than those of the training. With ``residual_of = "pod"``, on a mesh that all samples share,
    the network learns the error of a POD (:class:`pitgeo.models.POD`) on samples that it was not fitted to.
    """

    channels: Count = 64
    heads: Count = 4
    layers: Count = 4
    body: Literal["paper", "moments"] = "moments"
    encoder: Literal["layer", "block"] = "layer"
    decoder: Literal["layer", "block"] = "layer"
    attention: tuple[
        Literal["position", "self_position", "self"],
        Literal["position", "self_position", "self"],
        Literal["position", "self_position", "self"],
    ] = ("position", "position", "position")
    positivity: Literal["square", "tan", "sine_tan"] = "square"
    lengths: Literal["mesh", "random"] = "mesh"
    quadrature: bool = False
    encoder_quantile: Quantile = 0.02
    decoder_quantile: Quantile = 0.02
    output_quantile: Quantile | None = None
    period: tuple[Annotated[float, Field(ge=0)], ...] = ()
    divisor: Annotated[float, Field(gt=0)] = 1.0
    latent: LatentOptions = LatentOptions()
    residual_of: Literal["none", "pod"] = "none"

    @field_validator("body", mode="before")
    @classmethod
    def _check_body(cls, body: object) -> object:
        if body == "residual":
            raise ValueError(
                "Expected 'moments' or 'paper' (got 'residual', which this version no longer has); train again with "
                "'moments', or predict with the version that wrote the checkpoint"
            )
        return body

    @model_validator(mode="after")
    def _check(self) -> PiTOptions:
        if self.channels % self.heads:
            raise ValueError(f"Expected 'heads' to divide 'channels' = {self.channels} (got {self.heads})")
        if self.quadrature and (self.attention[0] != "position" or self.latent.method == "input"):
            raise ValueError(
                "Expected position-attention in the encoder, and latent points other than the input points, with "
                f"'quadrature' (got attention = {list(self.attention)}, latent.method = {self.latent.method!r}); leave "
                f"it out, or choose latent points"
            )
        if self.quadrature and any(self.period):
            raise ValueError(f"Expected no 'period' with 'quadrature' (got {list(self.period)}); leave one of them out")
        return self

    @property
    def metric(self) -> Metric:
        """The metric of graphs and layers."""
        return Metric(self.period, self.divisor)

    @property
    def graphs(self) -> AttentionGraphs:
        """The graphs of the model."""
        quantiles = self.encoder_quantile, self.decoder_quantile, self.output_quantile
        return AttentionGraphs(*quantiles, self.metric, self.quadrature)

    def transform(self) -> Compose:
        """The transform of samples: latent points and graphs."""
        return Compose((self.latent.transform(self.metric), self.graphs))

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model; its first length scales come from the spacing of the points and the size of the meshes."""
        known = self.lengths == "mesh" and spec.spacing > 0  # it is 0 where all points of most meshes coincide
        lengths = (spec.spacing, spec.extent) if known else None
        body = Body(
            self.layers,
            self.encoder,
            self.decoder,
            self.attention,
            self.positivity,
            lengths,
            spec.latent_spacing,
            0 if self.body == "paper" else spec.dimension,
        )
        model = PiT(spec.in_channels, spec.out_channels, self.channels, self.heads, self.graphs, body)
        if self.residual_of != "none":  # the initial correction is zero
            last = [part for part in model.head.modules() if isinstance(part, nn.Linear)][-1]
            for weight in last.parameters():
                nn.init.zeros_(weight)
        return model

    def control(self, spec: DataSpec) -> nn.Module | None:
        """The POD that the network corrects, if any."""
        return PODOptions().build(spec) if self.residual_of == "pod" else None


class MLPOptions(ModelOptions):
    """Options of ``model.name = "mlp"``, see :class:`pitgeo.nn.PointwiseMLP`."""

    channels: Count = 128
    layers: Count = 4

    def build(self, spec: DataSpec) -> nn.Module:
        """A new model; its meshes do not matter."""
        return PointwiseMLP(spec.in_channels, spec.out_channels, self.channels, self.layers)


MODELS: dict[str, type[ModelOptions]] = {
    "pit": PiTOptions,
    "mlp": MLPOptions,
    "deeponet": DeepONetOptions,
    "shift_deeponet": ShiftDeepONetOptions,
    "fno": FNOOptions,
    "fno_plus": FNOPlusOptions,
    "geo_fno": GeoFNOOptions,
    "galerkin": GalerkinOptions,
    "oformer": OFormerOptions,
    "gnot": GNOTOptions,
    "ono": ONOOptions,
    "transolver": TransolverOptions,
    "gino": GINOOptions,
    "pod": PODOptions,
}


def parameter_count(model: nn.Module) -> int:
    """The number of trained parameters; a complex one counts twice."""
    return sum(value.numel() * (2 if value.is_complex() else 1) for value in model.parameters())


def build(options: ModelOptions, spec: DataSpec) -> nn.Module:
    """A new model, rolled out where the data are a series of steps."""
    model = options.build(spec)
    return Rollout(model, spec.steps) if spec.steps > 1 else model
