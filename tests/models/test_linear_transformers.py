"""What GNOT, ONO, OFormer and the Galerkin Transformer do alike; their formulas are tested one by one."""

import pytest
from pydantic import ValidationError

from pitgeo.models import GNOT, ONO, GalerkinTransformer, OFormer
from pitgeo.models.model_options import DataSpec
from pitgeo.models.registry import MODELS
from pitgeo.testing import assert_parameters_used

from .common import check_numbers, check_samples, check_units, learned_error, pointwise_error, sample, smoothing
from .test_galerkin import model as galerkin
from .test_gnot import model as gnot
from .test_oformer import model as oformer
from .test_ono import model as ono

BUILT = {"galerkin": galerkin, "gnot": gnot, "oformer": oformer, "ono": ono}
FREE = ("gnot", "oformer")
"""These have output points anywhere."""
CASES = [*((name, False) for name in BUILT), *((name, True) for name in FREE)]


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize(("name", "is_free"), CASES)
def test_samples_batches_and_orders(name, is_free, dimension):
    check_samples(BUILT[name](dimension), is_free, dimension)


@pytest.mark.parametrize(("name", "is_free"), CASES)
def test_gradients_coinciding_points_and_precisions(name, is_free):
    outputs = 5 if is_free else None
    check_numbers(BUILT[name](), outputs)
    assert_parameters_used(BUILT[name]().train(), sample(outputs=outputs))


@pytest.mark.parametrize("name", BUILT)
def test_units_of_length_do_not_matter(name):
    options = {"trained": 0} if name == "ono" else {}  # else its training has seen one unit
    check_units(lambda unit: BUILT[name](extent=unit, **options))


@pytest.mark.parametrize(
    ("build", "training", "largest"),
    [
        (lambda: GalerkinTransformer(3, 1, 2, width=32, heads=4, layers=2), {"steps": 300}, 0.25),
        (
            lambda: GNOT(3, 1, 2, width=16, heads=2, layers=1),
            {"steps": 250, "outputs": 8, "batch_size": 32, "rate": 1e-2},
            0.3,
        ),
        (
            lambda: OFormer(3, 1, 2, width=16, decoder_width=16, heads=2, layers=1, frequency=0.5, spacing=0.3),
            {"steps": 300, "outputs": 8, "batch_size": 32},
            0.5,
        ),
        (lambda: ONO(3, 1, width=16, heads=2, layers=1, features=4), {"steps": 300, "batch_size": 32}, 0.5),
    ],
    ids=["galerkin", "gnot", "oformer", "ono"],
)
def test_it_learns_to_smooth(build, training, largest):
    assert learned_error(build(), **training) < largest < 0.9 < pointwise_error(smoothing(300, 16, seed=5))


@pytest.mark.parametrize(
    ("name", "options", "has_them"),
    [
        ("galerkin", {}, lambda made: made.blocks[1].attention.heads == 3),
        (
            "gnot",
            {"experts": 2, "expansion": 1},
            lambda made: made.blocks[1].cross_attention.heads == 3 and made.blocks[1].first.first.shape == (2, 12, 12),
        ),
        ("oformer", {"decoder_width": 16}, lambda made: made.attention.heads == 3 and made.decoder_width == 16),
        (
            "ono",
            {"features": 5, "momentum": 0.5},
            lambda made: made.blocks[1].orthogonal.momentum == 0.5 and len(made.blocks[1].orthogonal.strength) == 5,
        ),
    ],
)
def test_options_build_it(name, options, has_them):
    made = MODELS[name](width=12, heads=3, layers=2, **options).build(DataSpec(4, 3, 2, spacing=0.1, extent=5.0))
    assert made.extent == 5 and len(made.blocks) == 2 and has_them(made)
    assert made(sample().apply(lambda value: value.float())).shape == (30, 3)
    assert not MODELS[name]().transform().transforms
    if name != "oformer":
        with pytest.raises(ValidationError, match="divide 'width' = 64"):
            MODELS[name](heads=5)


@pytest.mark.parametrize("name", BUILT)
def test_data_that_do_not_fit_are_refused(name):
    with pytest.raises(ValueError, match="4 input channels"):
        BUILT[name]()(sample(channels=3))
    if name not in FREE:
        with pytest.raises(ValueError, match=r"output points that are the input points.*'oformer'"):
            BUILT[name]()(sample(outputs=4))


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (BUILT, {"layers": 0}, "'layers'"),
        (BUILT, {"heads": 0}, "'heads'"),
        (("galerkin", "gnot", "ono"), {"width": 0}, "'width'"),
        (("galerkin", "gnot", "ono"), {"heads": 3}, "'heads'"),
        (("gnot",), {"experts": 0}, "'experts'"),
        (("gnot",), {"expansion": 0}, "'expansion'"),
        (("oformer",), {"width": 2}, r"'width' to be even and at least 4, two an axis \(got 2\)"),
        (("oformer",), {"decoder_width": 9}, "'decoder_width'"),
        (("oformer",), {"spacing": 0.0}, "'spacing'"),
        (("oformer",), {"frequency": 0.0}, "'frequency'"),
        (("ono",), {"features": 0}, "'features'"),
        (("ono",), {"momentum": 1.0}, "'momentum'"),
    ],
)
def test_bad_options_are_refused(names, options, message):
    for name in names:
        with pytest.raises(ValueError, match=message):
            BUILT[name](**options)
