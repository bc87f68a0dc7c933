"""Variable files of EnSight Gold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.ensight.content import Content
from pitgeo.mesh.ensight.geometry import Part, count_of
from pitgeo.mesh.ensight.sets import Entry
from pitgeo.mesh.notes import Note

Values = list[NDArray[Any]]
"""Values of a part: of its nodes, or of each of its types of elements; empty where it has none."""

SYMMETRIC = [0, 1, 2, 3, 5, 4]
"""EnSight's xx, yy, zz, xy, xz, yz in VTK's order."""


def read_values(content: Content, entry: Entry, parts: list[Part], notes: list[Note]) -> list[Values]:
    """The values of a variable on every part.

    Parts and types of elements may be left out; their values are not-a-number, and a note says so. Where the last one
    is left out the file may as well be cut, and is refused.

    Raises:
        ValueError: If the file is not as the format says.
    """
    content.line("a description")
    numbers = {part.number: place for place, part in enumerate(parts)}
    found: dict[tuple[int, int], NDArray[Any]] = {}  # by part and type of elements
    seen: set[int] = set()
    while word := content.word():
        if word != "part":
            raise content.wrong("'part'", repr(word[:40]))
        content.skip()
        number = int(content.wholes(1, "number of a part")[0])
        place = numbers.get(number, -1)
        if place < 0 or place in seen:
            which = "one twice" if place in seen else f"one of number {number}, which the geometry does not have"
            raise content.wrong("parts of the geometry", which)
        seen.add(place)
        content.part = str(parts[place])
        if entry.place == "node":
            key = "block" if parts[place].is_grid else "coordinates"
            found[place, 0] = _values(content, key, len(parts[place].points), entry.components)
        else:
            _read_elements(content, parts[place], place, entry.components, found)
        content.part = ""
    return _filled(content, entry, parts, found, notes)


def _read_elements(
    content: Content, part: Part, place: int, components: int, found: dict[tuple[int, int], NDArray[Any]]
) -> None:
    while (word := content.word()) and word != "part":
        key = word.split()[0]
        left = [
            number
            for number, elements in enumerate(part.elements)
            if elements.word == key and (place, number) not in found
        ]
        if not left:
            own = ", ".join(elements.word for elements in part.elements) or "none"
            raise content.wrong(f"values of the elements of the part, {own}, once each", repr(word[:40]))
        found[place, left[0]] = _values(content, key, part.elements[left[0]].count, components)


def _values(content: Content, key: str, count: int, components: int) -> NDArray[Any]:
    """The values behind a keyword, ``[count]`` or ``[count, components]``."""
    words = content.word().split()
    if words[:1] != [key] or words[1:] not in ([], ["undef"], ["partial"]):
        raise content.wrong(
            f"'{key}', perhaps with 'undef' or 'partial'", repr(" ".join(words)[:40]) if words else "its end"
        )
    content.skip()
    undefined = content.reals(1, "undefined value") if words[1:] == ["undef"] else None
    chosen: NDArray[np.int64] | None = None
    if words[1:] == ["partial"]:
        chosen = content.wholes(count_of(content, "values"), "numbers of nodes or elements") - 1
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= count or len(np.unique(chosen)) < len(chosen)):
            raise content.wrong(f"numbers from 1 to {count:,}, each once", f"{chosen.min() + 1} to {chosen.max() + 1}")
    rows = count if chosen is None else len(chosen)
    each = f" of {components} components" if components > 1 else ""
    values = content.reals(components * rows, f"numbers for {rows:,} values{each}").reshape(components, rows).T
    if undefined is not None:
        values = np.where(values == undefined, np.nan, values).astype(values.dtype)
    if chosen is not None:
        whole = np.full((count, components), np.nan, values.dtype)
        whole[chosen] = values
        values = whole
    if components == 6:
        values = values[:, SYMMETRIC]
    return np.ascontiguousarray(values[:, 0] if components == 1 else values)


def _filled(
    content: Content, entry: Entry, parts: list[Part], found: dict[tuple[int, int], NDArray[Any]], notes: list[Note]
) -> list[Values]:
    """The values of every part, not-a-number where there are none."""
    if entry.place == "node":
        counts = {(place, 0): len(part.points) for place, part in enumerate(parts)}
    else:
        counts = {
            (place, number): 0 if elements.word.startswith("g_") else elements.count
            for place, part in enumerate(parts)
            for number, elements in enumerate(part.elements)
        }
    missing = [key for key, count in counts.items() if count and key not in found]
    last = max((key for key, count in counts.items() if count), default=None)
    if missing and (list(found) != sorted(found) or not found or max(found) < (last or max(found))):
        part = parts[missing[-1][0]]
        kind = f", {part.elements[missing[-1][1]].word}" if entry.place == "element" else ""
        raise content.wrong(f"values of {part}{kind}", "none; if it should have none, write it as 'undef'")
    if missing:
        names = ", ".join(dict.fromkeys(str(parts[place]) for place, _ in missing))
        notes.append(Note("not-a-number", f"{entry.what} has no values on {names}: not-a-number there"))
    shape = (entry.components,) if entry.components > 1 else ()
    result: list[Values] = [[] for _ in parts]
    have = {place for place, _ in found}
    for (place, number), count in counts.items():
        size = count if entry.place == "node" else parts[place].elements[number].count
        if place in have:
            result[place].append(found.get((place, number), np.full((size, *shape), np.nan)))
    return result
