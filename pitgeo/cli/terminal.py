"""The terminal: what pitgeo logs and prints, in any encoding, and arguments from it."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pitgeo.system.numbers import finite


class _Console(logging.Handler):
    """Write pitgeo's log to the standard error stream, above any progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        tqdm.write(self.format(record), file=sys.stderr)


@contextmanager
def console() -> Iterator[None]:
    """Show pitgeo's log; characters that a stream has no code for are written by their number, and nothing fails."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, io.TextIOWrapper)]
    errors = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("pitgeo")
    handler = _Console(logging.INFO)
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        for stream, before in zip(streams, errors, strict=True):
            stream.reconfigure(errors=before)


def argument(text: str) -> str:
    """An argument that names fields, as its bytes say where Python took them for ASCII."""
    if text.isprintable():
        return text
    from pitgeo.mesh.names import decode  # readers of mesh files come with it

    return decode(os.fsencode(text))


def given(texts: Sequence[str]) -> dict[str, float]:
    """Numbers by name, from texts ``NAME=NUMBER``.

    Raises:
        ValueError: If a text has another form, or a name is there twice.

    Example:
        >>> given(["load_x=2", "load_y=-1e3"])
        {'load_x': 2.0, 'load_y': -1000.0}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        value = finite(number)
        if not name or value is None:
            raise ValueError(f"Expected a number by its name, as in --value load_x=2 (got {text!r})")
        if name in found:
            raise ValueError(f"Expected every number once (got {name!r} again)")
        found[name] = value
    return found


def check_folder(folder: Path, option: str = "--output") -> None:
    """Find out before any work whether results can be written.

    Raises:
        ValueError: If a file is in the way, or there is no right to write.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ValueError(
            f"Expected a folder to write to (got {folder}, where {there} is a file); give another {option}"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"Expected a folder that can be written to (got {there}); give another {option}")


def bars(name: str, unit: str, quiet: bool) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """What wraps a sequence of parts of work, to show a progress bar."""

    def progress(parts: Iterable[Any]) -> Iterable[Any]:
        bar: Iterable[Any] = tqdm(parts, desc=name, unit=unit, disable=quiet)
        return bar

    return progress
