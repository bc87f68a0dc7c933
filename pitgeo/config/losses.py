"""The losses by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple


class Loss(NamedTuple):
    """What the error of a sample and channel is, and what it is divided by.

    Args:
        norm: The norm of the error.
        by_variation: Whether it is divided by the channel's variation on the training set
            (:mod:`pitgeo.measures.reference`), in place of the norm of the target itself. That is a root mean square,
            so the norm must be 2. It is one number a target channel, so there are no windows of a series.
        is_huber: Whether it is the mean of Huber's function of the scaled error
            (:func:`pitgeo.measures.relative_error.huber`), divided by nothing; there are no windows of a series.
    """

    norm: Literal[1, 2]
    by_variation: bool = False
    is_huber: bool = False

    @property
    def has_windows(self) -> bool:
        """Whether it can be taken of windows of a series."""
        return not (self.by_variation or self.is_huber)


LOSSES = {
    "relative_l2": Loss(2),
    "relative_l1": Loss(1),
    "variation_l2": Loss(2, by_variation=True),
    "huber": Loss(1, is_huber=True),
}
"""Losses by their names; the validation error, which decides which checkpoint is ``best.ckpt``, is the same."""

if TYPE_CHECKING:
    LossName = str
else:
    LossName = Literal[tuple(LOSSES)]
