"""Pictures inside a page: each in the smallest readable form, all together within a number of bytes."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

LEVELS = ((1280, 88), (1000, 80), (760, 70))
"""Largest width in pixels, and quality of WebP; the first level at which all pictures fit is used."""


class Figure(NamedTuple):
    """A picture of a run.

    Args:
        path: File of the picture.
        caption: Text below the picture.
    """

    path: Path
    caption: str


def embed(figures: Sequence[Figure], limit: int) -> tuple[list[str | None], int]:
    """An ``img`` element with the data of every picture; ``None`` for a picture without room, or an invalid file.

    Room is given in the order of the pictures.

    Args:
        figures: The pictures, the most important ones first.
        limit: Largest size of all elements together, in bytes.

    Returns:
        The elements, and their size in bytes.
    """
    elements: list[str | None] = []
    for level in LEVELS:
        elements = [_element(figure, *level) for figure in figures]
        if sum(len(text.encode()) for text in elements if text) <= limit:
            break
    used, kept = 0, list[str | None]()
    for text in elements:
        size = len(text.encode()) if text else 0
        fits = used + size <= limit
        used += size if fits else 0
        kept.append(text if fits else None)
    return kept, used


def _element(figure: Figure, width: int, quality: int) -> str | None:
    try:
        with Image.open(figure.path) as opened:
            picture = opened.convert("RGB")
    except (OSError, UnidentifiedImageError):
        return None
    if picture.width > width:
        picture = picture.resize(
            (width, max(round(picture.height * width / picture.width), 1)), Image.Resampling.LANCZOS
        )
    kind, content = _smallest(picture, quality)
    data = base64.b64encode(content).decode()
    return (
        f'<img alt="{escape(figure.caption)}" width="{picture.width}" height="{picture.height}" '
        f'src="data:image/{kind};base64,{data}"/>'
    )


def _smallest(picture: Image.Image, quality: int) -> tuple[str, bytes]:
    """A picture as WebP, or as PNG with a palette if this is smaller and changes no colour."""
    forms = {}
    if (colors := picture.getcolors(256)) is not None:
        forms["png"] = _saved(picture.quantize(len(colors), dither=Image.Dither.NONE), "PNG", optimize=True)
    try:
        forms["webp"] = _saved(picture, "WEBP", quality=quality, method=4)
    except (KeyError, OSError):  # Pillow may lack WebP
        forms["jpeg"] = _saved(picture, "JPEG", quality=quality, optimize=True)
    return min(forms.items(), key=lambda form: len(form[1]))


def _saved(picture: Image.Image, form: str, **options: int | bool) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()
