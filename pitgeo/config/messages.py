"""What is wrong with a configuration: the key, where it is from, what was expected and what came."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def messages(error: ValidationError, run: type[BaseModel], source: str, sources: Mapping[str, str]) -> list[str]:
    """One message a key; the alternatives of a union are joined.

    Args:
        error: What pydantic found.
        run: The schema.
        source: Where the configuration is from.
        sources: Where the values of some keys are from, if from elsewhere.
    """
    wanted_where: dict[tuple[str, str], list[str]] = {}
    known = list(_keys(run))
    for entry in error.errors(include_url=False):
        key = ".".join(str(part) for part in entry["loc"])
        if entry["type"] != "extra_forbidden":
            while key not in known and "." in key:  # pydantic adds the member of a union, or the index in a list
                key = key.rpartition(".")[0]
        exact = [text for name, text in sources.items() if _within(key, name)]
        within = [text for name, text in sources.items() if _within(name, key)]
        origin = exact[0] if exact else within[0] if len(within) == 1 else source  # of several, any may be the mistake
        if entry["type"] == "extra_forbidden":
            found, wanted, got = f"{origin}: unknown key {key!r}", _suggest(key, known), ""
        elif entry["type"] == "missing":
            found, wanted, got = f"{origin}: the key {key!r} is missing", "", ""
        else:
            found, wanted = f"{origin}: {key}: expected " if key else f"{origin}: expected ", _expected(entry)
            got = "" if entry["type"] == "value_error" else f" (got {json.dumps(entry['input'], default=str)})"
            if entry["type"] == "literal_error" and (near := _near(entry)):
                got += f"; did you mean {near!r}?"
        wanted_where.setdefault((found, got), []).append(wanted)
    return [
        found + " or ".join(dict.fromkeys(sorted(wanted, key=len))) + got
        for (found, got), wanted in wanted_where.items()
    ]


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        if (table := _table_of(field.annotation)) is not None:
            yield from _keys(table, f"{prefix}{name}.")


def _table_of(annotation: Any) -> type[BaseModel] | None:
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _within(key: str, table: str) -> bool:
    return f"{key}.".startswith(f"{table}.")


def _expected(entry: Any) -> str:
    message = str(entry["msg"])
    for prefix in ("Value error, Expected ", "Value error, ", "Input should be "):
        message = message.removeprefix(prefix)
    if entry["type"] == "model_type" or "object" in message:
        message = "a table"
    if entry["type"] == "literal_error":
        message = f"one of {message}" if " or " in message else message
    return message


def _near(entry: Any) -> str:
    names = str(entry["ctx"]["expected"]).split("'")[1::2]
    return next(iter(difflib.get_close_matches(str(entry["input"]), names, 1)), "")


def _suggest(key: str, known: Sequence[str]) -> str:
    parent, _, last = key.rpartition(".")
    siblings = [name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == parent]
    prefix = f"{parent}." if parent else ""
    if near := difflib.get_close_matches(last, siblings, 1):
        return f"; did you mean '{prefix}{near[0]}'?"
    elsewhere = [name for name in known if name.rpartition(".")[2] == last]
    if siblings and not elsewhere:
        return f"; the keys there are {', '.join(repr(prefix + name) for name in siblings)}"
    near = elsewhere or difflib.get_close_matches(key, known, 1, 0)
    return f"; did you mean {near[0]!r}?"
