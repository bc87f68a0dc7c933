"""Reading NACA in the layout of the originals, and refusing what is not it."""

import logging

import numpy as np
import pytest
import torch

from pitgeo.datasets.naca import FILES, GRID, missing, positions, read, total
from pitgeo.datasets.shared_mesh import OwnMeshes, SharedMesh
from pitgeo.models.registry import PiTOptions


def arrays(count=4):
    """C-grids round a plate: a circle about it, closed behind."""
    around = np.linspace(0, 2 * np.pi, GRID[0])[:, None]
    outward = 0.5 + np.linspace(0, 3, GRID[1])
    x = np.broadcast_to(0.5 + outward * np.cos(around), (count, *GRID)).copy()
    y = np.broadcast_to((outward - 0.45) * np.sin(around), (count, *GRID)).copy()
    for part in (x, y):  # the wake: the same points from either side
        part[:, :169:-1, 0] = part[:, :51, 0]
    q = np.random.default_rng(0).random((count, 5, *GRID))
    return {"X": x, "Y": y, "Q": q}


def write(folder, content):
    for name, values in content.items():
        np.save(folder / FILES[name], values)
    return folder


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_and_splits(tmp_path, dtype):
    content = {name: values.astype(dtype) for name, values in arrays().items()}
    folder = write(tmp_path, content)
    train, test = read(folder, "train", 2, "last", others=2), read(folder, "test", 2, "last", others=2)
    assert train.numbers.tolist() == [0, 1] and test.numbers.tolist() == [2, 3] and total(folder) == 4
    assert train.grid == GRID and train.x.shape == (2, 11271, 2)
    assert np.array_equal(test.y[1, :, 0], content["Q"][3, 4].ravel().astype(np.float32))
    assert np.array_equal(train.x[1, :, 1], content["Y"][1].ravel().astype(np.float32))
    with pytest.raises(ValueError, match="training and test together"):
        read(folder, "test", 2, "last", others=3)


def test_the_papers_test_samples_start_at_number_1000(tmp_path, monkeypatch):
    folder = write(tmp_path, arrays())
    with pytest.raises(ValueError, match=r"1001 in .*convention = 'last'"):
        read(folder, "test", 1)
    monkeypatch.setattr("pitgeo.datasets.naca.PAPER_TRAIN", 2)
    assert read(folder, "test", 1, others=2).numbers.tolist() == [2]
    with pytest.raises(ValueError, match="at most 2 training samples"):
        read(folder, "test", 1, others=3)
    with pytest.raises(ValueError, match="at most 2 training samples"):
        read(folder, "train", 3)


def test_positions_are_the_index_square():
    pos = positions()
    assert pos.shape == (11271, 2) and pos[0].tolist() == [0, 0] and pos[-1].tolist() == [1, 1]
    assert pos[1].tolist() == [0, 1 / 50]


def change(name, edit):
    return lambda content: {**content, name: edit(content[name])}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("Q", lambda q: q[:, :4]), "five channels.*got 4"),
        (change("X", lambda x: x[:, :, :50]), r"samples, 221, 51\).*another grid"),
        (change("Q", lambda q: q[:3]), "as many samples"),
        (lambda c: {**c, "X": c["Y"], "Y": c["X"]}, "swapped"),
        (change("Q", lambda q: -q), "sample 0.*another order"),
        (change("Y", lambda y: np.where(np.arange(4)[:, None, None] == 1, np.nan, y)), "sample 1"),
    ],
)
def test_wrong_files_are_refused(tmp_path, edit, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, edit(arrays())), "train", 2, "last")


def test_missing_and_broken_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"NACA_Cylinder_X.*generate\.py"):
        read(tmp_path, "train", 1)
    assert missing(tmp_path) == list(FILES.values())
    write(tmp_path, arrays())
    path = tmp_path / FILES["Q"]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"NACA_Cylinder_Q.*truncated"):
        read(tmp_path, "train", 1)


@pytest.mark.parametrize("options", [{"split": "all"}, {"samples": 0}, {"convention": "first"}])
def test_bad_options_are_refused(tmp_path, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        read(write(tmp_path, arrays()), **{"split": "train", "samples": 1, **options})


def test_a_wake_that_does_not_close_is_logged(tmp_path, caplog):
    content = arrays()
    content["X"][0, 3, 0] += 0.01
    with caplog.at_level(logging.WARNING, "pitgeo"):
        read(write(tmp_path, content), "train", 1)
    assert "Points of the wake" in caplog.text


def test_samples_as_point_clouds_of_their_own(tmp_path):
    fields = read(write(tmp_path, arrays()), "train", 3)
    data = OwnMeshes(SharedMesh(fields, ("place",), ("mach",), physical=True))
    assert len(data) == 3 and data[1].pos.shape == (11271, 2) and data[1].x.shape == (11271, 0)
    assert torch.equal(data[1].pos, torch.from_numpy(fields.x[1]))
    part = data[1:].with_transform(PiTOptions().transform())
    assert len(part) == 2 and part[0].has_graph("encoder") and int(part[0].sample_id) == 1
    assert np.allclose(part.mesh(0).points, fields.x[1]) and sorted(part.mesh(0).point_data) == ["mach"]
    assert part.polygons(0).shape == (11271, 4, 2) and [int(one.sample_id) for one in data] == [0, 1, 2]
