"""Abaqus input files: nodes, elements and sets, flat or in parts and instances, as Abaqus itself makes them.

What would add, move, copy or drop nodes or elements and is not followed is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pitgeo.mesh.abaqus import generate as abaqus_generate
from pitgeo.mesh.abaqus.elements import connectivity, element_numbers, kind_of, on_points
from pitgeo.mesh.abaqus.lines import Block, blocks, fields, label, reals, refusal, whole, wholes
from pitgeo.mesh.abaqus.model import raw_of
from pitgeo.mesh.abaqus.pieces import Chosen, Named, Piece
from pitgeo.mesh.names import read_text
from pitgeo.mesh.notes import Note
from pitgeo.mesh.raw import Raw
from pitgeo.mesh.ucd import is_ucd, read_ucd

REFUSED = (
    *("INCLUDE", "NFILL", "NCOPY", "NMAP", "ADJUST", "ELCOPY", "IMPORT", "IMPERFECTION"),
    "SYMMETRIC MODEL GENERATION",
)
"""Keywords that add, move or copy nodes or elements, and are not followed."""


def read_abaqus(path: Path) -> Raw:
    """Read an Abaqus input file, or a file of AVS UCD, which has the same ending.

    Raises:
        ValueError: If the file is broken, or holds what is not followed.
    """
    reader = _Reader()
    text = read_text(path, reader.notes)
    if is_ucd(text):
        return read_ucd(path)
    for block in blocks(text):
        reader.take(block)
    return raw_of(reader.pieces(), reader.notes)


class _Reader:
    """Takes one keyword after another."""

    def __init__(self) -> None:
        self.root = Piece("")
        self.current = self.root
        self.assembly: Piece | None = None
        self.parts: dict[str, Piece] = {}
        self.instances: dict[str, Piece] = {}
        self.notes: list[Note] = []
        self.keywords: dict[str, Callable[[Block], None]] = {
            "NODE": self.node,
            "ELEMENT": self.element,
            "NGEN": self.generate_nodes,
            "ELGEN": self.generate_elements,
            "NSET": self.point_set,
            "ELSET": self.cell_set,
            "SURFACE": self.surface,
            "SYSTEM": self.system,
            "PART": self.part,
            "END PART": self.end,
            "ASSEMBLY": self.begin_assembly,
            "END ASSEMBLY": self.end,
            "INSTANCE": self.instance,
            "END INSTANCE": self.end,
        }

    def take(self, block: Block) -> None:
        """Process a keyword; keywords of materials, loads, steps and output do not change the mesh."""
        if block.keyword in self.keywords:
            self.keywords[block.keyword](block)
        elif block.keyword in REFUSED:
            raise refusal(block.line, "nodes and elements that are all in the file, in plain coordinates", block.head)
        else:
            known = [*self.keywords, *REFUSED]
            near = [name for name in known if len(block.keyword) > 1 and name.startswith(block.keyword)]
            near = [name for name in near if not name.startswith("END")] or difflib.get_close_matches(
                block.keyword, known, 1, 0.87
            )
            if near:
                raise refusal(block.line, f"whole keywords, as *{near[0]}", block.head, "write it out")

    def pieces(self) -> list[Piece]:
        """The pieces of the mesh."""
        if self.parts and not self.instances:
            if len(self.parts) > 1 or self.assembly:
                raise ValueError(
                    f"Expected instances of the parts {', '.join(part.name for part in self.parts.values())} (got "
                    f"none); export the assembly, or a mesh of one part"
                )
            self.notes.append(Note("part", "its one part is read, where it stands: there is no *INSTANCE of it"))
            return [self.root, *self.parts.values()]
        used = {id(one.cells) for one in self.instances.values()}
        for part in self.parts.values():
            if id(part.cells) not in used:
                self.notes.append(Note("part", f"the part {part.name} left out, of which there is no *INSTANCE"))
        return [self.root, *self.instances.values(), *([self.assembly] if self.assembly else [])]

    def node(self, block: Block) -> None:
        options = block.options(("NSET", "SYSTEM"))
        self.check_open(block)
        if options.get("SYSTEM", "R").upper() not in ("R", "RC"):
            raise refusal(block.line, "nodes in Cartesian coordinates", block.head)
        members = []
        for row in block.rows:
            values = reals(row)
            if len(values) > 8 or (len(values) == 8 and not row[1].endswith(",")):
                raise refusal(row[0], "a number, 3 coordinates and a normal", row[1], "mend the line")
            (number,) = wholes((row[0], row[1].partition(",")[0]))
            self.current.add_node(number, [*values[1:4], 0.0, 0.0, 0.0][:3])
            members.append(number)
        if "NSET" in options:
            self.add(self.current.point_sets, options["NSET"], [Chosen(None, np.array(members, np.int64))])

    def element(self, block: Block) -> None:
        options = block.options(("TYPE", "ELSET"))
        self.check_open(block)
        name = block.need(options, "TYPE").upper()
        kind = kind_of(name, block.line, block.head)
        cells = self.current.cells
        if not kind or (name.startswith("CONN") and not on_points(block)):
            members = element_numbers(block)
            cells.left_out.update(members)
            self.notes.append(Note("elements left out", f"{len(members)} elements {name} left out"))
        else:
            members, nodes, more = connectivity(block, name, kind)
            cells.add(name, kind, members, nodes)
            cells.left_out.difference_update(members)
            if more:
                self.notes.append(Note("orientation", f"the third node of {more} elements {name} left out"))
        if "ELSET" in options:
            self.add(self.current.cell_sets, options["ELSET"], [Chosen(None, np.array(members, np.int64))])

    def generate_nodes(self, block: Block) -> None:
        options = block.options(("NSET",))
        self.check_open(block)
        members = [Chosen(None, abaqus_generate.nodes(self.current, row)) for row in block.rows]
        if "NSET" in options:
            self.add(self.current.point_sets, options["NSET"], members)

    def generate_elements(self, block: Block) -> None:
        options = block.options(("ELSET", "ALL NODES"))
        self.check_open(block)
        members = [Chosen(None, abaqus_generate.elements(self.current, row)) for row in block.rows]
        if "ELSET" in options:
            self.add(self.current.cell_sets, options["ELSET"], members)

    def point_set(self, block: Block) -> None:
        options = block.options(("NSET", "GENERATE", "UNSORTED", "INTERNAL", "INSTANCE", "ELSET"))
        sets = self.current.point_sets
        if "ELSET" not in options:
            self.add(sets, block.need(options, "NSET"), self.members(block, options, "point_sets"))
            return
        source, own = self.source(block, options)
        cells = source.cell_sets.get(label(options["ELSET"]))
        if cells is None:
            raise refusal(block.line, "a set of elements that is there before", block.head, "mend the line")
        members = [Chosen(one.piece or own, one.wanted, "all") for one in cells.members]
        self.add(sets, block.need(options, "NSET"), members)

    def cell_set(self, block: Block) -> None:
        options = block.options(("ELSET", "GENERATE", "UNSORTED", "INTERNAL", "INSTANCE"))
        members = self.members(block, options, "cell_sets")
        self.add(self.current.cell_sets, block.need(options, "ELSET"), members)

    def surface(self, block: Block) -> None:
        """A surface becomes the set of its points."""
        given = [word.partition("=") for word in fields(block.head)[1:]]
        options = {name.strip().upper(): value.strip() for name, _, value in given if name}
        name, kind = options.pop("NAME", "?"), options.pop("TYPE", "ELEMENT").upper()
        members: list[Chosen] | None = [] if kind in ("NODE", "ELEMENT") and not {*options} - {"INTERNAL"} else None
        for number, line in block.rows if members is not None else ():
            words = [*fields(line), ""]
            found = self.lookup(words[0], number, line, self.current, "point_sets" if kind == "NODE" else "cell_sets")
            if found is None or (kind == "ELEMENT" and not words[1]) or members is None:
                members = None
                break
            side = "" if kind == "NODE" else words[1]
            members += [one._replace(side=side) for one in found]
        if members is None:
            self.notes.append(Note("surface left out", f"the surface {name.strip(chr(34))} left out"))
        else:
            self.add(self.current.surfaces, name, members)

    def system(self, block: Block) -> None:
        if block.rows:
            raise refusal(block.line, "nodes in the coordinates of the whole", block.head)

    def part(self, block: Block) -> None:
        name = block.need(block.options(("NAME",)), "NAME")
        if self.current is not self.root or label(name) in self.parts:
            raise refusal(block.line, "every part once, closed by *END PART before the next", block.head)
        self.current = self.parts[label(name)] = Piece(name.strip('"'))

    def begin_assembly(self, block: Block) -> None:
        if self.current is not self.root or self.assembly:
            raise refusal(block.line, "one assembly, after *END PART", block.head)
        self.current = self.assembly = Piece("assembly")

    def instance(self, block: Block) -> None:
        options = block.options(("NAME", "PART"))
        name, part = block.need(options, "NAME"), block.need(options, "PART")
        if self.current is not self.assembly or label(part) not in self.parts or label(name) in self.instances:
            raise refusal(block.line, "an instance in an *ASSEMBLY, of a part that is there before", block.head)
        place = abaqus_generate.placing(block)
        self.current = self.parts[label(part)].instance(name.strip('"'), *place)
        self.instances[label(name)] = self.current

    def end(self, block: Block) -> None:
        """Close the current part, assembly or instance; an instance returns to its assembly."""
        inside = self.current in self.instances.values()
        self.current = self.assembly if inside and self.assembly else self.root

    def check_open(self, block: Block) -> None:
        if any(self.current is one for one in self.instances.values()):
            raise refusal(block.line, "nodes and elements in *PART, not in *INSTANCE", block.head)

    def source(self, block: Block, options: dict[str, str]) -> tuple[Piece, Piece | None]:
        """The piece that members of a set belong to, and what it is called in there: ``None`` for the set's own."""
        if "INSTANCE" not in options:
            return self.current, None
        piece = self.instances.get(label(options["INSTANCE"]))
        if piece is None:
            raise refusal(block.line, "an instance that is there before", block.head, "mend the line")
        return piece, piece

    def members(self, block: Block, options: dict[str, str], sets: str) -> list[Chosen]:
        """The members that the data lines of a set name."""
        source, own = self.source(block, options)
        if "GENERATE" in options:
            return [Chosen(own, abaqus_generate.steps(row)) for row in block.rows]
        found: list[Chosen] = []
        numbers: list[int] = []
        for number, line in block.rows:
            for word in (word for word in fields(line) if word):
                if word.isdecimal() and word.isascii():
                    numbers.append(whole(word, number, line))
                    continue
                named = self.lookup(word, number, line, source, sets)
                if named is None:
                    text = f"a set refers to {word!r}, which is not there and left out"
                    self.notes.append(Note("set left out", text))
                found += [one._replace(piece=one.piece or own) for one in named or ()]
        return [Chosen(own, np.array(numbers, np.int64)), *found]

    def lookup(self, word: str, number: int, line: str, source: Piece, sets: str) -> list[Chosen] | None:
        """The members of a number or a set name, each possibly behind an instance's name and a point."""
        if word.isdecimal() and word.isascii():
            return [Chosen(None, np.array([whole(word, number, line)], np.int64))]
        if re.match(r"[-+.0-9]", word):
            raise refusal(number, "numbers or names of sets", line, "mend the line")
        known: dict[str, Named] = getattr(source, sets)
        if label(word) in known:
            return [*known[label(word)].members]
        before, point, after = word.partition(".")
        piece = self.instances.get(label(before)) if point else None
        if piece is None or piece is source:
            return None
        found = self.lookup(after, number, line, piece, sets)
        return None if found is None else [one._replace(piece=one.piece or piece) for one in found]

    def add(self, sets: dict[str, Named], name: str, members: list[Chosen]) -> None:
        sets.setdefault(label(name), Named(name.strip().strip('"'))).members.extend(members)
