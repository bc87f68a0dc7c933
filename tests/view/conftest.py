"""Small models to look at: of meshes in the plane, with numbers of every kind."""

import numpy as np
import pytest

from pitgeo import load
from pitgeo.mesh import write_mesh
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.prediction.test_many import INPUTS, TARGETS, plate
from tests.small_runs import small_run

CHANGES = ['data.meshes.categories=["kind"]', 'scaling.log=["load"]', "data.meshes.test=2", "data.meshes.validation=1"]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The folder of a run on eight plates, two of them to test on; its bounds are calibrated on twelve others."""
    root = tmp_path_factory.mktemp("view")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", plate(number))
    with without_pictures():
        train(small_run(root, "cases/*.vtu", INPUTS, TARGETS, *CHANGES), root / "out")
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
