"""Linear systems of 4 x 4 blocks: incomplete factors and GMRES.

Everything is summed in a fixed order, whatever the number of threads, so that results can be repeated bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from naca_flux import compiled
from naca_mesh import Floats, Ints


@compiled
def _invert(block: Floats) -> None:
    """Invert a 4 x 4 matrix in place, by Gauss and Jordan with row pivots."""
    swap = np.empty(4, np.int64)
    for k in range(4):
        pivot = k
        for i in range(k + 1, 4):
            if abs(block[i, k]) > abs(block[pivot, k]):
                pivot = i
        swap[k] = pivot
        for j in range(4):
            block[k, j], block[pivot, j] = block[pivot, j], block[k, j]
        scale = 1 / block[k, k]
        block[k, k] = 1.0
        for j in range(4):
            block[k, j] *= scale
        for i in range(4):
            if i != k:
                factor = block[i, k]
                block[i, k] = 0.0
                for j in range(4):
                    block[i, j] -= factor * block[k, j]
    for k in range(3, -1, -1):
        for i in range(4):
            block[i, k], block[i, swap[k]] = block[i, swap[k]], block[i, k]


@compiled
def factorise(start: Ints, column: Ints, diagonal: Ints, blocks: Floats) -> None:
    """Incomplete block LU factors without fill-in, in place; diagonal blocks come out inverted.

    Args:
        start: Where rows begin in ``column``, ``[N + 1]``.
        column: Columns of the blocks, rising in each row.
        diagonal: Places of the diagonal blocks, ``[N]``.
        blocks: The matrix, ``[len(column), 4, 4]``.
    """
    count = len(diagonal)
    place = np.full(count, -1)
    product = np.empty((4, 4))
    for row in range(count):
        for p in range(start[row], start[row + 1]):
            place[column[p]] = p
        for p in range(start[row], diagonal[row]):
            above = column[p]
            _multiply(blocks[p], blocks[diagonal[above]], product)
            blocks[p] = product
            for q in range(diagonal[above] + 1, start[above + 1]):
                target = place[column[q]]
                if target >= 0:
                    _multiply(blocks[p], blocks[q], product)
                    for i in range(4):
                        for j in range(4):
                            blocks[target, i, j] -= product[i, j]
        _invert(blocks[diagonal[row]])
        for p in range(start[row], start[row + 1]):
            place[column[p]] = -1


@compiled
def _multiply(one: Floats, two: Floats, out: Floats) -> None:
    for i in range(4):
        for j in range(4):
            out[i, j] = one[i, 0] * two[0, j] + one[i, 1] * two[1, j] + one[i, 2] * two[2, j] + one[i, 3] * two[3, j]


@compiled
def substitute(start: Ints, column: Ints, diagonal: Ints, blocks: Floats, vector: Floats) -> None:
    """Solve with the factors of :func:`factorise`; ``vector [N, 4]`` is replaced by the solution."""
    count = len(diagonal)
    sums = np.empty(4)
    for row in range(count):
        for p in range(start[row], diagonal[row]):
            for i in range(4):
                for j in range(4):
                    vector[row, i] -= blocks[p, i, j] * vector[column[p], j]
    for row in range(count - 1, -1, -1):
        for p in range(diagonal[row] + 1, start[row + 1]):
            for i in range(4):
                for j in range(4):
                    vector[row, i] -= blocks[p, i, j] * vector[column[p], j]
        for i in range(4):
            sums[i] = 0.0
            for j in range(4):
                sums[i] += blocks[diagonal[row], i, j] * vector[row, j]
        for i in range(4):
            vector[row, i] = sums[i]


@compiled
def _dot(one: Floats, two: Floats) -> float:
    """Inner product, eight sums side by side."""
    sums = np.zeros(8)
    whole = len(one) // 8 * 8
    for k in range(0, whole, 8):
        for lane in range(8):
            sums[lane] += one[k + lane] * two[k + lane]
    total = 0.0
    for k in range(whole, len(one)):
        total += one[k] * two[k]
    result: float = total + sums.sum()
    return result


@compiled
def _orthogonalise(basis: Floats, count: int, vector: Floats, out: Floats) -> None:
    """Modified Gram-Schmidt: take off ``vector`` its parts along ``basis[:count]``, and write them to ``out``."""
    for row in range(count):
        part = _dot(basis[row], vector)
        out[row] = part
        for k in range(len(vector)):
            vector[k] -= part * basis[row, k]
    out[count] = np.sqrt(_dot(vector, vector))


def norm(vector: Floats) -> float:
    """Euclidean norm of all entries."""
    flat = vector.reshape(-1)
    return float(np.sqrt(_dot(flat, flat)))


def gmres(apply: Callable[[Floats], Floats], right: Floats, tolerance: float, steps: int) -> tuple[Floats, int]:
    """Generalised minimal residuals, without restart.

    Args:
        apply: Multiplies a vector by the matrix.
        right: Right-hand side, of any shape.
        tolerance: Stop when the residual is this part of the right-hand side.
        steps: Stop after as many products.

    Returns:
        The solution, shaped as ``right``, and the number of products.
    """
    first = norm(right)
    if first == 0 or not np.isfinite(first):
        return np.zeros_like(right), 0
    basis = np.empty((steps + 1, right.size))
    basis[0] = right.reshape(-1) / first
    triangle = np.zeros((steps + 1, steps))  # the Hessenberg matrix, rotated
    rotations = np.zeros((steps, 2))
    rest = np.zeros(steps + 1)
    rest[0] = first
    count = 0
    while count < steps and abs(rest[count]) > tolerance * first:
        vector = apply(basis[count].reshape(right.shape)).reshape(-1)
        column = triangle[:, count]
        _orthogonalise(basis, count + 1, vector, column)
        length = column[count + 1]
        if length > 0:
            basis[count + 1] = vector / length
        for k in range(count):
            c, s = rotations[k]
            column[k], column[k + 1] = c * column[k] + s * column[k + 1], c * column[k + 1] - s * column[k]
        radius = float(np.hypot(column[count], length))
        if radius == 0 or not np.isfinite(radius):
            break
        c, s = column[count] / radius, length / radius
        rotations[count] = c, s
        column[count], column[count + 1] = radius, 0.0
        rest[count], rest[count + 1] = c * rest[count], -s * rest[count]
        count += 1
    weights = np.zeros(count)
    for k in range(count - 1, -1, -1):
        weights[k] = (rest[k] - triangle[k, k + 1 : count] @ weights[k + 1 :]) / triangle[k, k]
    result = np.zeros(right.size)
    for weight, vector in zip(weights, basis, strict=False):
        result += weight * vector
    return result.reshape(right.shape), count
