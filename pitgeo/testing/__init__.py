"""Assertions for layers, models and data sets of one's own that work together with pitgeo."""

from pitgeo.testing.datasets import assert_dataset
from pitgeo.testing.gradients import assert_gradients, assert_parameters_used
from pitgeo.testing.layers import (
    assert_batch_independent,
    assert_linear_in_values,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)

__all__ = [
    "assert_batch_independent",
    "assert_dataset",
    "assert_gradients",
    "assert_linear_in_values",
    "assert_parameters_used",
    "assert_permutation_equivariant",
    "assert_rigid_motion_invariant",
]
