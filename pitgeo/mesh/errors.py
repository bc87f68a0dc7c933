"""How readers say that they do not read a file."""

from __future__ import annotations


class UnreadableError(Exception):
    """A reader does not read a file, or not rightly; another may."""


class InputError(ValueError):
    """A file is refused: it would be misread, and no other reader is to be tried. The message says what to do."""
