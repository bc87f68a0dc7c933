"""Assertions for training: gradients are right, and all parameters are used."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError, gradcheck
from torch_geometric.data import Data

from pitgeo.testing.calls import Layer, arguments, name_of


def assert_gradients(
    layer: Layer, sample: Data, inputs: Sequence[str] | None = None, of: Sequence[str] = ("x", "pos")
) -> None:
    """Check gradients against finite differences, in float64.

    Copies of the layer and of the sample are converted to float64. One random direction is tried for each attribute of
    the sample, and for each parameter of the layer. Neighbourhoods and maxima have kinks: if two neighbours are equally
    far, finite differences are not the gradient.

    Args:
        layer: A layer, a model, or any function of samples.
        sample: A small sample.
        inputs: Names of the sample's attributes that the layer takes, in order; ``None``: ``x``, ``pos`` and
            ``edge_index``, or the sample itself if it is a :class:`~pitgeo.data.PointData`.
        of: Names of the sample's attributes to take gradients of.

    Raises:
        AssertionError: If a gradient is wrong, or differs from one backward pass to the next.

    Example:
        >>> from pitgeo import PositionAttention
        >>> edges = torch.randint(9, (2, 30))
        >>> sample = Data(x=torch.rand(9, 4), pos=torch.rand(9, 2), edge_index=edges)
        >>> assert_gradients(PositionAttention(4, 8), sample)
    """
    double = copy.deepcopy(layer).double() if isinstance(layer, nn.Module) else layer
    sample = _in_double(sample)

    def of_attribute(name: str) -> Callable[[Tensor], Tensor]:
        def function(value: Tensor) -> Tensor:
            changed = copy.copy(sample)
            changed[name] = value
            return double(*arguments(changed, inputs))

        return function

    def of_parameter(name: str) -> Callable[[Tensor], Tensor]:
        def function(value: Tensor) -> Tensor:
            module, parameters = cast(nn.Module, double), {name: value}
            return cast(Tensor, torch.func.functional_call(module, parameters, arguments(sample, inputs)))

        return function

    for name in of:
        if sample[name].numel():
            _check(f"the gradient of {name_of(layer)} in '{name}'", of_attribute(name), sample[name])
    for name, parameter in double.named_parameters() if isinstance(double, nn.Module) else ():
        if parameter.requires_grad:
            _check(f"the gradient of {name_of(layer)} in its parameter '{name}'", of_parameter(name), parameter)


def assert_parameters_used(layer: nn.Module, sample: Data, inputs: Sequence[str] | None = None) -> None:
    """Check that every trainable parameter has a gradient that is not zero.

    Args:
        layer: A layer or a model.
        sample: A sample, or a batch.
        inputs: As for :func:`assert_gradients`.

    Raises:
        AssertionError: If parameters have no gradient or zeros; the message names them.

    Example:
        >>> from pitgeo import PositionAttention
        >>> edges = torch.randint(30, (2, 90))
        >>> sample = Data(x=torch.rand(30, 4), pos=torch.rand(30, 2), edge_index=edges)
        >>> assert_parameters_used(PositionAttention(4, 8), sample)
    """
    module = copy.deepcopy(layer)
    module.zero_grad()
    module(*arguments(sample, inputs)).square().sum().backward()
    unused = [
        name
        for name, parameter in module.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or not bool(parameter.grad.abs().sum() > 0))
    ]
    if unused:
        raise AssertionError(f"Expected {name_of(layer)} to use all its parameters (got no gradient of {unused})")


def _check(what: str, function: Callable[[Tensor], Tensor], value: Tensor) -> None:
    value = value.detach().clone().requires_grad_()
    rounding = 1e-8 * max(1.0, float(function(value).detach().abs().max()))
    try:
        gradcheck(function, (value,), atol=rounding, fast_mode=True, nondet_tol=rounding)
    except GradcheckError as error:
        text = " ".join(str(error).partition("The above quantities")[0].split())
        raise AssertionError(f"Expected {what} to agree with finite differences (got: {text})") from None


def _in_double(sample: Data) -> Data:
    changed = copy.copy(sample)
    for key, value in sample.to_dict().items():
        if isinstance(value, Tensor) and value.is_floating_point():
            changed[key] = value.double()
    return changed
