"""Series of numbered files: which belong together, and in which order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pitgeo.mesh.step_numbers import NUMBER, POINT, are_even, may_be_counts, may_be_fractions, start_of, value


class Step(NamedTuple):
    """A file of a series.

    Args:
        number: Its time, or count.
        text: The same as its name has it.
        path: The file.
    """

    number: float
    text: str
    path: Path


Group = tuple[Step, ...]


def numbered_series(files: Sequence[Path], pattern: str) -> list[Group]:
    """Files of every series, in the order of their numbers.

    Args:
        files: All files.
        pattern: A file name with ``{step}`` and other names in braces.

    Raises:
        ValueError: If the pattern has no ``{step}``, a file does not match it, two are one step, or names can be
            read in two ways, which put files in other series or another order.
    """
    if pattern.count("{step}") != 1:
        raise ValueError(
            f"Expected data.meshes.series to be 'file', or a file name with {{step}} in it, as in "
            f"'{{case}}_{{step}}.vtu' (got {pattern!r})"
        )
    spans = []
    for path in files:
        match = _expression(pattern, NUMBER.pattern, "(.+?)").fullmatch(path.name)
        if match is None:
            raise ValueError(
                f"{path}: Expected a file name like {pattern!r}, by data.meshes.series (got {path.name!r}); "
                f"leave it out by data.meshes.files, or change the pattern"
            )
        spans.append(match.span("step"))
    groups = _groups(files, spans)
    for steps in groups:
        for one, other in itertools.pairwise(steps):
            if one.number == other.number:
                raise ValueError(
                    f"Expected one file a step of a series (got {one.path} and {other.path}); leave one of them out"
                )
    longest = [(start_of(path.name, stop), stop) for path, (_, stop) in zip(files, spans, strict=True)]
    _check_reading(groups, _groups(files, longest), may_be_fractions)
    counts = _expression(pattern, r"(?<!\d)\d+", "(.+)")
    matches = [counts.fullmatch(path.name) for path in files]
    shortest = [match.span("step") if match else span for match, span in zip(matches, spans, strict=True)]
    _check_reading(groups, _groups(files, shortest), may_be_counts)
    return groups


def _expression(pattern: str, step: str, other: str) -> re.Pattern[str]:
    parts = re.split(r"({\w+})", pattern)
    return re.compile(
        "".join(
            f"(?P<step>{step})" if part == "{step}" else other if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


def _groups(files: Sequence[Path], spans: Iterable[tuple[int, int]]) -> list[Group]:
    """The files whose names are the same but for the number."""
    found: dict[tuple[str, ...], list[Step]] = {}
    for path, (start, stop) in zip(files, spans, strict=True):
        text = path.name[start:stop]
        found.setdefault((str(path.parent), path.name[:start], path.name[stop:]), []).append(
            Step(value(text), text, path)
        )
    return [tuple(sorted(steps, key=lambda step: (step.number, step.path))) for steps in found.values()]


def _check_reading(groups: Sequence[Group], others: Sequence[Group], fits: Callable[[Sequence[str]], bool]) -> None:
    """Refuse names that can as well be read in another way, of another order or other series.

    Args:
        groups: Series by the pattern, as it is written.
        others: Series by the other way.
        fits: Whether programs write digits behind the point as the other way takes them.
    """
    place = {step.path: (steps[0].path, number) for steps in groups for number, step in enumerate(steps)}
    moved = [
        step for steps in others for number, step in enumerate(steps) if place[step.path] != (steps[0].path, number)
    ]
    if not moved or any(len(steps) < 2 for steps in others):
        return
    if any(one.number == two.number for steps in others for one, two in itertools.pairwise(steps)):
        return
    texts = {step.path: step.text for steps in groups for step in steps}
    behind: dict[str, list[str]] = {}  # digits behind the point, by what is before them
    for step in (step for steps in others for step in steps):
        if found := re.search(rf"{POINT}(\d+)$", max(step.text, texts[step.path], key=len)):
            behind.setdefault(_name(step.path, found.group(1)), []).append(found.group(1))
    if not all(map(fits, behind.values())) or (_are_even(groups) and not _are_even(others)):
        return
    step = moved[0]
    raise ValueError(
        f"{step.path}: Expected a name that is read in one way, by data.meshes.series (got step {texts[step.path]} of "
        f"{_name(step.path, texts[step.path])!r}, or step {step.text} of {_name(step.path, step.text)!r}, which would "
        f"put files in another order, or in other series); part times from what is before them by '_', as in "
        f"'{{case}}_{{step}}{step.path.suffix}' for {_example(step, texts)!r}, and counts by another sign than a point"
    )


def _are_even(groups: Sequence[Group]) -> bool:
    return all(are_even(step.number for step in steps) for steps in groups)


def _name(path: Path, text: str) -> str:
    return path.name.rpartition(text)[0]


def _example(step: Step, texts: dict[Path, str]) -> str:
    longest = max(step.text, texts[step.path], key=len)
    return f"{_name(step.path, longest).rstrip('_.-')}_{longest}{step.path.suffix}"
