"""A folder of mesh files as a data set: what is read, kept, shared and refused."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh
from pitgeo.datasets.folder import MeshOptions, MeshSamples, cache
from pitgeo.datasets.folder.series import SeriesSamples
from pitgeo.datasets.folder.shared import SharedMeshSamples
from pitgeo.mesh import read_mesh, write_mesh, write_series
from pitgeo.mesh.named_files import named_files
from pitgeo.system import processes
from pitgeo.testing import assert_dataset

from .conftest import small_mesh

PREPARE = Compose((LatentMesh("farthest", number=5), AttentionGraphs(0.3, 0.5)))


@pytest.fixture
def options(folder):
    def make(**changes):
        given = {
            "files": str(folder / "*.vtu"),
            "inputs": ("load", "material"),
            "targets": ("u", "peak"),
            "categories": ("material",),
            "geometry": (),
            "cache": str(folder.parent / "cache"),
        }
        return MeshOptions(**{**given, **changes})

    return make


def test_samples_are_what_the_files_hold(options, folder):
    made = options(geometry=("boundary_distance",))
    train, validation = made.training_parts()
    test = made.test_samples()
    assert made.counts() == (7, 1, 2) and [len(part) for part in (train, validation, test)] == [7, 1, 2]
    table = made.table(train[0])
    assert table.input_labels == ("load", "material=4", "material=7", "boundary_distance")
    for part in (train, validation, test):
        assert isinstance(part, MeshSamples)
        for number, sample in enumerate(part):
            mesh = part.mesh(number)
            assert mesh.path == folder / part.name(number).rpartition("/")[2]
            load = float(mesh.field_data["load"][0])
            assert np.allclose(sample.pos, mesh.points) and np.allclose(sample.x[:, 0], load)
            assert torch.equal(sample.x[:, 1] + sample.x[:, 2], torch.ones(len(mesh.points)))
            assert np.array_equal(sample.x[:, 2], mesh.points[:, 0] > 0.5)
            assert np.allclose(sample.y[:, 0], mesh.point_data["u"]) and np.allclose(sample.y[:, 1], 2 * load)
    assert sorted(int(s.sample_id) for part in (train, validation, test) for s in part) == list(range(10))
    assert_dataset(train)
    assert train.ranges()[0][0] >= 1.0 and train.ranges()[0][1] <= 1.9


def test_what_was_read_is_read_no_more_unless_it_changed(options, folder, monkeypatch):
    made = options()
    first = made.training_parts()[0].with_transform(PREPARE)
    calls = []
    monkeypatch.setattr(cache, "read", lambda path: calls.append(path.name) or read_mesh(path))
    again = MeshOptions(**made.model_dump())
    second = again.training_parts()[0].with_transform(PREPARE)
    assert calls == [] and all(
        torch.equal(a.encoder_index, b.encoder_index) for a, b in zip(first, second, strict=True)
    )
    shutil.copy(folder / "case_0.vtu", folder / "case_00.vtu")  # the same content: in the cache
    assert again.counts() == (8, 1, 2)
    again.training_parts()
    assert calls == []
    write_mesh(folder / "case_1.vtu", replace(small_mesh(1), point_data={**small_mesh(1).point_data, "u": np.ones(31)}))
    again.training_parts()
    assert calls == ["case_1.vtu"]
    for path in (folder.parent / "cache").glob("*.pt"):
        path.write_bytes(b"broken")
    (folder / "case_2.vtu").touch()
    assert torch.equal(again.training_parts()[0][0].pos, first[0].pos) and len(calls) == 11


def test_samples_beyond_the_memory_come_from_the_cache(options):
    kept, lazy = options().training_parts()[0], options(memory=0).training_parts()[0]
    assert all(torch.equal(a.y, b.y) for a, b in zip(kept, lazy, strict=True))
    assert len(kept._kept) == 7 and len(lazy._kept) == 0
    prepared = lazy.with_transform(PREPARE)
    assert prepared[3].has_graph("encoder") and len(prepared._kept) == 0


def test_samples_are_read_by_several_processes(options, monkeypatch):
    alone = options().training_parts()[0]
    monkeypatch.setattr(processes, "START", -1.0)
    shared = options(cache=str(options().cache) + "2", processes=2).training_parts()[0]
    assert all(torch.equal(a.x, b.x) for a, b in zip(alone, shared, strict=True))


def test_copies_across_splits_are_named(options, folder, caplog):
    made = options(test=("case_3.vtu",))
    made.training_parts()
    assert "content of" not in caplog.text
    shutil.copy(folder / "case_3.vtu", folder / "again.vtu")
    made.training_parts()
    assert "case_3.vtu: Expected files that differ from those to train on" in caplog.text and "again.vtu" in caplog.text


def test_a_changed_table_of_parameters_is_read_again(options, folder):
    table = folder.parent / "table.csv"
    made = options(inputs=("angle",), categories=(), parameters=str(table))
    for shift in (0, 100):
        table.write_text("file,angle\n" + "\n".join(f"case_{number},{number + shift}" for number in range(10)))
        samples = made.training_parts()[0]
        for number, sample in enumerate(samples):
            assert float(sample.x[0, 0]) == int(samples.name(number)[-5]) + shift


def test_a_template_has_the_categories_of_all_files(options, folder):
    mesh = small_mesh(9)
    kinds = {**mesh.point_data, "material": np.arange(39) % 3 + 4}
    write_mesh(folder / "case_9.vtu", replace(mesh, point_data=kinds))
    made = options(test=0, validation=0)
    assert made.template().x.shape[1] == made.training_parts()[0][0].x.shape[1] == 5


def test_a_caller_cannot_spoil_a_sample(options):
    samples = options().training_parts()[0]
    samples[0].x = torch.zeros(1, 1)
    assert samples[0].x.shape[1] == 3


def test_files_on_one_mesh_share_it(options, folder):
    for number in range(10):
        mesh = small_mesh(0)
        write_mesh(
            folder / f"case_{number}.vtu",
            replace(mesh, point_data={**mesh.point_data, "u": 1.0 * (1 + number + mesh.points[:, 0])}),
        )
    made = options()
    train, _ = made.training_parts()
    assert isinstance(train, SharedMeshSamples) and len(train) == 7 and made.is_shared
    for number in range(7):
        mesh = train.mesh(number)
        assert np.allclose(train[number].y[:, 0], mesh.point_data["u"]) and train.name(number).endswith(mesh.path.name)
    part = train[2:4]
    assert isinstance(part, SharedMeshSamples) and part.mesh(0).path == train.mesh(2).path
    batch = train.with_transform(PREPARE).batch([1, 3])
    assert batch.x.shape == (2, 30, 3) and batch.pos.shape == (30, 2) and batch.has_graph("decoder")
    large = options(memory=1e-6)  # which would not fit
    separate = large.training_parts()[0]
    assert isinstance(separate, MeshSamples) and not large.is_shared and torch.equal(separate[3].y, train[3].y)


def test_planar_vectors_lose_their_zeros(options, folder):
    made = options(inputs=(), categories=(), targets=("v",))
    assert made.table(made.template()).target_labels == ("v_x", "v_y")
    mesh = small_mesh(3)
    write_mesh(folder / "case_3.vtu", replace(mesh, point_data={**mesh.point_data, "v": np.ones((33, 3))}))
    assert made.table(made.training_parts()[0][0]).target_labels == ("v_x", "v_y", "v_z")


def test_a_target_that_is_zero_throughout_in_one_file_is_named(options, folder, caplog):
    caplog.set_level("INFO", "pitgeo")
    mesh = small_mesh(3)
    write_mesh(folder / "case_3.vtu", replace(mesh, point_data={**mesh.point_data, "v": np.zeros((33, 3))}))
    made = options(inputs=(), categories=(), targets=("v",))
    samples = made.training_parts()[0]
    assert "case_3.vtu: 'v' is zero throughout; such errors are relative to its typical size" in caplog.text
    sizes = [float(sample.y.double().square().sum(1).mean().sqrt()) for sample in samples]
    typical = np.median([size for size in sizes if size > 0]) / 2**0.5
    assert samples.typical() == pytest.approx([typical] * 2, rel=1e-6)


def test_targets_that_are_zero_in_all_files_are_refused(options, folder):
    for path in folder.glob("case_*.vtu"):
        mesh = read_mesh(path)
        write_mesh(path, replace(mesh, point_data={**mesh.point_data, "v": np.zeros((len(mesh.points), 3))}))
    with pytest.raises(ValueError, match=r"not zero throughout in all files to train on \(got 'v'"):
        options(inputs=(), categories=(), targets=("v",)).training_parts()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ()}, "data.meshes.targets to name at least one field"),
        ({"categories": ("load",), "inputs": ("load",)}, r"case_\d.vtu: Expected whole numbers in 'load'"),
        ({"targets": ("sigma",)}, "Expected a field 'sigma'"),
        ({"geometry": ("boundry_distance",)}, "did you mean 'boundary_distance'"),
    ],
)
def test_mistakes(options, changes, message):
    with pytest.raises(ValueError, match=message):
        options(**changes).training_parts()


def test_categories_must_be_inputs(options):
    with pytest.raises(ValueError, match="'categories' to be among 'inputs'"):
        options(categories=("zone",))


@pytest.fixture
def series(tmp_path):
    """Four collections of 4 to 7 states, ``u(t + 1) = u(t) / 2 + load``."""
    for number in range(4):
        mesh, states = small_mesh(number), []
        u = mesh.point_data["u"]
        for _ in range(4 + number):
            states.append(replace(mesh, point_data={"u": u}))
            u = u / 2 + mesh.field_data["load"][0]
        write_series(tmp_path / "runs" / f"run_{number}.pvd", states, np.arange(len(states)) * 0.5)
    return tmp_path / "runs"


@pytest.mark.parametrize("kind", ["file", "run_{case}_{step}.vtu"])
def test_steps_of_time_series(series, kind):
    name = "run_*.pvd" if kind == "file" else "run_*.vtu"
    made = MeshOptions(
        files=str(series / name), series=kind, inputs=("load",), targets=("u",), cache=str(series / "cache"),
        train=1.0, validation=0, test=("run_1*",), seed=0, geometry=(),
    )  # fmt: skip
    train, test = made.training_parts()[0], made.test_samples()
    assert isinstance(train, SeriesSamples) and len(train) == 3 + 5 + 6 and len(test) == 1 and test.steps == 4
    for number, sample in enumerate(train):
        load, u = sample.x.unbind(1)
        assert torch.allclose(sample.y[:, 0], u / 2 + load)
        assert np.allclose(train.mesh(number).point_data["u"], u)
    first = test[0]
    assert first.y.shape == (31, 4) and test.targets == tuple(f"u, step {k}" for k in (1, 2, 3, 4))
    u = first.x[:, 1]
    for step in range(4):
        u = u / 2 + first.x[:, 0]
        assert torch.allclose(first.y[:, step], u)
    assert test.drawn == (0, 3) and test.ranges()[1][1] == pytest.approx(
        float(torch.cat([first.x[:, 1:], first.y], 1).max())
    )
    prepared = train.with_transform(PREPARE)
    assert prepared[1].has_graph("encoder") and torch.equal(prepared[1].x, train[1].x)
    assert len(prepared[2:5]) == 3 and torch.equal(prepared[2:5][0].y, train[2].y)


def test_series_that_cannot_be_used(series):
    def made(**changes):
        given = {
            "files": str(series / "run_*.pvd"),
            "series": "file",
            "targets": ("u",),
            "cache": str(series / "cache"),
        }
        return MeshOptions(**{**given, **changes})

    with pytest.raises(ValueError, match=r"more than data.meshes.steps = 9 states"):
        made(steps=9).test_samples()
    with pytest.raises(ValueError, match=r"{step} in it"):
        made(series="{case}.vtu").training_parts()
    with pytest.raises(ValueError, match=r"run_0.pvd: Expected a file name like 'x_{step}.vtu'"):
        made(series="x_{step}.vtu").training_parts()
    with pytest.raises(ValueError, match="at least two steps"):
        made(
            files=str(series / "run_0_000[0].vtu"), series="run_{case}_{step}.vtu", test=0, validation=0
        ).training_parts()


def test_files_that_collections_name_tell_them_apart(tmp_path):
    """Two collections of the same text, whose meshes have blanks and other letters in their names."""
    for number, place in enumerate("ab"):
        mesh = small_mesh(number, points=30)
        states = [replace(mesh, point_data={"u": mesh.point_data["u"] + step}) for step in range(3)]
        write_series(tmp_path / place / "run & 1.pvd", states, [0.0, 1.0, 2.0])
    assert (tmp_path / "a" / "run & 1.pvd").read_bytes() == (tmp_path / "b" / "run & 1.pvd").read_bytes()
    made = MeshOptions(
        files=str(tmp_path / "*" / "*.pvd"), series="file", targets=("u",), cache=str(tmp_path / "cache"),
        validation=0, test=0,
    )  # fmt: skip
    samples = made.training_parts()[0]
    for number in range(len(samples)):
        assert np.allclose(samples[number].pos, samples.mesh(number).points)
    assert not torch.equal(samples[0].pos, samples[2].pos)


def test_files_named_at_second_hand_are_part_of_a_collection(tmp_path):
    (tmp_path / "all.pvd").write_text('<DataSet timestep="0" file="step_0.pvtu"/>')
    (tmp_path / "step_0.pvtu").write_text('<Piece Source="step_0/part_0.vtu"/>')
    (tmp_path / "step_0").mkdir()
    (tmp_path / "step_0" / "part_0.vtu").write_text("piece")
    (tmp_path / "one.xdmf").write_text('<DataItem Format="HDF">\n my arrays.h5:/data0\n</DataItem> 0.5 1.25')
    (tmp_path / "my arrays.h5").write_text("arrays")
    found = named_files(tmp_path / "all.pvd")
    assert found == [tmp_path / "step_0.pvtu", tmp_path / "step_0" / "part_0.vtu"]
    assert named_files(tmp_path / "one.xdmf") == [tmp_path / "my arrays.h5"]
    (tmp_path / "box.node").write_text("points")
    (tmp_path / "box.ele").write_text("cells")
    assert named_files(tmp_path / "box.node") == [tmp_path / "box.ele"]


def test_steps_are_numbered_by_the_pattern_alone(tmp_path):
    for case in (7, 3):
        mesh = small_mesh(case)
        for step in range(12):
            state = replace(mesh, point_data={"u": mesh.point_data["u"] + step})
            write_mesh(tmp_path / f"t{step}_case{case}.vtu", state)
    made = MeshOptions(
        files=str(tmp_path / "*.vtu"), series="t{step}_{case}.vtu", targets=("u",), cache=str(tmp_path / "cache"),
        validation=0, test=0, geometry=(),
    )  # fmt: skip
    samples = made.training_parts()[0]
    assert len(samples) == 22 and all(torch.allclose(sample.y - sample.x, torch.tensor(1.0)) for sample in samples)
    write_mesh(tmp_path / "t01_case3.vtu", small_mesh(3))
    with pytest.raises(ValueError, match=r"one file a step of a series \(got .*t0?1_case3.vtu and .*t0?1_case3.vtu"):
        made.training_parts()


def test_evaluation_reads_nothing_that_training_has_read(options, monkeypatch):
    made = options()
    made.training_parts()
    monkeypatch.setattr(cache, "_read", lambda *work: pytest.fail("a file was read again"))
    split = made.with_split(made.split_files())  # as a checkpoint has it
    assert split != made and len(split.test_samples()) == 2


def test_what_is_in_the_cache_needs_no_processes(options, monkeypatch):
    options().training_parts()
    cache._READ.clear()
    monkeypatch.setattr(processes, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("processes were started"))
    assert len(options(processes=2).training_parts()[0]) == 7


def state(k, times, folder, name):
    mesh = small_mesh(3)
    states = [replace(mesh, point_data={"u": mesh.point_data["u"] + k + time}) for time in times]
    write_series(folder / f"{name}.pvd", states, times)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (([0, 0.1, 0.3], [0, 0.1, 0.2]), r"a\.pvd: .*steps from 0\.1 to 0\.2, different ones within 1 of 2 series"),
        (([0, 0.1, 0.2], [0, 0.4, 0.8]), r"b\.pvd: .*steps from 0\.1 to 0\.4 from series to series"),
        (([0, 0.1, 0.2], [1, 1.1, 1.2005]), None),
    ],
)
def test_steps_of_different_lengths_are_named_once(times, message, tmp_path, caplog):
    for k, (name, own) in enumerate(zip("ab", times, strict=True)):
        state(k, own, tmp_path, name)
    made = MeshOptions(files=str(tmp_path / "*.pvd"), series="file", targets=("u",), cache=str(tmp_path / "cache"),
                       validation=0, test=0)  # fmt: skip
    made.training_parts()
    made.training_parts()
    found = [record.getMessage() for record in caplog.records if "steps of one length" in record.getMessage()]
    assert len(found) == bool(message) and (not message or re.search(message, found[0]))


def test_numbers_of_files_are_their_times(tmp_path, caplog):
    for text in ("0.05", "0.1", "0.15", "0.20", "0.3"):
        mesh = small_mesh(3)
        write_mesh(tmp_path / f"c_{text}.vtu", replace(mesh, point_data={"u": mesh.point_data["u"] + float(text)}))
    made = MeshOptions(files=str(tmp_path / "*.vtu"), series="{case}_{step}.vtu", targets=("u",), validation=0, test=0,
                       cache=str(tmp_path / "cache"))  # fmt: skip
    samples = made.training_parts()[0]
    steps = [round(float((sample.y - sample.x).mean()), 6) for sample in samples]
    assert steps == [0.05, 0.05, 0.05, 0.1]  # what the state gains is what time does
    assert "got steps from 0.05 to 0.1, different ones within 1 of 1 series" in caplog.text


def test_restarts_and_damage_within_series_are_said_in_training(tmp_path, caplog):
    caplog.set_level("INFO")
    state(0, [0, 1, 2], tmp_path, "a")
    path = tmp_path / "a.pvd"
    line = '<DataSet timestep="1" part="0" file="a_0002.vtu"/>'
    path.write_text(path.read_text().replace("</Collection>", line + "</Collection>"))
    made = MeshOptions(files=str(path), series="file", targets=("u",), cache=str(tmp_path / "c"), validation=0, test=0)
    samples = made.training_parts()[0]
    assert [round(float((sample.y - sample.x).mean()), 6) for sample in samples] == [2, 0]
    assert "1 entry is replaced by a later one" in caplog.text and "2 is kept" not in caplog.text
    mesh = small_mesh(3)
    write_mesh(tmp_path / "a_0002.vtu", replace(mesh, point_data={"v": mesh.point_data["v"]}))
    with pytest.raises(ValueError, match=r"a_0002\.vtu: .*'u'.*at step 1, time 1"):
        made.training_parts()


def test_files_of_other_files_are_found_whatever_names_them(tmp_path):
    (tmp_path / "all.pvtp").write_text('<Piece Source="part_0.vtp"/>')
    (tmp_path / "part_0.vtp").write_text("piece")
    assert named_files(tmp_path / "all.pvtp") == [tmp_path / "part_0.vtp"]
    (tmp_path / "run.case").write_text("GEOMETRY\nmodel: 1 run.geo\nVARIABLE\nscalar per node: 1 p run_p****.scl\n")
    for name in ("run.geo", "run_p0000.scl", "run_p0001.scl", "run_p1.scl"):
        (tmp_path / name).write_text("numbers")
    assert sorted(path.name for path in named_files(tmp_path / "run.case")) == [
        "run.geo",
        "run_p0000.scl",
        "run_p0001.scl",
    ]
    (tmp_path / "all.pvtp").write_text('<Piece Source="part_1.vtp"/><Piece Source="part_0.vtp"/>')
    (tmp_path / "part_1.vtp").write_text("piece")
    assert len(named_files(tmp_path / "all.pvtp")) == 2
