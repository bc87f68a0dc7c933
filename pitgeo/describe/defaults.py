"""Defaults of a first training on one's own meshes, shared by configuration files, Python and ``describe``."""

from __future__ import annotations

from typing import Any

from pitgeo.config.toml import tomllib

DATA = """\
geometry = "auto"          # inputs computed from the mesh where meshes differ: distances to the boundary, normals
validation = 0.1           # of the files, to choose the checkpoint by
test = 0.2
"""
"""The part of ``[data.meshes]`` that does not depend on the files."""

REST = """\
[model]
name = "pit"

[model.pit]
body = "moments"
channels = 64
heads = 4
layers = 4
encoder_quantile = 0.02    # a latent point sees 2% of the mesh
decoder_quantile = 0.03    # a point sees 3% of the latent points

[model.pit.latent]
method = "farthest"
number = 256

[scaling]
box = "unit"
inputs = "channel"
targets = "channel"

[training]
epochs = 100
batch_size = 4
loss = "variation_l2"       # free of offsets, see docs/measures.md
optimizer = "muon"
learning_rate = 1e-2
weight_decay = 1e-5
schedule = "one_cycle"
clip = 1.0
seed = 0

[evaluation]
quantities = []             # numbers of every mesh, "mean:temperature@outlet", "force:pressure@wall": docs/measures.md
sets = []                   # named sets, to report the errors there as well
"""
"""The tables of a configuration after ``[data.meshes]``."""

DEFAULTS: dict[str, Any] = tomllib.loads(f'[data]\nname = "meshes"\n\n[data.meshes]\n{DATA}\n{REST}')
"""The same as a table; it has no files, inputs and targets yet."""
