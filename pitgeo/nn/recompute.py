"""Activations that are computed again in the backward pass, to hold fewer of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

_IS_RECOMPUTED: ContextVar[bool] = ContextVar("pitgeo_is_recomputed", default=False)


def recomputed(stage: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """The result of a stage, of which only the inputs are kept; the backward pass runs the stage again.

    Results and gradients are the same to the last bit, as all of pitgeo's stages give the same twice.

    Args:
        stage: A module or function.
        inputs: What it is called with.

    Example:
        >>> import torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> recomputed(torch.exp, x).sum().backward()
        >>> bool((x.grad == x.exp()).all())
        True
    """
    if torch.compiler.is_compiling():  # the compiler marks what to compute again in contexts of its own
        return cast(Tensor, checkpoint(stage, *inputs, use_reentrant=False))
    return cast(Tensor, checkpoint(stage, *inputs, use_reentrant=False, context_fn=_contexts))


def is_recomputed() -> bool:
    """Whether the code that asks runs inside :func:`recomputed`, which then decides what is kept."""
    return _IS_RECOMPUTED.get()


def _contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    return _marked(), _marked()


@contextmanager
def _marked() -> Iterator[None]:
    token = _IS_RECOMPUTED.set(True)
    try:
        yield
    finally:
        _IS_RECOMPUTED.reset(token)
