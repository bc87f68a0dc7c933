"""The length scales of attention heads, kept positive."""

from __future__ import annotations

import math
from typing import Literal, cast

import torch
from torch import Tensor, nn

Positivity = Literal["square", "tan", "sine_tan"]
POSITIVITY = ("square", "tan", "sine_tan")

_SINE = math.pi / 4 * (1 - 1e-7)
_TAN_LIMIT = math.pi / 2 * (1 - 1e-6)  # below pi/2 in float32 too: tan stays positive, at most 6.4e5


class LengthScale(nn.Module):
    r"""One :math:`\lambda > 0` per head; the head looks about :math:`\sqrt{c / \lambda}` far.

    .. math::
        \lambda = \ell^2, \qquad
        \lambda = \tan \ell, \; 0 \le \ell < \pi / 2, \qquad
        \lambda = \tan\left(\tfrac{\pi}{4} (1 - 10^{-7}) (1 + \sin \ell)\right)

    for ``"square"``, ``"tan"`` and ``"sine_tan"``, with :math:`\ell` the trained parameter ``raw``. The ``"tan"`` form
    is projected: the forward pass uses the nearest value inside the interval, and :func:`project_`, called after each
    optimiser step, moves the parameter into the interval. Weights are :math:`\exp(-\lambda |p - q|^2 / c)`, with
    :math:`c` the metric's divisor.

    Args:
        heads: Number of length scales.
        positivity: The form that keeps :math:`\lambda` positive.
        lengths: Smallest and largest initial :math:`\sqrt{c / \lambda}`; heads lie between them at equal steps of the
            logarithm (a single head at the geometric mean). ``None`` draws :math:`\ell` from U[0, 1], for a unit box.
        divisor: The metric's divisor of squared distances, :math:`c`.

    Shapes:
        - **output** ``[heads]``.

    Raises:
        ValueError: If ``heads`` is not positive, the form is unknown, or lengths are not positive and ordered.

    Example:
        >>> LengthScale(2, "tan", lengths=(0.1, 1.0)).lengths().tolist()
        [0.10..., 1.0...]

    Reference:
        Chen and Wu, ICML 2024, appendix C.1; the third form is that of the authors' later code.
    """

    def __init__(
        self,
        heads: int,
        positivity: Positivity = "square",
        lengths: tuple[float, float] | None = None,
        divisor: float = 1.0,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"Expected 'heads' to be at least 1 (got {heads})")
        if positivity not in POSITIVITY:
            raise ValueError(f"Expected 'positivity' to be one of {POSITIVITY} (got {positivity!r})")
        if lengths is not None and not 0 < lengths[0] <= lengths[1] < math.inf:
            raise ValueError(f"Expected 'lengths' to be positive, the smaller first (got {lengths})")
        self.positivity = positivity
        self.initial_lengths = lengths
        self.divisor = divisor
        self.raw = nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set or draw the initial values again."""
        with torch.no_grad():
            if self.initial_lengths is None:
                self.raw.uniform_(0, 1)
                return
            low, high = (math.log(length) for length in self.initial_lengths)
            steps = torch.linspace(0, 1, len(self.raw)) if len(self.raw) > 1 else torch.tensor([0.5])
            scale = self.divisor * torch.exp(-2 * (low + (high - low) * steps.double()))
            self.raw.copy_(self._inverse(scale))

    def _inverse(self, scale: Tensor) -> Tensor:
        if self.positivity == "square":
            return scale.sqrt()
        if self.positivity == "tan":
            return scale.atan().clamp(max=_TAN_LIMIT)
        return (scale.atan() / _SINE - 1).clamp(-1, 1).asin()

    def forward(self) -> Tensor:
        """The positive ``lambda`` of every head, one over a length squared; :meth:`lengths` gives lengths."""
        if self.positivity == "square":
            return self.raw.square()
        if self.positivity == "tan":
            inside = self.raw.detach().clamp(0.0, _TAN_LIMIT)
            return torch.tan(inside + (self.raw - self.raw.detach()))  # the gradient of the nearest point inside
        return torch.tan(_SINE * (1 + torch.sin(self.raw)))

    def project_(self) -> None:
        """Move the parameter of the ``"tan"`` form into [0, pi/2), in place; the other forms need none."""
        if self.positivity == "tan":
            with torch.no_grad():
                self.raw.clamp_(0.0, _TAN_LIMIT)

    @torch.no_grad()
    def lengths(self) -> Tensor:
        r"""How far each head looks, :math:`\sqrt{c / \lambda}` in the units of the positions, ``[heads]``."""
        return math.sqrt(self.divisor) * cast(Tensor, self()).rsqrt()

    def to_lengths(self, scale: Tensor) -> Tensor:
        r"""The lengths of given :math:`\lambda`, with a gradient; finite also where :math:`\lambda` is 0."""
        return math.sqrt(self.divisor) * scale.clamp(min=torch.finfo(scale.dtype).tiny).rsqrt()

    def extra_repr(self) -> str:
        """What ``repr`` shows of the layer."""
        return f"heads={len(self.raw)}, positivity={self.positivity!r}"


def project_(module: nn.Module) -> None:
    """Project every length scale inside a module; call it after each optimiser step.

    Example:
        >>> layer = LengthScale(1, "tan")
        >>> _ = layer.raw.data.fill_(-3.0)
        >>> project_(layer)
        >>> layer.raw.item()
        0.0
    """
    for part in module.modules():
        if isinstance(part, LengthScale):
            part.project_()


def length_table(module: nn.Module) -> list[tuple[str, Tensor]]:
    r"""Name and length :math:`\sqrt{c / \lambda}` per head of every position-attention layer inside a module.

    Example:
        >>> length_table(nn.Sequential(LengthScale(2, lengths=(0.5, 2.0))))
        [('0', tensor([0.5000, 2.0000]))]
    """
    return [
        (name.removesuffix("scale").rstrip("."), part.lengths())
        for name, part in module.named_modules()
        if isinstance(part, LengthScale)
    ]
