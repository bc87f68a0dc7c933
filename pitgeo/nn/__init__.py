"""Layers and models. They import without Lightning or pydantic."""

from pitgeo.nn.blocks import PaperBlock, PaperLayer, ResidualBlock
from pitgeo.nn.body import Body
from pitgeo.nn.dense import DenseLayout
from pitgeo.nn.global_attention import GlobalPositionAttention
from pitgeo.nn.length_scale import LengthScale, length_table, project_
from pitgeo.nn.local_decoder import LocalDecoder
from pitgeo.nn.pit import PiT
from pitgeo.nn.pointwise import PointwiseMLP
from pitgeo.nn.position_attention import PositionAttention
from pitgeo.nn.rollout import Rollout
from pitgeo.nn.self_attention import SelfAttention, SelfPositionAttention

__all__ = [
    "Body",
    "DenseLayout",
    "GlobalPositionAttention",
    "LengthScale",
    "LocalDecoder",
    "PaperBlock",
    "PaperLayer",
    "PiT",
    "PointwiseMLP",
    "PositionAttention",
    "ResidualBlock",
    "Rollout",
    "SelfAttention",
    "SelfPositionAttention",
    "length_table",
    "project_",
]
