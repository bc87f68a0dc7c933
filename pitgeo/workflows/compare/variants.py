"""What to compare: models of the registry, and files with changes to a configuration."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pitgeo.config.toml import ConfigError, read_toml, toml_value
from pitgeo.models.registry import MODELS

Variants = dict[str, tuple[str, ...]]


def model_variants(names: Sequence[str]) -> Variants:
    """A variant for each model, with its options in the configuration, or by default.

    Args:
        names: Names of the registry; ``"all"`` stands for all that are not named before it.

    Raises:
        ValueError: If there is no such model.

    Example:
        >>> list(model_variants(["pit", "mlp"]))
        ['pit', 'mlp']
    """
    for name in names:
        if name not in MODELS and name != "all":
            near = difflib.get_close_matches(name, MODELS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"Expected models among {', '.join(MODELS)} (got {name!r}){hint}")
    chosen = [model for name in names for model in (MODELS if name == "all" else (name,))]
    return {name: (f'model.name="{name}"',) for name in chosen}


def read_variant(path: Path) -> tuple[str, tuple[str, ...]]:
    """A variant from a TOML file: a ``label`` (the file's name without it), and tables with what changes.

    A file with a label alone is the configuration as it stands.

    Raises:
        ConfigError: If the file cannot be read, or is not of this kind.
    """
    table = read_toml(path, "file of a variant")
    label = table.pop("label", path.stem)
    if not isinstance(label, str) or not label.strip():
        raise ConfigError(f"{path}: label: expected a text (got {json.dumps(label, default=str)})")
    return label, tuple(_changes(table))


def read_variants(paths: Sequence[Path]) -> Variants:
    r"""Several of them.

    Raises:
        ConfigError: If one cannot be read, or two have one label.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "wide.toml"
        ...     _ = path.write_text('label = "128 channels"\n[model.pit]\nchannels = 128\n')
        ...     read_variants([path])
        {'128 channels': ('model.pit.channels=128',)}
    """
    variants: Variants = {}
    for path in paths:
        label, changes = read_variant(path)
        if label in variants:
            raise ConfigError(f"{path}: label: expected another one than in the files before (got {label!r})")
        variants[label] = changes
    return variants


def _changes(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _changes(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={_toml(value)}"


def _toml(value: Any) -> str:
    """A value in TOML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return toml_value(value) if isinstance(value, (bool, int, float, str)) else str(value)
