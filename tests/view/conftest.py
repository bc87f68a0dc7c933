"""Small models to look at: of meshes in the plane, with numbers of every kind."""

import numpy as np
import pytest

from pitgeo import load
from tests.plates import plate, train_on_plates
from tests.prediction.test_many import INPUTS, TARGETS

CHANGES = ['data.meshes.categories=["kind"]', 'scaling.log=["load"]', "data.meshes.test=2", "data.meshes.validation=1"]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The folder of a run on eight plates, two of them to test on; its bounds are calibrated on twelve others."""
    root = tmp_path_factory.mktemp("view")
    train_on_plates(root, INPUTS, TARGETS, *CHANGES)
    predictor = load(root / "out" / "best.ckpt")
    predictor.calibrate([plate(number) for number in range(20, 32)])
    predictor.store_bounds()
    return root


@pytest.fixture
def predictor(run):
    return load(run / "out" / "best.ckpt")


def with_numbers(mesh, **values):
    """A mesh with other numbers."""
    for name, value in values.items():
        mesh = mesh.with_field_data(name, np.atleast_1d(np.asarray(value, float)), "replace")
    return mesh
