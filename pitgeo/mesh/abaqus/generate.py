"""Abaqus' generated parts: ranges of numbers, nodes on lines, rows of elements, and positions of instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pitgeo.mesh.abaqus.lines import LARGEST, Block, reals, refusal, whole, wholes
from pitgeo.mesh.abaqus.pieces import Piece
from pitgeo.mesh.numbering import Numbers

MOST = 1_000_000
"""Nodes that are made on one line, at most."""

DEFAULTS = ("", "", "1", "1", "1", "0", "0", "1", "0", "0")
"""What is taken for what is left out: a first element, and the number and increments of a row, of rows, and layers."""

Vector = NDArray[np.float64]


def steps(row: tuple[int, str]) -> range:
    """The numbers from a first to a last one; the increment is 1 if none is given.

    Raises:
        ValueError: If the last one is missing, or is not reached.
    """
    values = wholes(row, -LARGEST)
    if len(values) not in (2, 3) or min(values[:2]) < 1:
        raise refusal(*_said(row, "a first and a last number, and an increment"))
    first, last, step = (*values, 1)[:3]
    if first == last:
        return range(first, first + 1)
    if step == 0 or (last - first) / step < 0:
        raise refusal(*_said(row, f"an increment that leads from {first} to {last}"))
    return range(first, last + (1 if step > 0 else -1), step)


def nodes(piece: Piece, row: tuple[int, str]) -> Numbers:
    """Add the nodes on the straight line between two nodes, and return the numbers of all of them.

    Raises:
        ValueError: If an end is not there, the increment does not lead from one to the other, or the line is an arc.
    """
    if len([word for word in row[1].split(",") if word.strip()]) > 3:
        raise refusal(*_said(row, "the two ends of a straight line, and an increment"))
    numbers = steps(row)
    if len(numbers) > MOST or numbers[-1] != wholes(row, -LARGEST)[1]:
        raise refusal(*_said(row, f"an increment that divides the line into at most {MOST:,} equal parts"))
    if numbers[0] not in piece.rows or numbers[-1] not in piece.rows:
        raise refusal(*_said(row, "two nodes that are there before"))
    first, last = (np.array(piece.position(numbers[place])) for place in (0, -1))
    for place, number in enumerate(numbers[1:-1], 1):
        share = place / (len(numbers) - 1)
        piece.add_node(number, (first + share * (last - first)).tolist())
    return np.array(numbers, np.int64)


def elements(piece: Piece, row: tuple[int, str]) -> Numbers:
    """Add rows and layers of copies of an element, and return the numbers of all of them.

    Raises:
        ValueError: If that one is not there, there are more elements than nodes, or increments are missing.
    """
    words = [word.strip() for word in row[1].removesuffix(",").split(",")]
    if len(words) > len(DEFAULTS):
        raise refusal(*_said(row, f"at most {len(DEFAULTS)} numbers"))
    words += [""] * (len(DEFAULTS) - len(words))
    given = [word or default for word, default in zip(words, DEFAULTS, strict=True)]
    master, *rest = (whole(word, *row, -LARGEST) for word in given)
    counts, by_node, by_element = rest[::3], rest[1::3], rest[2::3]
    if min(counts) < 1 or any(count > 1 and step == 0 for count, step in zip(counts, by_element, strict=True)):
        raise refusal(*_said(row, "numbers of elements, rows and layers, and an increment of elements for each"))
    if any(count > 1 and not word for count, word in zip(counts[1:], (words[5], words[8]), strict=True)):
        raise refusal(*_said(row, "an increment of nodes for rows and for layers"))
    if (total := counts[0] * counts[1] * counts[2]) > max(1000, 10 * len(piece.rows)):
        raise refusal(*_said(row, f"about as many elements as the {len(piece.rows):,} nodes"))
    places = np.stack(np.unravel_index(np.arange(total), counts[::-1]))[::-1]
    numbers = master + np.array(by_element) @ places
    if numbers.min() < 1 or numbers.max() >= LARGEST or len(np.unique(numbers)) < total:
        raise refusal(*_said(row, "increments that give every element its own number"))
    cells = piece.cells
    if master in cells.left_out:
        cells.left_out.update(numbers.tolist())
        return numbers
    if master not in cells.rows:
        raise refusal(*_said(row, "a first element that is there before"))
    name, kind, own = cells.find(master)
    made = own + (np.array(by_node) @ places)[1:, None]
    cells.add(name, kind, numbers[1:].tolist(), made.ravel().tolist())
    return numbers


def placing(block: Block) -> tuple[Vector | None, Vector | None]:
    """Rotation and shift of an instance, which Abaqus moves first and then rotates about an axis.

    Raises:
        ValueError: If the data lines are others than a translation, and an axis with an angle.
    """
    rows = [reals((number, line.rstrip(", "))) for number, line in block.rows]
    if len(rows) > 2 or any(len(row) > most for row, most in zip(rows, (3, 7), strict=False)):
        raise refusal(block.line, "a translation of an instance, and its axis and angle", block.rows[-1][1])
    if not rows:
        return None, None
    moved = np.array((rows[0] + [0.0] * 3)[:3])
    if len(rows) == 1:
        return np.eye(3), moved
    first, second, angle = np.array(rows[1][:3]), np.array(rows[1][3:6]), np.radians(rows[1][6:])
    if len(angle) != 1 or not np.linalg.norm(second - first):
        raise refusal(*_said(block.rows[1], "two points on the axis, and the angle"))
    x, y, z = (second - first) / np.linalg.norm(second - first)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn = np.eye(3) + np.sin(angle[0]) * cross + (1 - np.cos(angle[0])) * cross @ cross
    return turn, turn @ (moved - first) + first


def _said(row: tuple[int, str], expected: str) -> tuple[int, str, str, str]:
    return row[0], expected, row[1], "mend the line"
