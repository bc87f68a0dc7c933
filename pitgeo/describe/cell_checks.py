"""What could go wrong with the points and cells of meshes: one small check a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pitgeo.describe.file_summary import FileSummary
from pitgeo.describe.orientation import turned_over


def orphans(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Points of no cell, such as centres of arcs: often without a meaningful value."""
    yield from _counted(
        meshes, lambda mesh: mesh.orphans, "points that belong to no cell; their values may mean nothing"
    )


def duplicates(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Points at one place, as along seams and between parts: a field may have two values there."""
    yield from _counted(meshes, lambda mesh: mesh.duplicates, "points lie exactly on another; a field may jump there")


def repeated_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Cells that are in a file twice: they count twice in every mean over cells."""
    yield from _counted(meshes, lambda mesh: mesh.repeated, "cells have the nodes of another, and count twice")


def degenerate_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Cells without length, area or volume."""
    yield from _counted(meshes, lambda mesh: mesh.flaws.degenerate, "cells have no length, area or volume")


def turned_cells(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Inverted cells, if most are not."""
    what = "cells are inverted: their corners go round the other way than those of most"
    yield from _counted(meshes, lambda mesh: mesh.flaws.turned, what)


def turned_files(meshes: Sequence[FileSummary]) -> Iterator[str]:
    """Files whose cells run the other way round than those of the others."""
    found = [meshes[number] for number in turned_over([mesh.orientation for mesh in meshes])]
    if found:
        yield (
            f"{found[0].label}: the corners of its cells go round the other way than in most files{of(found, meshes)}: "
            f"normals of open surfaces point the other way, and vectors along them; turn the faces as in the others"
        )


def _counted(meshes: Sequence[FileSummary], number: Callable[[FileSummary], int], what: str) -> Iterator[str]:
    found = [mesh for mesh in meshes if number(mesh)]
    if found:
        yield f"{found[0].label}: {number(found[0]):,} {what}{of(found, meshes)}"


def of(found: Sequence[object], meshes: Sequence[FileSummary]) -> str:
    """In how many of the files, where there are several."""
    return f" (in {len(found)} of {files_text(len(meshes))})" if len(meshes) > 1 else ""


def files_text(count: int) -> str:
    """A number of files in words."""
    return f"{count:,} file" + ("s" if count != 1 else "")
