"""Errors of readers."""

from __future__ import annotations


class UnreadableError(Exception):
    """A reader cannot read a file, or not correctly; another reader may."""


class InputError(ValueError):
    """A file is refused, and no other reader is tried. The message says what to do."""
