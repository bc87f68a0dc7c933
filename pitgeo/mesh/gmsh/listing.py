"""Points and elements of a Gmsh file, and the cells that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.cell_types import dimension
from pitgeo.mesh.cells import first_of
from pitgeo.mesh.gmsh.cells import ORDER, kind_of
from pitgeo.mesh.gmsh.words import AsciiWords, BinaryWords, Numbers, Words, head, sections
from pitgeo.mesh.numbering import Index
from pitgeo.mesh.text_numbers import reals, wholes

Entity = tuple[int, int]


class Elements(NamedTuple):
    """Elements of one type that follow one another.

    Args:
        kind: Their type.
        numbers: Their numbers in the file.
        nodes: The numbers of their nodes in the file ``[elements, nodes]``.
        physical: The physical groups of each ``[elements, groups]``, 0 where there is none.
        geometrical: The entity of each.
        is_ghost: Whether they are copies of another partition's.
    """

    kind: str
    numbers: Numbers
    nodes: Numbers
    physical: Numbers
    geometrical: Numbers
    is_ghost: bool = False


@dataclass
class Listing:
    """The points and elements of a file.

    Args:
        version: 2, 4.0 or 4.1.
        points: The numbers of the points.
        positions: Where they are ``[points, 3]``.
        dim_tags: Dimension and number of the entity of each point, if the file has them.
        elements: The elements.
    """

    version: str
    points: Numbers
    positions: NDArray[np.float64]
    dim_tags: Numbers | None
    elements: list[Elements]

    @property
    def numbers(self) -> Numbers:
        """The numbers of all elements."""
        return np.concatenate([np.zeros(0, np.int64), *(part.numbers for part in self.elements)])


def read_listing(content: bytes) -> Listing:
    """Read the points and elements of a file.

    Raises:
        ValueError: If it is not as the format says, or of a version that is not known.
    """
    if content[:1024].lstrip()[:1] == b"(":
        raise ValueError(
            "Expected a mesh of Gmsh (got one of Fluent, which gives cells by their faces); export it from Fluent as "
            "CGNS or EnSight, or save it as .vtu"
        )
    version, is_binary = head(content)
    words = BinaryWords if is_binary else AsciiWords
    name = {b"4": "4.0", b"4.0": "4.0", b"4.1": "4.1"}.get(version, "2" if version[:1] == b"2" else "")
    if not name:
        said = version.decode(errors="replace") or "no head of one"
        raise ValueError(f"Expected a Gmsh file of version 2, 4.0 or 4.1 (got {said}); save it in version 4.1")
    if is_binary and content[content.index(b"\n", content.index(b"$MeshFormat") + 12) + 1 :][:4] != b"\1\0\0\0":
        raise ValueError("Expected a little-endian file (got another order of bytes); save it in ASCII")
    if name == "2":
        return _old(content, is_binary)
    groups, ghosts = _entities(content, name, words)
    points, positions, dim_tags = _points(words(_only(content, b"Nodes")), name)
    return Listing(
        name, points, positions, dim_tags, _elements(words(_only(content, b"Elements")), name, groups, ghosts)
    )


def _only(content: bytes, name: bytes) -> bytes:
    found = sections(content, name)
    if len(found) != 1:
        raise ValueError(f"Expected one section ${name.decode()} (got {len(found)}); is the file whole?")
    return found[0]


def _old(content: bytes, is_binary: bool) -> Listing:
    """A file of version 2."""
    name = b"ParametricNodes" if sections(content, b"ParametricNodes") else b"Nodes"
    first, _, rest = _only(content, name).partition(b"\n")
    count = int(first)
    if is_binary:
        if name == b"ParametricNodes":
            raise ValueError("Expected points without parameters in a binary file (got some); save it in version 4.1")
        row = np.dtype([("number", "<i4"), ("position", "<f8", (3,))])
        table = np.frombuffer(rest, row, count)
        points, positions = table["number"].astype(np.int64), table["position"].astype(np.float64)
    else:
        lines = [line for line in rest.splitlines() if line.strip()]
        if name == b"ParametricNodes":
            lines = [b" ".join(line.split()[:4]) for line in lines]
        words = reals(b"\n".join(lines))
        if len(lines) != count or len(words) != 4 * count:
            raise ValueError(f"Expected {count} points of a number and three coordinates (got {len(lines)} lines)")
        points, positions = wholes(words[::4]), words.reshape(-1, 4)[:, 1:].copy()
    first, _, rest = _only(content, b"Elements").partition(b"\n")
    elements = _old_binary(rest, int(first)) if is_binary else _old_ascii(rest, int(first))
    return Listing("2", points, positions, None, elements)


def _old_ascii(section: bytes, count: int) -> list[Elements]:
    runs: list[tuple[list[bytes], list[bytes]]] = []
    rows = [line for line in section.splitlines() if line.strip()]
    if len(rows) != count:
        raise ValueError(f"Expected {count} elements (got {len(rows)} lines)")
    for row in rows:
        own = row.split(None, 3)[1:3]
        if not runs or runs[-1][0] != own:
            runs.append((own, []))
        runs[-1][1].append(row)
    found = []
    for (number, tags), lines in runs:
        kind, width = kind_of(int(number))
        words = wholes(reals(b"\n".join(lines)))
        if len(words) != len(lines) * (3 + int(tags) + width):
            raise ValueError(f"Expected {width} nodes of {kind} elements (got another number)")
        found.append(_tagged(kind, words.reshape(len(lines), -1), int(tags), 3))
    return _joined(found)


def _old_binary(section: bytes, count: int) -> list[Elements]:
    words, found = BinaryWords(section), []
    while count > 0:
        number, rows, tags = map(int, words.take("int", 3))
        kind, width = kind_of(number)
        found.append(_tagged(kind, words.take("int", rows * (1 + tags + width)).reshape(rows, -1), tags, 1))
        count -= rows
    return _joined(found)


def _tagged(kind: str, table: Numbers, tags: int, before: int) -> Elements:
    """Elements from rows of number, tags and nodes; the first two tags are the physical and the geometrical group."""
    empty = np.zeros((len(table), 1), np.int64)
    physical = np.abs(table[:, before : before + 1]) if tags else empty
    geometrical = table[:, before + 1] if tags > 1 else empty[:, 0]
    return Elements(kind, table[:, 0], table[:, before + tags :], physical, geometrical)


def _joined(found: list[Elements]) -> list[Elements]:
    """The elements, with successive ones of the same type joined."""
    runs: list[list[Elements]] = []
    for part in found:
        if not runs or runs[-1][0].kind != part.kind:
            runs.append([])
        runs[-1].append(part)
    return [
        Elements(
            run[0].kind,
            np.concatenate([part.numbers for part in run]),
            np.concatenate([part.nodes for part in run]),
            np.concatenate([part.physical for part in run]),
            np.concatenate([part.geometrical for part in run]),
        )
        for run in runs
    ]


def _entities(
    content: bytes, version: str, words: Callable[[bytes], Words]
) -> tuple[dict[Entity, list[int]], set[Entity]]:
    """The physical groups of every entity, by dimension and number, and the entities of ghosts."""
    groups: dict[Entity, list[int]] = {}
    ghosts: set[int] = set()
    for section in sections(content, b"Entities"):
        found = words(section)
        for axes, count in enumerate(found.take("size", 4).tolist()):
            for _ in range(count):
                (number,) = found.take("int", 1).tolist()
                found.take("real", 3 if axes == 0 and version == "4.1" else 6)
                _physical(found, groups, (axes, number))
    for section in sections(content, b"PartitionedEntities"):
        if version != "4.1":
            raise ValueError("Expected partitions in a file of version 4.1 (got 4.0); save it in version 4.1")
        found = words(section)
        _, count = found.take("size", 2).tolist()
        ghosts = set(found.take("int", 2 * count).tolist()[::2])
        for axes, count in enumerate(found.take("size", 4).tolist()):
            for _ in range(count):
                number, _, _ = found.take("int", 3).tolist()
                found.take("int", int(found.take("size", 1)[0]))
                found.take("real", 3 if axes == 0 else 6)
                _physical(found, groups, (axes, number))
    top = max((axes for axes, _ in groups), default=0)
    return groups, {(top, number) for number in ghosts if (top, number) not in groups}


def _physical(found: Words, groups: dict[Entity, list[int]], entity: Entity) -> None:
    groups[entity] = [abs(tag) for tag in found.take("int", int(found.take("size", 1)[0])).tolist()]
    if entity[0]:
        found.take("int", int(found.take("size", 1)[0]))  # what bounds it


def _points(words: Words, version: str) -> tuple[Numbers, NDArray[np.float64], Numbers]:
    (blocks,) = words.take("size", 4 if version == "4.1" else 2)[:1].tolist()
    numbers, positions, entities = [np.zeros(0, np.int64)], [np.zeros((0, 3))], [np.zeros((0, 2), np.int64)]
    for _ in range(blocks):
        first, second, has_parameters = words.take("int", 3).tolist()
        axes, entity = (first, second) if version == "4.1" else (second, first)
        count = int(words.take("size", 1)[0])
        width = 3 + (axes if has_parameters else 0)
        if version == "4.1":
            numbers.append(words.take("size", count))
            positions.append(words.take("real", count * width).reshape(count, width)[:, :3])
        else:
            own, table = words.rows(count, width)
            numbers.append(own)
            positions.append(table[:, :3])
        entities.append(np.tile([axes, entity], (count, 1)))
    return np.concatenate(numbers), np.concatenate(positions), np.concatenate(entities)


def _elements(words: Words, version: str, groups: dict[Entity, list[int]], ghosts: set[Entity]) -> list[Elements]:
    (blocks,) = words.take("size", 4 if version == "4.1" else 2)[:1].tolist()
    found = []
    for _ in range(blocks):
        first, second, number = words.take("int", 3).tolist()
        entity = (first, second) if version == "4.1" else (second, first)
        count = int(words.take("size", 1)[0])
        kind, width = kind_of(number)
        table = words.take("size" if version == "4.1" else "int", count * (1 + width)).reshape(count, 1 + width)
        physical = np.tile(np.array(groups.get(entity) or [0], np.int64), (count, 1))
        own = np.full(count, entity[1], np.int64)
        found.append(Elements(kind, table[:, 0], table[:, 1:], physical, own, entity in ghosts))
    return found


@dataclass
class Cells:
    """The cells of a file, and where its points and elements are among them.

    Args:
        stays: Whether each point of the file does.
        cell_of: The number of the cell that each element is, -1 for ghosts.
        blocks: Type and nodes of the cells, a block for each of :attr:`Listing.elements`.
    """

    stays: NDArray[np.bool_]
    cell_of: Numbers
    blocks: list[tuple[str, Numbers]]


def cells_of(listing: Listing) -> Cells:
    """The cells without ghosts and without repeated elements, which version 2 lists once for each physical group.

    Raises:
        ValueError: If a node is not among the points.
    """
    blocks = _placed(listing)
    sizes = [len(nodes) for _, nodes in blocks]
    ends = np.cumsum([0, *sizes])
    first = np.arange(ends[-1])
    if listing.version == "2":
        first = first_of([(dimension(kind), nodes) for kind, nodes in blocks])
    is_ghost = np.repeat(np.array([part.is_ghost for part in listing.elements], bool), sizes)
    is_kept = (first == np.arange(ends[-1])) & ~is_ghost
    cell_of = np.where(is_ghost, -1, (np.cumsum(is_kept) - 1)[first])
    own = [(kind, nodes[is_kept[a:b]]) for (kind, nodes), a, b in zip(blocks, ends, ends[1:], strict=False)]
    stays = np.full(len(listing.points), not is_ghost.any())  # Gmsh writes more points of other partitions than needed
    for _, nodes in own:
        stays[nodes] = True
    place = np.cumsum(stays) - 1
    return Cells(stays, cell_of, [(kind, place[nodes]) for kind, nodes in own])


def _placed(listing: Listing) -> list[tuple[str, Numbers]]:
    """All elements with node numbers replaced by places of points, in the order of VTK."""
    index = Index(listing.points)
    if index.is_repeated:
        raise ValueError("Expected points of different numbers (got several of one); write the mesh again")
    found = []
    for part in listing.elements:
        places = index.find(part.nodes)
        if (places < 0).any():
            raise ValueError(f"Expected nodes of {part.kind} elements that are in $Nodes (got others)")
        found.append((part.kind, places[:, ORDER.get(part.kind, slice(None))]))
    return found
