"""Training options that a model must support: applied to it, or refused."""

from __future__ import annotations

from torch import nn

from pitgeo.config.config import TrainingConfig
from pitgeo.nn import Rollout


def prepare_model(model: nn.Module, training: TrainingConfig) -> None:
    """Tell a model how it is trained, or refuse an option that it does not have.

    ``query_points`` needs a model with ``has_local_decoder`` true, whose ``forward(data, rows)`` gives the values at
    some output points alone; ``checkpoint_activations`` one with an attribute of that name, in itself or a part of it;
    ``window`` a roll-out.

    Raises:
        ValueError: If the model cannot do what is asked for; the message names the option.
    """
    name = type(getattr(model, "model", model)).__name__  # of a roll-out, the model of a step
    if training.query_points is not None and not getattr(model, "has_local_decoder", False):
        raise ValueError(
            f"Expected a model that can be asked for some output points alone with training.query_points = "
            f"{training.query_points} (got a {name}, which gives all output points at once); leave the option out, or "
            f"take 'deeponet' or 'oformer', or 'pit' with position-attention in a decoder of kind 'layer' and no "
            f"output_quantile"
        )
    parts = [part for part in model.modules() if hasattr(part, "checkpoint_activations")]
    for part in parts:
        setattr(part, "checkpoint_activations", training.checkpoint_activations)  # noqa: B010
    if training.checkpoint_activations and not parts:
        raise ValueError(
            f"Expected a model that can compute activations again with training.checkpoint_activations (got a {name}); "
            f"leave the option out, or take the model 'pit'"
        )
    if training.window and not isinstance(model, Rollout):
        raise ValueError(
            f"Expected a model that is rolled out, a pitgeo.nn.Rollout, with training.window = {training.window} "
            f"(got a {name}); leave the option out"
        )
