"""Meshes at coordinates of maps, of which single precision holds too few digits."""

import json
import logging
from dataclasses import replace

import numpy as np
import pytest

from pitgeo.data.fields import FieldTable
from pitgeo.data.transforms import Compose, UnitBox
from pitgeo.mesh import Mesh

random = np.random.default_rng(0)
AWAY = np.array([3.4e6, 5.6e6])
NEAR = Mesh(
    random.random((50, 2)),
    (("triangle", random.permutation(48).reshape(-1, 3)),),
    {"heat": random.random(50)},
    {"c": (random.random(16),)},
)
FAR = replace(NEAR, points=NEAR.points + AWAY)


@pytest.mark.parametrize("target", ["heat", "c"])
def test_a_mesh_is_the_same_wherever_it_lies(target, caplog):
    near = FieldTable.infer(NEAR, [], [target], ["coordinates"])
    far = FieldTable.infer(FAR, [], [target], ["coordinates"])
    assert near.offset == () and np.allclose(far.offset, AWAY + 0.5, atol=0.1)
    far = FieldTable.parse(json.loads(json.dumps(far.plain())))  # as a checkpoint keeps it
    samples = [table.mesh_sample(mesh) for table, mesh in ((near, NEAR), (far, FAR))]
    shift = near.positions(NEAR, "point")[0] - far.positions(FAR, "point")[0]
    assert np.abs(samples[0].pos.numpy() - samples[1].pos.numpy() - shift).max() < 1e-6
    assert np.abs(samples[0].x.numpy() - samples[1].x.numpy() - shift).max() < 1e-6
    box = UnitBox.fit(samples[:1])
    assert (box(samples[0]).pos - box(samples[1]).pos).abs().max() < 1e-6
    assert "position" not in caplog.text
    single = FAR.points.astype(np.float32)  # what would become of it without
    assert len(np.unique(single, axis=0)) < len(NEAR.points) / 2


def test_the_offset_is_that_of_training(caplog):
    table = FieldTable.infer(FAR, [], ["heat"])
    beside = replace(FAR, points=FAR.points + 1)
    moved = table.mesh_sample(beside).pos - table.mesh_sample(FAR).pos
    assert (moved - 1).abs().max() < 1e-6 and not caplog.records
    plain = {key: value for key, value in table.plain().items() if key != "offset"}  # of an older checkpoint
    assert FieldTable.parse(plain).offset == ()


@pytest.mark.parametrize("target", ["heat", "c"])
def test_a_mesh_far_from_those_of_training_keeps_its_shape(target):
    table = FieldTable.infer(NEAR, [], [target])
    near, far = table.mesh_sample(NEAR), table.mesh_sample(FAR)
    assert "origin" not in near and np.array_equal(
        near.pos.numpy(), table.positions(NEAR, target_place(target)).astype("f4")
    )
    assert np.allclose(far.origin.numpy(), AWAY + (NEAR.points.max(0) + NEAR.points.min(0)) / 2, atol=1e-9)
    box = Compose((UnitBox.fit([near]),))
    assert (box(near).pos - box(far).pos).abs().max() < 1e-6 and "origin" not in box(far)
    placed = Compose(())(far)  # without a unit box, where it is
    assert np.array_equal(placed.pos.numpy(), table.positions(FAR, target_place(target)).astype("f4"))
    assert "origin" not in placed and "origin" in far


def target_place(target):
    return "point" if target == "heat" else "cell"


def test_a_loss_that_remains_is_named(caplog, tmp_path):
    caplog.set_level(logging.WARNING)
    table = FieldTable.infer(NEAR, [], ["heat"])
    table.warn_of_loss(NEAR)
    table.warn_of_loss(replace(NEAR, points=NEAR.points + 20))  # far, but fine enough
    table.mesh_sample(FAR)
    assert not caplog.records
    table.warn_of_loss(replace(FAR, path=tmp_path / "far.vtu"))
    edges = [np.linalg.norm(np.diff(NEAR.points[row], axis=0), axis=1).min() for row in NEAR.cells[0][1]]
    assert f"{tmp_path / 'far.vtu'}: positions up to 5.6e+06 have steps of 0.5" in caplog.text
    assert f"the shortest edge is {min(edges):.2g}, " in caplog.text and "move the meshes to one place" in caplog.text
    caplog.clear()
    table.warn_of_loss(Mesh(FAR.points, point_data=NEAR.point_data))
    assert "the mesh: positions up to" in caplog.text
    with pytest.raises(ValueError, match="Expected an 'offset' of 2 numbers, or none"):
        replace(table, offset=(1.0,))
