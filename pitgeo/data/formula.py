"""A formula of numbers as text, ``"norm(traction) * length / young"``; it is parsed, never run as Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LONGEST = 500
"""Most characters of a formula."""

_OPERATORS: dict[type[ast.operator], Callable[[Tensor, Tensor], Tensor]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def norm(vector: Tensor) -> Tensor:
    """Length ``[...]`` of vectors ``[..., n]``."""
    size: Tensor = torch.linalg.vector_norm(vector, dim=-1)
    return size


def von_mises(stress: Tensor) -> Tensor:
    r"""Von Mises stress ``[...]`` of stresses ``[..., 6]``, xx, yy, zz, xy, yz, xz.

    .. math::
        \sqrt{\tfrac{1}{2} \left[(s_{xx} - s_{yy})^2 + (s_{yy} - s_{zz})^2 + (s_{zz} - s_{xx})^2\right] + 3 (s_{xy}^2 +
        s_{yz}^2 + s_{xz}^2)}

    The derivative of a stress without shear is zero.
    """
    xx, yy, zz = stress[..., 0], stress[..., 1], stress[..., 2]
    parts = [(one - two) / math.sqrt(2) for one, two in ((xx, yy), (yy, zz), (zz, xx))]
    return norm(torch.cat([torch.stack(parts, -1), math.sqrt(3) * stress[..., 3:]], -1))


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"norm": norm, "von_mises": von_mises}


@dataclass(frozen=True)
class Formula:
    """A formula of named numbers: ``+ - * / **``, parentheses, numeric constants, and functions of a vector or tensor.

    The functions are ``norm`` and ``von_mises``, the latter of a stress of six components xx, yy, zz, xy, yz, xz.
    A name that is no word is put in quotes: ``"'load 2' / area"``.

    Args:
        text: The formula.

    Raises:
        ValueError: If the text is anything else.

    Example:
        >>> import torch
        >>> formula = Formula("norm(traction) / (2 * young)")
        >>> sorted(formula.names)
        ['traction', 'young']
        >>> formula({"traction": torch.tensor([[3.0, 4.0]]), "young": torch.tensor([[10.0]])})
        tensor([0.2500])
    """

    text: str

    def __post_init__(self) -> None:
        for _ in self._names(self._tree):
            pass

    @property
    def names(self) -> set[str]:
        """The names of the numbers."""
        return {name for name, _ in self._names(self._tree)}

    @property
    def scalars(self) -> set[str]:
        """Those of the names that stand outside of functions, and must be single numbers."""
        return {name for name, function in self._names(self._tree) if not function}

    @property
    def calls(self) -> set[tuple[str, str]]:
        """The functions and what they are of."""
        return {(function, name) for name, function in self._names(self._tree) if function}

    def __call__(self, numbers: Mapping[str, Tensor]) -> Tensor:
        """The value of the formula.

        Args:
            numbers: For every name its components ``[..., n]``, one for a single number; at least one name.

        Shapes:
            - **output** ``[...]``
        """
        return self._value(self._tree, numbers)

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            if len(self.text) > LONGEST:
                raise ValueError(f"more than {LONGEST} characters")
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "too many parentheses"
            raise self._error(f"{reason}, in {self.text[:LONGEST]!r}") from None

    def _names(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """The names, and the function that is taken of each, if any; checks all parts."""
        if (name := _name(node)) is not None:
            yield name, ""
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            yield from self._names(node.left)
            yield from self._names(node.right)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            yield from self._names(node.operand)
        elif isinstance(node, ast.Call):
            function = node.func.id if isinstance(node.func, ast.Name) else ""
            if function not in _FUNCTIONS or node.keywords or len(node.args) != 1:
                raise self._error(f"{ast.unparse(node)!r} in {self.text!r}")
            if (name := _name(node.args[0])) is None:
                raise self._error(f"{ast.unparse(node)!r} in {self.text!r}, not the {function} of a name")
            yield name, function
        elif _constant(node) is None:
            raise self._error(f"{ast.unparse(node)!r} in {self.text!r}")

    def _value(self, node: ast.expr, numbers: Mapping[str, Tensor]) -> Tensor:
        if (name := _name(node)) is not None:
            return numbers[name].squeeze(-1)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, numbers), self._value(node.right, numbers)
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, numbers)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Call):
            function = node.func.id if isinstance(node.func, ast.Name) else ""
            return _FUNCTIONS[function](numbers[_name(node.args[0]) or ""])
        some = next(iter(numbers.values()))
        return some.new_full(some.shape[:-1], _constant(node) or 0.0)

    @staticmethod
    def _error(got: str) -> ValueError:
        return ValueError(
            f"Expected a formula of names of numbers, constants, + - * / **, parentheses, norm(name) and "
            f"von_mises(name) (got {got})"
        )


def _name(node: ast.expr) -> str | None:
    """The name that a part is, as a word or in quotes."""
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _constant(node: ast.expr) -> float | None:
    """The finite number that a part is."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return None
    try:
        value = float(node.value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
