"""The kind of problem that a set of meshes poses, with its inputs and targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pitgeo.config.toml import toml_value
from pitgeo.describe.field import Field, collect_fields
from pitgeo.describe.file_summary import FileSummary, Place
from pitgeo.describe.local import local_inputs
from pitgeo.describe.tables import Table, find_table

Kind = Literal["series", "numbers", "fields", "shapes", "points", "file"]

KINDS: dict[Kind, tuple[str, str]] = {
    "series": (
        "time series",
        "the configuration below: a model learns the state from one step to the next, and is tested by rolling out",
    ),
    "numbers": ("one mesh in all files, and numbers that differ from file to file", ""),
    "fields": (
        "one mesh in all files",
        "the configuration below, once 'inputs' names what files differ by: fields, or numbers of a whole mesh",
    ),
    "shapes": (
        "meshes differ from file to file",
        "the configuration below, with inputs computed from every mesh, such as the distance to its boundary",
    ),
    "points": (
        "points alone that differ from file to file",
        "the configuration below; files with cells would add the distance to the boundary",
    ),
    "file": ("one file alone", "more files: one cannot be trained on and tested on"),
}
"""What each kind of problem is, and what to try first."""

POD = 'a POD, fitted in seconds (model.name = "pod"), then a PiT ("pit")'
NO_POD = "the configuration below"


@dataclass
class Problem:
    """The files, inputs and targets to train on.

    Args:
        files: The files of one kind.
        meshes: Their summaries.
        kind: Which kind of problem it is.
        place: Where the targets are.
        inputs: Fields that are known.
        targets: Fields to predict.
        table: Numbers that belong to the files, if there is a table beside them.
        names: Names that points and cells have both.
        comments: What to move, and what is left out.
    """

    files: list[Path]
    meshes: list[FileSummary]
    kind: Kind
    place: Place = "points"
    inputs: list[Field] = field(default_factory=list)
    targets: list[Field] = field(default_factory=list)
    table: Table | None = None
    names: frozenset[str] = frozenset()
    comments: list[str] = field(default_factory=list)

    @property
    def is_series(self) -> bool:
        """Whether the files are time series."""
        return self.kind == "series" or bool(self.meshes[0].series)

    def names_of(self, key: Literal["inputs", "targets"]) -> list[str]:
        """Names for a configuration, with a prefix where points and cells share a name."""
        start = {"points": "point:", "cells": "cell:", "mesh": ""}
        fields: list[Field] = getattr(self, key)
        found = [start[one.place] * (one.name in self.names) + one.name for one in fields]
        return found + (list(self.table.columns) if self.table and key == "inputs" else [])


def find_problem(files: Sequence[Path], meshes: Sequence[FileSummary]) -> Problem:
    """Select the files of the most frequent kind, and sort their fields into inputs and targets."""
    files, meshes, comments = _of_one_kind(files, meshes)
    fields = collect_fields(meshes)
    problem = Problem(files, meshes, _kind(meshes), comments=comments)
    of_points, of_cells = ({one.name for one in fields if one.place == place} for place in ("points", "cells"))
    problem.names = frozenset(of_points & of_cells)
    fit, left_out = _fitting(fields, meshes)
    results = {place: [one for one in fit if one.place == place and one.is_float] for place in ("points", "cells")}
    results = {place: [one for one in found if not _is_input(one, meshes)] for place, found in results.items()}
    problem.place = "cells" if results["cells"] and not results["points"] else "points"
    known = [one for one in fit if one.place in (problem.place, "mesh") and _is_input(one, meshes)]
    problem.inputs = sorted(known, key=lambda one: one.place != "mesh")
    problem.targets = results[problem.place]
    if problem.is_series and not problem.targets:  # whatever does not move is the state then
        problem.targets = [one for one in problem.inputs if one.place == problem.place and one.is_float]
        problem.inputs = [one for one in problem.inputs if one not in problem.targets]
    taken = {one.name for one in fields}
    problem.table = find_table(problem.files, taken)
    if problem.kind == "fields" and (problem.table or any(one.is_parameter for one in problem.inputs)):
        problem.kind = "numbers"
    problem.comments += _comments(problem, left_out, results)
    return problem


def _of_one_kind(
    files: Sequence[Path], meshes: Sequence[FileSummary]
) -> tuple[list[Path], list[FileSummary], list[str]]:
    """The files of the most frequent kind (series, or meshes of one dimension), and comments on the others."""
    kinds = [(mesh.series is not None, mesh.dimension) for mesh in meshes]
    most = Counter(kinds).most_common(1)[0][0]
    pairs = [(file, mesh) for file, mesh, kind in zip(files, meshes, kinds, strict=True) if kind == most]
    comments = []
    if rest := [mesh for mesh, kind in zip(meshes, kinds, strict=True) if kind != most]:
        what = "time series" if rest[0].series else f"a mesh in {rest[0].dimension}D"
        comments.append(f"{len(rest)} of {len(meshes)} files left out, of another kind: {rest[0].label} is {what}.")
    return [file for file, _ in pairs], [mesh for _, mesh in pairs], comments


def _kind(meshes: Sequence[FileSummary]) -> Kind:
    if meshes[0].series:
        return "series"
    if len(meshes) == 1:
        return "file"
    if len({mesh.mesh_digest for mesh in meshes}) == 1:
        return "fields"
    has_cells = any(kind != "vertex" and count for mesh in meshes for kind, count in mesh.cells.items())
    return "shapes" if has_cells else "points"


def _fitting(fields: Sequence[Field], meshes: Sequence[FileSummary]) -> tuple[list[Field], dict[str, list[str]]]:
    """Fields that can be inputs or targets, and the names of other point fields by the reason."""
    partial = {key for mesh in meshes if mesh.series for key in mesh.series.partial}
    found: list[Field] = []
    left_out: dict[str, list[str]] = {}
    for one in fields:
        reason = "not at every step" if (one.place, one.name) in partial else _unfit(one, len(meshes))
        if reason is None:
            found.append(one)
        elif one.place == "points" or "the mesh" in reason:
            left_out.setdefault(reason, []).append(one.name)
    return found, left_out


def _unfit(one: Field, count: int) -> str | None:
    """The reason why a field is neither an input nor a target; ``None`` if it may be."""
    can_be_whole = one.place == "mesh" or one.is_mark or one.is_parameter
    reasons = {
        "not in every file": len(one.found) < count,
        "not numbers": not all(own.is_number for own in one.in_files),
        "of different numbers of components": len(one.components) > 1,
        "not finite": not one.is_finite,
        "constant": one.is_constant and (one.place != "mesh" or count > 1),
        "the coordinates of the mesh": one.role == "coordinates",
        "normals of the mesh": one.role == "normals",
        "not floating-point numbers": not one.is_float and not can_be_whole,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _is_input(one: Field, meshes: Sequence[FileSummary]) -> bool:
    """Whether a field is an input: a number of the mesh, a mark of a set, or constant in all series."""
    if one.place == "mesh" or one.is_mark or (one.is_parameter and len(meshes) > 1):
        return True
    series = [mesh.series for mesh in meshes if mesh.series]
    return bool(series) and all((one.place, one.name) in found.still for found in series)


def _comments(problem: Problem, left_out: dict[str, list[str]], results: dict[str, list[Field]]) -> list[str]:
    if problem.is_series:
        comments = ["A model learns the state, 'targets', from one step to the next; 'inputs' do not change in time."]
    else:
        comments = ["Move to 'inputs' what is known before a simulation; keep in 'targets' what is to be predicted."]
    numbers = [one.name for one in problem.inputs if one.is_parameter] + list(
        problem.table.columns if problem.table else ()
    )
    if numbers and not problem.is_series:
        comments.append(f"One value a file, so taken for inputs: {_list(numbers)}; results, as a drag, are targets.")
    if marks := [one.name for one in problem.inputs if one.is_mark]:
        comments.append(f"Zeros and ones, so taken for sets, of which inputs are made: {_list(marks)}.")
    whole = [one.name for one in problem.inputs if one.place == "mesh"]
    whole += problem.table.columns if problem.table else ()
    comments += local_inputs(whole, sorted(frozenset.intersection(*(mesh.parts for mesh in problem.meshes))))
    comments += [f"Left out, since {reason}: {_list(names)}." for reason, names in left_out.items()]
    if not problem.targets:
        comments.append("No field can be predicted: name one, or numbers of the mesh, among the targets.")
    if problem.place == "cells":
        comments.append("These are fields of cells: no field of points will do.")
    elif results["cells"]:
        comments.append(f"Fields of cells, also in every file: {_list([one.name for one in results['cells']])}.")
    return comments


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(toml_value, names))
