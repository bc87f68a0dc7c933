"""Series with repeated steps, which a restarted run has appended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pitgeo.mesh.notes import Note


class Entry(NamedTuple):
    """A line of a series.

    Args:
        time: Its time.
        part: Which part of the mesh it is.
        label: Its name, for messages; equal for equal content.
    """

    time: float
    part: str
    label: str


def played(entries: Sequence[Entry], where: str) -> tuple[dict[float, list[int]], list[Note]]:
    """The entries of every time, in order of time; a later entry replaces an earlier one.

    Entries of one time and different parts belong together. Entries of one time and part are those of a run, and of
    its restart; the later one is taken.

    Args:
        entries: In the order of the file.
        where: The file, for messages.

    Raises:
        ValueError: If a restart wrote fewer parts, or entries of one time and part are there at most times, so that
            they are rather parts without numbers.

    Example:
        >>> lines = [Entry(time, "0", f"{time} of run {run}") for run, time in ((1, 0), (1, 1), (2, 1), (2, 2))]
        >>> played(lines, "run.pvd")
        ({0: [0], 1: [2], 2: [3]}, [Note(kind='restart', text='1 entry is replaced by a later one of the same time')])
    """
    kept: dict[float, dict[str, int]] = {}
    replaced, beside, back = 0, [], 0
    for start, stop in _runs(entries):
        own = {entries[k].part: k for k in range(start, stop)}
        time = entries[start].time
        before = kept.get(time, {})
        if before.keys().isdisjoint(own):
            is_part = bool(before)
            own = {**before, **own}
        elif before.keys() <= own.keys():
            is_part = False
            replaced += len(before)
            others = {entries[k].label for k in before.values()}
            if max(before.values()) == start - 1 and others != {entries[k].label for k in own.values()}:
                beside.append((start - 1, start))
        else:
            gone = entries[next(k for part, k in before.items() if part not in own)].label
            raise ValueError(
                f"{where}: Expected a restarted run to write all parts again (got {gone} at time {time:g}, which it "
                f"did not); delete the earlier lines of the times that are there twice"
            )
        if not is_part and start and time < entries[start - 1].time:
            back = start
        kept[time] = own
    if 2 * len({entries[k].time for k, _ in beside}) > len(kept):
        one, other = (entries[k] for k in beside[0])
        raise ValueError(
            f"{where}: Expected one entry for each time and part (got {one.label} and {other.label} at time "
            f'{one.time:g}, and so at most times); number them as parts, part="0" and part="1", if both belong to the '
            f"mesh, or delete the lines of the one that is not wanted"
        )
    words = []
    if replaced == 1:
        words.append("1 entry is replaced by a later one of the same time")
    elif replaced:
        words.append(f"{replaced} entries are replaced by later ones of the same time")
    later = [time for time, own in kept.items() if back and time > entries[back].time and max(own.values()) < back]
    if later:
        words.append(
            f"times go back to {entries[back].time:g}, and {len(later)} later steps from before that are kept, from "
            f"{min(later):g} on"
        )
    return (
        {time: sorted(kept[time].values()) for time in sorted(kept)},
        [Note("restart", "; ".join(words))] if words else [],
    )


def _runs(entries: Sequence[Entry]) -> list[tuple[int, int]]:
    """Entries of one time that follow each other, no part twice."""
    runs: list[tuple[int, int]] = []
    start = 0
    for k in range(1, len(entries) + 1):
        own = {entry.part for entry in entries[start:k]}
        if k == len(entries) or entries[k].time != entries[start].time or entries[k].part in own:
            runs.append((start, k))
            start = k
    return runs
