"""Checks of a set of meshes before training: one function each, and two tables of them.

A check gets the summaries of all readable files, and yields nothing if all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import TypeVar

from pitgeo.describe.field import Field
from pitgeo.describe.file_checks import (
    degenerate_cells,
    duplicates,
    files_text,
    moving_meshes,
    of,
    orphans,
    partial_fields,
    repeated_cells,
    series_among_meshes,
    turned_cells,
    turned_files,
    uneven_steps,
)
from pitgeo.describe.file_summary import FileSummary, Place
from pitgeo.describe.offsets import field_offsets

FEW = 20
"""Files; with fewer, a test error says little."""
LARGE = 200_000
"""Points; with more, memory must be thought of."""
UNITS = 50.0
"""Ratio of sizes from which on units are likely mixed."""
GAP = 10.0
"""Ratio between neighbours in the order of sizes below which sizes are spread, not mixed."""
DECADES = 1e4
"""Ratio of the largest value to the smallest from which on a logarithm is worth a thought."""
LABELS: dict[Place, str] = {"points": "point field", "cells": "cell field", "mesh": "field of the mesh"}
UNIT: dict[Place, str] = {"points": "point", "cells": "cell", "mesh": "value"}

T = TypeVar("T")


def few_files(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Too few samples to train and to test."""
    if len(meshes) < FEW:
        yield f"{files_text(len(meshes))}, fewer than {FEW}: too few to learn from, and to tell how good a model is"


def dimensions(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Meshes of different dimension cannot be in one batch."""
    counts = {value: [mesh for mesh in meshes if mesh.dimension == value] for value in (1, 2, 3)}
    if sum(map(bool, counts.values())) > 1:
        parts = [
            f"{value}D in {files_text(len(group))} (first {group[0].label})" for value, group in counts.items() if group
        ]
        yield f"dimensions are mixed: {', '.join(parts)}; a model takes meshes of one dimension"


def oblique_planes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Planar meshes are read as 2D only where z is constant."""
    found = [mesh for mesh in meshes if mesh.normal is not None]
    if found:
        normal = ", ".join(f"{part:.3g}" for part in found[0].normal or ())
        yield (
            f"planar, but in space: all points of {found[0].label} lie in a plane with normal ({normal})"
            f"{of(found, meshes)}; turned so that z is constant, they would be read as 2D"
        )


def extents(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Coordinates in different units, such as millimetres and metres."""
    groups = two_groups([mesh.extent for mesh in meshes], meshes)
    if groups:
        small, large, ratio = groups
        yield (
            f"coordinates: {files_text(len(large))} (first {large[0].label}, extent {large[0].extent:.3g}) about "
            f"{ratio:,.0f} times as large as {files_text(len(small))} (first {small[0].label}, extent "
            f"{small[0].extent:.3g}); are units mixed, mm and m?"
        )


def large_meshes(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Meshes that may not fit in memory during training."""
    found = [mesh for mesh in meshes if mesh.points > LARGE]
    if found:
        most = max(found, key=lambda mesh: mesh.points)
        yield (
            f"more than {LARGE:,} points{of(found, meshes)}, at most {most.points:,} in {most.label}: "
            f"mind the memory in training"
        )


def identical_files(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Duplicates leak from the training set to the test set."""
    first: dict[bytes, FileSummary] = {}
    twins = [(mesh, first[mesh.digest]) for mesh in meshes if first.setdefault(mesh.digest, mesh) is not mesh]
    if twins:
        yield (
            f"{files_text(len(twins))} with the content of another, first {twins[0][0].label} (as "
            f"{twins[0][1].label}): one in the training set and one in the test set would flatter the result"
        )


def unwritable_formats(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Files whose predictions are written in another format."""
    reasons: dict[str, list[FileSummary]] = {}
    for mesh in meshes:
        if mesh.refusal:
            reasons.setdefault(mesh.refusal, []).append(mesh)
    for reason, found in reasons.items():
        yield f"{found[0].label}: predictions will be a .vtu file, since {reason}{of(found, meshes)}"


def two_places(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """A name that points and cells share."""
    places: dict[str, dict[Place, FileSummary]] = {}
    for mesh in meshes:
        for field in mesh.fields:
            places.setdefault(field.name, {}).setdefault(field.place, mesh)
    for name, found in places.items():
        if "points" in found and "cells" in found:
            yield (
                f"{name!r} is a field of points (first in {found['points'].label}) and one of cells (first in "
                f"{found['cells'].label}); say which by 'point:{name}' or 'cell:{name}' among inputs and targets"
            )


def missing(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """A field that some files lack."""
    having = {mesh.label for mesh, _ in field.found}
    lacking = [mesh for mesh in meshes if mesh.label not in having]
    if not lacking:
        return None
    return f"missing in {len(lacking)} of {files_text(len(meshes))}, first {lacking[0].label}"


def components(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """A field with different numbers of components."""
    if len(field.components) < 2:
        return None
    first = {own.components: mesh.label for mesh, own in reversed(field.found)}
    return f"components differ: {', '.join(f'{number} in {first[number]}' for number in field.components)}"


def not_finite(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Values that are not finite."""
    found = [(mesh, own) for mesh, own in field.found if own.bad]
    if not found:
        return None
    mesh, own = found[0]
    return (
        f"NaN or infinite in {mesh.label}, first at {UNIT[field.place]} {own.first_bad}, {own.bad:,} in all"
        f"{of(found, meshes)}"
    )


def text(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Values that are not numbers."""
    for mesh, own in field.found:
        if not own.is_number:
            return f"not numbers ({own.dtype} in {mesh.label}): neither an input nor a target"
    return None


def constant(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """One value in all files; group numbers that Gmsh stores as field data are not reported."""
    is_known = field.place == "mesh" and (len(meshes) == 1 or not field.is_float)
    if is_known or not field.is_constant:
        return None
    values = ", ".join(f"{low:g}" for low, _ in field.ranges)
    where = f"{files_text(len(field.found))}, first {field.found[0][0].label}"
    return f"constant ({values}) in {where}: nothing to learn, and no information"


def at_rest(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Zero throughout in some files, where no relative error is defined."""
    found = [mesh for mesh, own in field.found if own.low and not any((*own.low, *own.high))]
    is_input = all(own.low == own.high for own in field.in_files)  # one value a file
    if field.place == "mesh" or not field.is_float or is_input or not found:
        return None
    return (
        f"zero throughout in {files_text(len(found))}, first {found[0].label}: as a target, it has no relative l2 "
        f"error there, and a loss that is relative takes its typical size in the files to train on"
    )


def field_units(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Values in different units, such as pascal and megapascal."""
    pairs = [(mesh, own.scale) for mesh, own in field.found]
    groups = two_groups([scale for _, scale in pairs], pairs)
    if groups is None:
        return None
    (small, least), (large, most) = groups[0][0], groups[1][0]
    return (
        f"values up to {most:.3g} in {files_text(len(groups[1]))} (first {large.label}), but {least:.3g} in "
        f"{files_text(len(groups[0]))} (first {small.label}); are units mixed?"
    )


def logarithm(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Positive values over many decades, of which a loss weighs the largest most."""
    wide = [(low, high) for low, high in field.ranges if low > 0 and high > DECADES * low]
    if not field.is_float or field.whole or not wide:
        return None
    low, high = wide[0]
    least = next(mesh.label for mesh, own in field.found if low in own.low)
    return f"positive, from {low:.3g} (in {least}) to {high:.3g}: consider its logarithm"


def category(field: Field, meshes: Sequence[FileSummary]) -> str | None:
    """Whole numbers that may stand for categories, such as materials; a mask of 0 and 1 is fine."""
    values = field.whole
    if len(values) < 2 or values == {0.0, 1.0} or sum(own.count for own in field.in_files) < 4 * len(values):
        return None
    some = ", ".join(f"{value:g}" for value in sorted(values)[:5]) + (", ..." if len(values) > 5 else "")
    return (
        f"{len(values)} different whole numbers ({some}; first in {field.found[0][0].label}): if they name something, "
        f"give each a 0/1 field of its own"
    )


MESH_CHECKS: Mapping[str, Callable[[Sequence[FileSummary]], Iterator[str]]] = {
    "few files": few_files,
    "identical files": identical_files,
    "dimensions": dimensions,
    "planes in space": oblique_planes,
    "coordinate units": extents,
    "large meshes": large_meshes,
    "orphan points": orphans,
    "duplicated points": duplicates,
    "repeated cells": repeated_cells,
    "degenerate cells": degenerate_cells,
    "inverted cells": turned_cells,
    "turned files": turned_files,
    "unwritable formats": unwritable_formats,
    "two places": two_places,
    "series among meshes": series_among_meshes,
    "moving meshes": moving_meshes,
    "uneven steps": uneven_steps,
    "partial fields": partial_fields,
}
FIELD_CHECKS: Mapping[str, Callable[[Field, Sequence[FileSummary]], str | None]] = {
    "missing": missing,
    "components": components,
    "not finite": not_finite,
    "text": text,
    "constant": constant,
    "at rest": at_rest,
    "field units": field_units,
    "field offsets": field_offsets,
    "logarithm": logarithm,
    "category": category,
}


def run_checks(meshes: Sequence[FileSummary], fields: Sequence[Field]) -> Iterator[tuple[str, str]]:
    """Name and text of every finding: first of the mesh checks, then field by field."""
    for name, check in MESH_CHECKS.items():
        for finding in check(meshes):
            yield name, finding
    for field in fields:
        for name, check_field in FIELD_CHECKS.items():
            found = check_field(field, meshes)
            if found:
                yield name, f"{LABELS[field.place]} {field.name!r}: {found}"


def two_groups(sizes: Sequence[float], items: Sequence[T]) -> tuple[list[T], list[T], float] | None:
    """Small items, large items, and the ratio of their median sizes, if there are two such groups.

    The sizes are split at the widest gap (of ratios). Sizes of zero have no unit and are left out.

    Example:
        >>> two_groups([1.0, 2000.0, 0.0, 2.0], "abcd")
        (['a', 'd'], ['b'], 1333.3333333333333)
        >>> two_groups([1.0, 9.0, 80.0, 700.0], "abcd")  # spread, without a gap
    """
    ordered = sorted(size for size in sizes if size > 0)
    gaps = [above / below for below, above in pairwise(ordered)]
    if not gaps or max(gaps) < GAP:
        return None
    split = gaps.index(max(gaps)) + 1
    ratio = median(ordered[split:]) / median(ordered[:split])
    if ratio <= UNITS:
        return None
    small = [item for item, size in zip(items, sizes, strict=True) if 0 < size < ordered[split]]
    return small, [item for item, size in zip(items, sizes, strict=True) if size >= ordered[split]], ratio
