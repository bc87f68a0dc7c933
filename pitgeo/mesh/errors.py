"""Errors that readers of mesh files raise: the next reader is tried, or the file is refused."""

from __future__ import annotations


class UnreadableError(Exception):
    """A reader cannot read a file, or not correctly; another reader may."""


class InputError(ValueError):
    """A file is refused, and no other reader is tried. The message says what to do."""
