"""The start of a configuration for a set of meshes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from pitgeo.describe.facts import MeshFacts, Place
from pitgeo.describe.field import Field
from pitgeo.describe.files import shortened

WIDTH = 100


def suggestion(
    paths: Sequence[str | Path],
    files: Sequence[Path],
    unreadable: int,
    fields: Sequence[Field],
    meshes: Sequence[MeshFacts],
) -> str:
    """TOML with the files and all candidates for targets; comments say what to move, and what is left out.

    Candidates are the finite float fields of the points that every file has and that are not constant; where there are
    none, those of the cells.

    Args:
        paths: What the user gave.
        files: The files that it stands for.
        unreadable: How many of them cannot be read.
        fields: The fields of the others.
        meshes: The facts of the others.
    """
    count, series = len(meshes), [mesh.series for mesh in meshes if mesh.series]
    is_series = len(series) == count
    partial = {key for one in series for key in one.partial}
    wanted: dict[Place, list[Field]] = {"points": [], "cells": [], "mesh": []}
    of_points, of_cells = ({field.name for field in fields if field.place == place} for place in ("points", "cells"))
    left_out: dict[str, list[str]] = {}
    for field in fields:
        reason = "not at every step" if (field.place, field.name) in partial else _unfit(field, count)
        if reason is None:
            wanted[field.place].append(field)
        elif field.place == "points":
            left_out.setdefault(reason, []).append(_quoted(field.name))
    place: Place = "points" if wanted["points"] or not wanted["cells"] else "cells"
    comments = ["Move to 'inputs' what is known before a simulation; keep in 'targets' what is to be predicted."]
    inputs: list[Field] = []
    if is_series:
        comments = ["A model learns the state, 'targets', from one step to the next; 'inputs' do not change in time."]
        inputs = [field for field in wanted[place] if all((field.place, field.name) in one.still for one in series)]
    if len(inputs) == len(wanted[place]):
        inputs = []
    targets = [field for field in wanted[place] if field not in inputs]
    parameters = [_quoted(field.name) for field in targets if field.is_parameter and not is_series]
    comments += [f"One value a file, so rather inputs: {', '.join(parameters)}."] if parameters else []
    comments += [f"Left out, since {reason}: {', '.join(names)}." for reason, names in left_out.items()]
    if place == "cells":
        comments.append("These are fields of cells: no field of points will do.")
    else:
        comments += _others("cells", wanted["cells"])
    comments += _others("whole meshes", wanted["mesh"])
    lines = ["[data]", 'name = "meshes"', "", "[data.meshes]"]
    lines += _commented(
        [f"{unreadable} of these cannot be read: move them elsewhere, or repair them."] * bool(unreadable)
    )
    lines.append(_assignment("files", shortened(paths, files)))
    lines += ['series = "file"'] if is_series else []
    lines += _commented(comments)
    start = {"points": "point:", "cells": "cell:"}
    for key, some in (("inputs", inputs), ("targets", targets)):
        names = [start[place] * (field.name in of_points & of_cells) + field.name for field in some]
        lines.append(_assignment(key, names))
    if is_series and count < 4:
        lines += _commented(["Too few series to choose a checkpoint by one that is not trained on."])
        lines += ["validation = 0", f"test = {int(count > 1)}"]
    return "\n".join(lines) + "\n"


def _unfit(field: Field, count: int) -> str | None:
    """Why a field is no candidate."""
    reasons = {
        "not in every file": len(field.found) < count,
        "not floating-point numbers": not field.is_float,
        "of different numbers of components": len(field.components) > 1,
        "not finite": not field.is_finite,
        "constant": field.is_constant and (field.place != "mesh" or count > 1),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _others(what: str, fields: Sequence[Field]) -> list[str]:
    return (
        [f"Fields of {what}, also in every file: {', '.join(_quoted(field.name) for field in fields)}."]
        if fields
        else []
    )


def _commented(comments: Sequence[str]) -> Iterator[str]:
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
        return f"{key} = {_quoted(value)}"
    names = [_quoted(name) for name in value]
    line = f"{key} = [{', '.join(names)}]"
    return line if len(line) <= WIDTH else "\n".join([f"{key} = [", *(f"    {name}," for name in names), "]"])


def _quoted(name: str) -> str:
    """A string of TOML, on one line."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
