"""Time series in XDMF files."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pitgeo.mesh.grid_attributes import is_whole, tied_to
from pitgeo.mesh.mesh import Mesh
from pitgeo.mesh.reading import read


def read_steps(path: Path) -> tuple[list[float], Callable[[int], Mesh]]:
    """The times of an XDMF time series, and what reads the mesh of a number.

    Every step is read with the points and cells that are its own, or those of the first grid that has some: meshio's
    own reader of series takes the first ones for all steps, even where points move.

    Raises:
        ValueError: If it is no time series.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: Expected a time series in XML (got: {error}); write it again") from error
    grids = [grid for grid in root.iter("Grid") if grid.get("CollectionType") == "Temporal"]
    if len(grids) != 1:
        raise ValueError(
            f"{path}: Expected one temporal collection of grids (got {len(grids)}); a single mesh is read by read_mesh"
        )
    steps = grids[0].findall("Grid")
    times = _times(path, grids[0], steps)
    shared = {
        tag: next((element for grid in root.iter("Grid") if (element := grid.find(tag)) is not None), None)
        for tag in ("Topology", "Geometry")
    }
    order = sorted(range(len(steps)), key=lambda k: times[k])

    def step_of(k: int) -> Mesh:
        step = steps[order[k]]
        with tempfile.TemporaryDirectory() as folder:
            single = Path(folder) / path.name
            single.write_bytes(ElementTree.tostring(_single(path, step, shared)))
            try:
                mesh = read(single)
            except ValueError as error:
                raise ValueError(str(error).replace(str(single), f"{path}, step {k}")) from error
        return replace(mesh, path=path)

    return [times[k] for k in order], step_of


def _single(path: Path, step: Element, shared: dict[str, Element | None]) -> Element:
    """A file of one step alone."""
    root = Element("Xdmf", Version="3.0")
    domain = ElementTree.SubElement(root, "Domain")
    grid = ElementTree.SubElement(domain, "Grid", Name="step", GridType="Uniform")
    for tag, first in shared.items():
        own = step.find(tag)
        element = own if own is not None else first
        if element is None:
            raise ValueError(f"{path}: Expected a {tag} in the time series (got none)")
        grid.append(copy.deepcopy(element))
    grid.extend(copy.deepcopy([part for part in step.findall("Attribute") if not is_whole(part)]))
    grid.extend(copy.deepcopy([part for part in step if is_whole(part)]))
    tied_to(grid, path)
    return root


def _times(path: Path, collection: Element, steps: list[Element]) -> list[float]:
    """The time of every step, or its number where none has one."""
    own = [step.find("Time") for step in steps]
    try:
        values = [float(time.attrib["Value"]) for time in own if time is not None]
        listed = collection.find("Time")
        if not values and listed is not None:
            item = listed.find("DataItem")
            values = [float(word) for word in ((item.text if item is not None else "") or "").split()]
            if listed.get("TimeType") == "HyperSlab":
                start, stride, count = values
                values = [start + stride * k for k in range(int(count))]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: Expected the time of every step as a number (got: {error})") from error
    if values and len(values) != len(steps):
        raise ValueError(f"{path}: Expected {len(steps)} times, one a step (got {len(values)})")
    return values or [float(k) for k in range(len(steps))]
