"""Stages that run again in the backward pass, so that their activations take no memory."""

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
    """The result of a stage that keeps only its inputs; the backward pass runs the stage again.

    Results and gradients are bit-identical, because pitgeo's stages are deterministic.

    Args:
        stage: A module or function.
        inputs: The arguments of the stage.

    Example:
        >>> import torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> recomputed(torch.exp, x).sum().backward()
        >>> bool((x.grad == x.exp()).all())
        True
    """
    if torch.compiler.is_compiling():  # the compiler uses contexts of its own
        return cast(Tensor, checkpoint(stage, *inputs, use_reentrant=False))
    return cast(Tensor, checkpoint(stage, *inputs, use_reentrant=False, context_fn=_contexts))


def is_recomputed() -> bool:
    """Whether the caller runs inside :func:`recomputed`, which decides what is kept."""
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
