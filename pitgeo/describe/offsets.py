"""Check for fields that are shifted in some files: degrees Celsius among kelvins, or another reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pitgeo.describe.field import Field
from pitgeo.describe.file_summary import FileSummary

CELSIUS = 273.15
"""Kelvins at zero degrees Celsius."""

MARGIN = 15.0
"""Temperatures of different files may differ by so many kelvins at least."""


class _Span(NamedTuple):
    low: float
    high: float
    mesh: FileSummary


def field_offsets(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Celsius among kelvins, or values of some files outside the range of all others."""
    if field.components != (1,) or field.is_mark or field.is_constant:
        return None
    found = [_Span(own.low[0], own.high[0], mesh) for mesh, own in field.found if own.low]
    spans = sorted(found, key=lambda span: span[:2])
    for number in range(1, len(spans)):
        lower, upper = spans[:number], spans[number:]
        if _is_celsius(lower, upper):
            return f"{_said(lower, upper)}: they differ by about {CELSIUS}; °C and K?"
    groups = _apart(spans, 3.0 if field.is_parameter else 1.0)
    if groups is None:
        return None
    few, many = groups
    return f"{_said(few, many)}: they do not overlap; are units or references mixed?"


def _is_celsius(lower: Sequence[_Span], upper: Sequence[_Span]) -> bool:
    """Whether the lower values match the upper ones only after conversion from Celsius to kelvin."""
    for part in ("low", "high"):
        theirs, own = ([getattr(span, part) for span in spans] for spans in (upper, lower))
        width = max(max(theirs) - min(theirs), max(own) - min(own))
        margin = max(MARGIN, width / 4)
        if width > CELSIUS / 2 or min(theirs) - max(own) <= margin:
            return False
        if not all(min(theirs) - margin <= value + CELSIUS <= max(theirs) + margin for value in own):
            return False
    return True


def _apart(spans: Sequence[_Span], ratio: float) -> tuple[Sequence[_Span], Sequence[_Span]] | None:
    """A small and a large group of files, if the gap between them exceeds a multiple of the large group's range."""
    if len(spans) < 3:
        return None
    reached, gaps = spans[0].high, []
    for before, after in pairwise(spans):
        reached = max(reached, before.high)
        gaps.append(after.low - reached)
    number = max(range(len(gaps)), key=gaps.__getitem__) + 1
    few, many = sorted((spans[:number], spans[number:]), key=len)
    width = max(span.high for span in many) - min(span.low for span in many)
    if (4 * len(few) > len(spans) and len(few) > 1) or not 0 < width * ratio < gaps[number - 1]:
        return None
    return few, many


def _said(few: Sequence[_Span], many: Sequence[_Span]) -> str:
    few, many = sorted((few, many), key=len)
    return f"{_values(few)}, but {_values(many)}"


def _values(spans: Sequence[_Span]) -> str:
    low, high = min(span.low for span in spans), max(span.high for span in spans)
    values = f"values from {low:.4g} to {high:.4g}" if low < high else f"a value of {low:.4g}"
    return f"{values} in {len(spans):,} file{'s' * (len(spans) != 1)} (first {spans[0].mesh.label})"
