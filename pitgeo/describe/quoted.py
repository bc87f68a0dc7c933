"""Quoting of names for TOML files."""

from __future__ import annotations

import json


def quoted(name: str) -> str:
    """A string of TOML, on one line."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
