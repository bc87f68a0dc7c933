"""The options of a Position-induced Transformer's stages, and the factory that makes them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from torch import nn

from pitgeo.data.transforms.attention_graphs import AttentionGraphs
from pitgeo.graphs.metric import Metric
from pitgeo.nn.blocks import PaperBlock, PaperLayer
from pitgeo.nn.checks import check_counts
from pitgeo.nn.global_attention import GlobalPositionAttention
from pitgeo.nn.length_scale import Positivity
from pitgeo.nn.moments import About
from pitgeo.nn.position_attention import PositionAttention
from pitgeo.nn.self_attention import SelfAttention, SelfPositionAttention

Attention = Literal["position", "self_position", "self"]
_ATTENTION = ("position", "self_position", "self")


@dataclass(frozen=True)
class Body:
    """Options of the stages of a :class:`PiT`.

    Args:
        layers: Blocks of the processor.
        encoder: ``"layer"``: attention and activation; ``"block"``: a whole block (one point set only).
        decoder: The same for the decoder.
        attention: The attention of encoder, processor and decoder. Every kind but ``"position"`` is global; in the
            encoder or decoder it needs latent, input and output points to be the same.
        positivity: How the length scales are kept positive.
        lengths: Point spacing and size of the domain; initial length scales lie between them. ``None``: drawn at
            random, as in the authors' later code.
        latent_spacing: Spacing of the latent points, the smallest initial length of the processor; ``None``: that of
            the input points.
        moments: Axes of the positions, if position-attention adds first moments to its averages
            (:mod:`pitgeo.nn.moments`), in the encoder about the mean of the neighbours. This is what ``model.pit`` of
            a configuration does. 0: averages alone, as in the paper. ``None``: one axis for each period of the metric,
            or 2 without periods.

    Raises:
        ValueError: If an option has no valid value.

    Example:
        >>> Body(layers=2, moments=3).with_moments(Metric()).moments
        3
        >>> Body().with_moments(Metric(period=(1.0,))).moments  # one axis for each period
        1
    """

    layers: int = 4
    encoder: Literal["layer", "block"] = "layer"
    decoder: Literal["layer", "block"] = "layer"
    attention: tuple[Attention, Attention, Attention] = ("position", "position", "position")
    positivity: Positivity = "square"
    lengths: tuple[float, float] | None = None
    latent_spacing: float | None = None
    moments: int | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("encoder", self.encoder, ("layer", "block")),
            ("decoder", self.decoder, ("layer", "block")),
            *(("attention", kind, _ATTENTION) for kind in self.attention),
        ):
            if value not in allowed:
                raise ValueError(f"Expected '{name}' to be one of {allowed} (got {value!r})")
        check_counts(layers=self.layers)
        if self.moments is not None and self.moments < 0:
            raise ValueError(f"Expected 'moments' to be 0 or the number of axes (got {self.moments})")

    def with_moments(self, metric: Metric) -> Body:
        """A copy with a number in ``moments`` in place of ``None``; 0 if no stage has position-attention."""
        if "position" not in self.attention:
            return replace(self, moments=0)
        return self if self.moments is not None else replace(self, moments=len(metric.period) or 2)


@dataclass(frozen=True)
class BlockFactory:
    """Makes the stages of a model.

    Args:
        channels: Encoding dimension.
        heads: Heads of every attention layer.
        graphs: Quantiles and metric.
        body: Options of the stages.
    """

    channels: int
    heads: int
    graphs: AttentionGraphs
    body: Body

    def make(
        self, kind: str, attention: Attention, quantile: float | None, moments_about: About = "point"
    ) -> nn.Module:
        """A ``"layer"`` or ``"block"``; position-attention is over a graph of this quantile, or global without one."""
        layer = self.attention(attention, quantile, moments_about)
        return {"layer": PaperLayer, "block": PaperBlock}[kind](layer, self.channels)

    def attention(self, kind: Attention, quantile: float | None, moments_about: About) -> nn.Module:
        """The attention layer of a stage."""
        c, heads = self.channels, self.heads
        if kind == "self":
            return SelfAttention(c, c, heads)
        positivity, metric, moments = self.body.positivity, self.graphs.metric, self.body.moments or 0
        if kind == "self_position":
            return SelfPositionAttention(c, c, heads, positivity, self.lengths(None), metric)
        if quantile is None:
            return GlobalPositionAttention(c, c, heads, positivity, self.lengths(None), metric, moments=moments)
        lengths = self.lengths(quantile)
        return PositionAttention(c, c, heads, positivity, lengths, metric, moments=moments, moments_about=moments_about)

    def lengths(self, quantile: float | None) -> tuple[float, float] | None:
        """Initial lengths: up to the size of the domain, or of a neighbourhood in the plane with that quantile."""
        if self.body.lengths is None:
            return None
        low, high = self.body.lengths
        if quantile is None:
            low = self.body.latent_spacing or low
        return low, max(2 * low, high if quantile is None else high * math.sqrt(quantile))
