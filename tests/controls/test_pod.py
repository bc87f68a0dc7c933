"""POD with interpolated coefficients, against what is known in closed form."""

import pytest
import torch

from pitgeo.controls import PODMap
from pitgeo.controls.kernels import KERNELS, Recipe, kernel_values

GRID = torch.linspace(0, 1, 60)


def numbers(count, inputs, low=0.0, high=1.0):
    return low + (high - low) * torch.rand(count, inputs)


def constant(values):
    """Numbers of the mesh, as input channels."""
    return values[:, None].expand(-1, len(GRID), -1)


def error(map, x, y):
    return float(((map(x) - y).norm(dim=1) / y.norm(dim=1)).mean())


def linear(z):
    """Fields that are linear in the inputs."""
    modes = torch.stack([torch.sin((k + 1) * 3 * GRID) + 0.3 * k for k in range(z.shape[1])])
    return torch.stack([z @ modes + 1.0, 2.0 - z @ modes.flip(1)], -1)


@pytest.mark.parametrize("interpolation", ["rbf", "gp", "auto"])
def test_fields_that_are_linear_in_the_inputs_are_exact(interpolation):
    z = numbers(30, 3)
    map = PODMap(3, interpolation=interpolation)
    map.fit(constant(z[:20]), linear(z[:20]))
    assert error(map, constant(z[20:]), linear(z[20:])) < 2e-6
    assert map.ranks.tolist() == [3, 3]
    assert (map.left_out(constant(z[:20]), linear(z[:20])) - linear(z[:20])).abs().max() < 1e-5


def test_outside_of_the_training_samples_too():
    z = numbers(20, 2)
    map = PODMap(2, interpolation="rbf")
    map.fit(constant(z), linear(z))
    far = torch.tensor([[3.0, -2.0]])
    assert error(map, constant(far), linear(far)) < 1e-5


def test_logarithms_are_taken_where_they_help():
    z = 10 ** numbers(40, 1, -2, 2)
    fields = torch.log(z) * torch.cos(2 * GRID) + 3.0
    fields = fields.unsqueeze(-1)
    tried = {how: PODMap(1, interpolation="rbf", log=how) for how in ("none", "all", "auto")}
    for map in tried.values():
        map.fit(constant(z[:20]), fields[:20])
    errors = {how: error(map, constant(z[20:]), fields[20:]) for how, map in tried.items()}
    assert errors["all"] < 1e-6 < 1e-4 < errors["none"]
    assert tried["auto"].inputs.is_log.tolist() == [True] and errors["auto"] == errors["all"]


def test_numbers_that_are_not_all_positive_have_no_logarithm():
    z = torch.cat([10 ** numbers(30, 1, -2, 2), numbers(30, 1, -1, 1)], 1)
    map = PODMap(2, interpolation="rbf", log="all")
    map.fit(constant(z), (z[:, :1].log() + z[:, 1:] * GRID).unsqueeze(-1))
    assert map.inputs.is_log.tolist() == [True, False]
    with pytest.raises(ValueError, match=r"Expected positive values of the inputs whose logarithms .*\(got -1\)"):
        map(constant(torch.tensor([[-1.0, 0.0]])))


def test_a_smooth_dependence_converges_with_the_samples():
    def fields(z):
        return torch.exp(-8 * (GRID - z) ** 2).unsqueeze(-1)

    errors = []
    for count in (6, 12, 24):
        z, new = torch.linspace(0, 1, count)[:, None], torch.linspace(0.03, 0.96, 17)[:, None]
        map = PODMap(1, interpolation="rbf")
        map.fit(constant(z), fields(z))
        errors.append(error(map, constant(new), fields(new)))
    assert errors[0] > 30 * errors[1] and errors[1] < 1e-5 and errors[2] < 1e-6


def test_a_gaussian_process_finds_the_input_that_matters():
    z = numbers(60, 4, -1, 1)
    fields = (torch.sin(4 * z[:, :1]) * GRID + 2.0).unsqueeze(-1)
    maps = {how: PODMap(4, interpolation=how) for how in ("rbf", "gp")}
    for map in maps.values():
        map.fit(constant(z[:40]), fields[:40])
    lengths = maps["gp"].lengths
    assert lengths[0] * 5 < lengths[1:].min()
    errors = {how: error(map, constant(z[40:]), fields[40:]) for how, map in maps.items()}
    assert errors["gp"] < errors["rbf"] / 10


def test_fields_to_fields_that_are_linear_are_exact():
    torch.manual_seed(1)
    modes, weights = torch.randn(6, len(GRID)), torch.randn(len(GRID), len(GRID)) / len(GRID)
    x = torch.randn(50, 6) @ modes
    y = (x @ weights + 1.0).unsqueeze(-1)
    map = PODMap(1)
    map.fit(x[:30].unsqueeze(-1), y[:30])
    assert map.inputs.has_fields and error(map, x[30:].unsqueeze(-1), y[30:]) < 1e-5


def test_numbers_beside_fields():
    torch.manual_seed(1)
    x = torch.stack([torch.randn(60, 3) @ torch.randn(3, len(GRID)), torch.rand(60, 1).expand(-1, len(GRID))], -1)
    y = x[..., :1] + 2 * x[..., 1:] + 1.0
    map = PODMap(2)
    map.fit(x[:40], y[:40])
    assert error(map, x[40:], y[40:]) < 1e-5


def test_noise_is_not_interpolated():
    z = numbers(80, 1)
    clean = (z * GRID + 1.0).unsqueeze(-1)
    map = PODMap(1)
    map.fit(constant(z[:40]), clean[:40] + 0.1 * torch.randn_like(clean[:40]))
    assert error(map, constant(z[40:]), clean[40:]) < 0.02 and map.ranks.tolist() == [1]


def test_a_rank_that_is_asked_for():
    z = numbers(30, 3)
    map = PODMap(3, rank=2, interpolation="rbf")
    map.fit(constant(z), linear(z))
    assert map.ranks.tolist() == [2, 2] and map.basis.shape == (len(GRID), 4)


def test_what_left_out_samples_are_off_by_is_what_new_ones_are():
    def fields(z):
        return (torch.sin(3 * z[:, :1] + GRID) * torch.cos(5 * z[:, 1:]) + 2).unsqueeze(-1)

    z = numbers(260, 2, -1, 1)
    map = PODMap(2)
    map.fit(constant(z[:60]), fields(z[:60]))
    left = map.left_out(constant(z[:60]), fields(z[:60]))
    inside = float(((left - fields(z[:60])).norm(dim=1) / fields(z[:60]).norm(dim=1)).mean())
    outside = error(map, constant(z[60:]), fields(z[60:]))
    assert 0.2 < inside / outside < 5 and error(map, constant(z[:60]), fields(z[:60])) < inside / 5
    assert float(map.error) == pytest.approx(inside, rel=1e-3)


def test_what_was_fitted_is_in_the_state():
    z = numbers(20, 2)
    map, other = PODMap(2), PODMap(2)
    map.fit(constant(z), linear(z))
    other.load_state_dict(map.state_dict())
    new = constant(numbers(5, 2))
    assert torch.equal(map(new), other(new)) and other.describe() == map.describe()


def test_the_same_samples_give_the_same_numbers():
    z = numbers(20, 2)
    found = []
    for _ in range(2):
        map = PODMap(2)
        map.fit(constant(z), linear(z))
        found.append(map(constant(z[:3])))
    assert torch.equal(*found)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_few_samples_give_numbers_or_a_message(count):
    z = numbers(count, 2)
    map = PODMap(2)
    if count == 1:
        with pytest.raises(ValueError, match=r"Expected inputs that tell samples apart"):
            map.fit(constant(z), linear(z))
        return
    map.fit(constant(z), linear(z))
    assert map(constant(z)).isfinite().all()


def test_equal_inputs_with_other_fields_are_averaged():
    z = numbers(10, 1).repeat(2, 1)
    y = linear(z)
    y[:10] += 0.1
    map = PODMap(1)
    map.fit(constant(z), y)
    assert error(map, constant(z[:10]), y[:10] - 0.05) < 0.01


def test_inputs_that_never_differ_are_refused_when_they_do():
    z = torch.cat([numbers(20, 1), torch.full((20, 1), 7.0)], 1)
    x = torch.cat([constant(z), GRID.expand(20, -1).unsqueeze(-1)], -1)
    map = PODMap(3)
    map.fit(x, linear(z[:, :1]))
    assert map(x[:2]).shape == (2, 60, 2)
    for channel in (1, 2):
        other = x[:1].clone()
        other[..., channel] += 1.0
        with pytest.raises(ValueError, match=r"Expected those inputs to stay as they are .* train on samples"):
            map(other)
    other = x[:1].clone()
    other[0, 3, 0] += 0.5
    with pytest.raises(ValueError, match=r"Expected the same number at all points of a mesh"):
        map(other)


def test_samples_that_nothing_tells_apart_are_refused():
    x, y = torch.ones(5, 60, 1), torch.rand(5, 60, 1)
    with pytest.raises(ValueError, match=r"Expected inputs that tell samples apart with a POD"):
        PODMap(1).fit(x, y)
    with pytest.raises(ValueError, match=r"Expected a POD that was fitted"):
        PODMap(1)(x)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_positive_on_what_polynomials_leave(kernel):
    z = torch.rand(12, 2, dtype=torch.float64)
    recipe = Recipe(kernel, 1, 0.0)
    tail = recipe.rows(z, z)[:, 12:]
    null = torch.linalg.qr(tail, mode="complete").Q[:, 3:]
    eigenvalues = torch.linalg.eigvalsh(null.t() @ kernel_values(kernel, z, z) @ null)
    assert eigenvalues.min() > -1e-10
    if kernel not in ("none", "linear"):
        assert eigenvalues.min() > 0


def test_samples_at_rest_do_not_decide():
    """One field is next to zero throughout: its error is not relative to its own size."""
    z = numbers(24, 1, 0.5, 1.0)
    z[3] = 0.0
    y = (z * torch.sin(3 * GRID) + 0.02 * torch.randn(24, len(GRID))).unsqueeze(-1)
    y[3] = 0.0
    map = PODMap(1)
    map.fit(constant(z), y)
    assert float(map.error) < 0.1 and map.ranks.tolist() == [1]


def test_a_target_that_is_zero_in_all_samples_is_predicted_so():
    z = numbers(20, 1)
    y = torch.cat([linear(z), torch.zeros(20, len(GRID), 1)], -1)
    map = PODMap(1)
    map.fit(constant(z), y)
    found = map(constant(z[:3]))
    assert not found[..., 2].any() and torch.allclose(found[..., :2], y[:3, :, :2], atol=1e-5)
