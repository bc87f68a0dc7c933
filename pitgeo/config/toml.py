"""Configurations as TOML: reading, writing, and single keys given by themselves."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ConfigError", "put_override", "read_toml", "toml_text", "toml_value", "tomllib"]


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the file, the key and what was expected."""


def read_toml(path: Path, kind: str = "configuration file") -> dict[str, Any]:
    """The tables of a TOML file.

    Args:
        path: The file.
        kind: What it is, for the message where there is none.

    Raises:
        ConfigError: If the file is missing, cannot be read, or is not TOML; the message names it.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [file.name for file in path.parent.glob("*.toml")], 1)
        hint = f"; did you mean {path.parent / near[0]}?" if near else ""
        raise ConfigError(f"{path}: no such {kind}{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML ({error})") from None


def put_override(table: dict[str, Any], override: str, option: str) -> str:
    """Set a key of plain tables to the value of ``"key=value"``, the key dotted, the value in TOML or a bare string.

    Args:
        table: The tables, changed in place.
        override: The text.
        option: What the text was given by, for messages.

    Returns:
        The key.

    Raises:
        ConfigError: If the text is none of this kind, or the key lies in something else than a table.
    """
    key, value = _split(override, option)
    *parents, last = key.split(".")
    for depth, parent in enumerate(parents, 1):
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{option} {override}: {'.'.join(parents[:depth])} is not a table")
    table[last] = value
    return key


def toml_text(tables: Mapping[str, Any]) -> str:
    """Plain tables as TOML text; what is ``None`` is left out."""
    lines: list[str] = []
    _write(tables, (), lines)
    return "\n".join(lines).strip() + "\n"


def toml_value(value: Any) -> str:
    """A number, a string or a list of these as TOML has it, on one line: as JSON has it, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _split(override: str, option: str) -> tuple[str, Any]:
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not all(key.split(".")):
        raise ConfigError(f"{option} {override}: expected KEY=VALUE, the key dotted, as in training.epochs=5")
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return key, text.strip()
    return key, (parsed["value"] if parsed.keys() == {"value"} else text.strip())


def _write(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping) and value is not None}
    if path and (values or not table):
        lines += ["", f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(key)} = {toml_value(value)}" for key, value in values.items()]
    for key, value in table.items():
        if isinstance(value, Mapping):
            _write(value, (*path, key), lines)


def _key(name: str) -> str:
    """A key: in quotes, unless it is of letters, digits, ``-`` and ``_``."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
