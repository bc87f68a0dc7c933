"""What small runs on mesh files are configured with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pitgeo.config import RunConfig, load_config

CONFIG = Path(__file__).parents[1] / "configs" / "meshes.toml"
SMALL = ("training.epochs=1", "model.pit.channels=8", "model.pit.heads=2", "model.pit.layers=1")


def small_run(
    folder: Path, files: Path | str, inputs: Sequence[str], targets: Sequence[str], *changes: str
) -> RunConfig:
    """One epoch with a tiny PiT on the mesh files of a folder."""
    given = [f'data.meshes.files="{folder / files}"', f'data.meshes.cache="{folder}/cache"']
    given += [f"data.meshes.inputs={json.dumps(inputs)}", f"data.meshes.targets={json.dumps(targets)}"]
    return load_config(CONFIG, [*SMALL, "model.pit.latent.number=10", *given, *changes])
