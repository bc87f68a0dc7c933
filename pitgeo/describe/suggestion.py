"""A complete configuration for a set of meshes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from pitgeo.config.toml import toml_value
from pitgeo.describe.defaults import DATA, REST
from pitgeo.describe.files import shortened
from pitgeo.describe.problem import KINDS, NO_POD, POD, Problem

WIDTH = 100
FEW = 5
"""With fewer files none is set aside to choose a checkpoint by."""


def suggestion(paths: Sequence[str | Path], unreadable: Sequence[str], problem: Problem) -> str:
    """A configuration in TOML, ready for training; comments name what to adapt, and what is left out.

    Args:
        paths: What the user gave.
        unreadable: Names of files that cannot be read.
        problem: What was found of the others.
    """
    lines = _commented(
        [
            "By 'pitgeo describe ... --write run.toml'; 'pitgeo train run.toml' takes it as it is.",
            f"{_first_upper(KINDS[problem.kind][0])}. Try first: {advice(problem)}.",
        ]
    )
    lines = [*lines, "", "[data]", 'name = "meshes"', "", "[data.meshes]"]
    if unreadable:
        lines += _commented([f"Left out, since {len(unreadable)} cannot be read: {unreadable[0]}, ..."])
    lines.append(_assignment("files", shortened(paths, problem.files)))
    lines += ['series = "file"'] if problem.is_series else []
    lines += [_assignment("parameters", problem.table.path.as_posix())] if problem.table else []
    lines += _commented(problem.comments)
    lines += [_assignment(key, problem.names_of(key)) for key in ("inputs", "targets")]
    lines += _shares(problem)
    return "\n".join([*lines, "", *_rest(problem)]) + "\n"


def advice(problem: Problem) -> str:
    """The model to try first."""
    return KINDS[problem.kind][1] or (POD if _has_pod(problem) else NO_POD)


def _shares(problem: Problem) -> list[str]:
    lines, count = DATA.rstrip("\n").split("\n"), len(problem.files)
    own = {}
    if count < FEW:
        own["validation"] = "validation = 0             # too few files to choose the checkpoint by one of them"
        own["test"] = f"test = {int(count > 1)}"
    elif _begins_with_pod(problem):
        own["validation"] = 'validation = 0             # a POD is fitted to all but the test files; 0.1 for "pit"'
    return [own.get(line.split(" = ")[0], line) for line in lines]


def _rest(problem: Problem) -> list[str]:
    lines = REST.rstrip("\n").split("\n")
    if _begins_with_pod(problem):
        lines[lines.index('name = "pit"')] = 'name = "pod"               # then "pit", whose options are below'
    return lines


def _begins_with_pod(problem: Problem) -> bool:
    return problem.kind == "numbers" and _has_pod(problem)


def _has_pod(problem: Problem) -> bool:
    """Whether a POD is available and applicable: all inputs are numbers of the mesh."""
    if any(one.place != "mesh" for one in problem.inputs):
        return False
    from pitgeo.models.registry import MODELS  # all models come with it

    return "pod" in MODELS


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _commented(comments: Sequence[str]) -> list[str]:
    return list(_wrapped(comments))


def _wrapped(comments: Sequence[str]) -> Iterator[str]:
    for comment in comments:
        yield from textwrap.wrap(
            comment,
            WIDTH,
            initial_indent="# ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _assignment(key: str, value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return f"{key} = {toml_value(value)}"
    names = [toml_value(name) for name in value]
    line = f"{key} = [{', '.join(names)}]"
    return line if len(line) <= WIDTH else "\n".join([f"{key} = [", *(f"    {name}," for name in names), "]"])
