"""Search trees in a process that flushes denormal numbers."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from pitgeo.graphs.trees import kd_tree

# Centres of the two triangles of every cell on the faces of a cube: most of a node's coordinates are zero.
PROGRAM = """
import numpy as np, torch
from pitgeo.graphs.trees import kd_tree
torch.set_flush_denormal(True)
line = np.linspace(0, 1, 44)
a, b = (part.ravel() for part in np.meshgrid(line, line + 0.01))
faces = [np.insert(np.stack([a, b], 1), axis, value, 1) for axis in range(3) for value in (0.0, 1.0)]
points = np.concatenate(faces)
tree = kd_tree(points)
assert (tree.query(points)[0] == 0).all()
assert np.multiply(np.array([1e-310]), 1.0)[0] == 0, "denormal numbers are to be flushed again"
"""


def test_a_tree_over_zeros_is_built_where_denormal_numbers_are_flushed() -> None:
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor does not flush denormal numbers")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_is_scipys_tree() -> None:
    points = np.random.default_rng(0).random((50, 2))
    mine, own = kd_tree(points, np.array([1.0, 0.0])), cKDTree(points, boxsize=[1.0, 0.0])
    assert np.array_equal(mine.query(points, 4)[1], own.query(points, 4)[1])


CALLERS = """
import numpy as np, torch
from pitgeo.controls.places import PlacedField
from pitgeo.mesh.pieces import join
from pitgeo.mesh.raw import Raw
torch.set_flush_denormal(True)
line = np.linspace(0, 1, 44)
a, b = (part.ravel() for part in np.meshgrid(line, line + 0.01))
faces = [np.insert(np.stack([a, b], 1), axis, value, 1) for axis in range(3) for value in (0.0, 1.0)]
points = np.unique(np.concatenate(faces), axis=0)
values = torch.from_numpy(points.sum(1, keepdims=True))
assert torch.equal(PlacedField(points, values).at(points), values)
whole = join([("", Raw(points)), ("", Raw(points.copy()))])
assert len(whole.points) == len(points), len(whole.points)
"""


def test_those_who_look_for_neighbours_do_so_by_such_a_tree() -> None:
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor does not flush denormal numbers")
    done = subprocess.run([sys.executable, "-c", CALLERS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
