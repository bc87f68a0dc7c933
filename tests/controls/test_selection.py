"""The choice of an interpolation, where the best one is known."""

import pytest
import torch

from pitgeo.controls.selection import best, recipes


@pytest.mark.parametrize("count", [350, 450])
def test_a_polynomial_of_many_terms_is_found(count):
    """A quadratic of 17 numbers has 171 terms: more than half of the samples could tell."""
    random = torch.Generator().manual_seed(0)
    z = torch.randn(count, 17, generator=random, dtype=torch.float64)
    values = (z @ torch.randn(17, 1, generator=random, dtype=torch.float64)).square()
    candidates = [(z, recipe) for recipe in recipes(z, False)]
    number, found = best(candidates, [values - values.mean()], values)
    assert candidates[number][1].degree == 2 and found.error < 1e-4
