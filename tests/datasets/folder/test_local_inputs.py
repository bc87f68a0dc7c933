"""Runs with numbers of the whole mesh that are given in named sets."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo import load, train_surrogate
from pitgeo.cli import main
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.scaling import Scaling
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.describe import describe
from pitgeo.evaluation.appraisal import Appraised, influences
from pitgeo.mesh import Mesh, read_mesh, write_mesh, write_series
from pitgeo.workflows.fit_scalings import fit_scalings
from pitgeo.workflows.run import train
from tests.small_runs import SMALL, small_run

pytestmark = pytest.mark.usefixtures("no_pictures")
POINTS = np.random.default_rng(0).random((30, 2))
CELLS = (("triangle", np.arange(30).reshape(10, 3)),)
TIP, LEFT = np.array([3, 5]), (np.array([0, 4]),)
POINTS_OF_LEFT = [0, 1, 2, 12, 13, 14]


def case(number, points=POINTS, zero=None):
    """A field that is linear in two numbers; one acts at some points, the other in some cells."""
    f, e = np.random.default_rng([1, number]).random(2) + 1
    f = 0.0 if number == zero else f
    u = 1 + f * points[:, 0] + e * points[:, 1]
    sets = {"point_sets": {"tip": TIP}, "cell_sets": {"left": LEFT}}
    return Mesh(points=points, cells=CELLS, point_data={"u": u}, field_data={"f": np.array([f]), "e_left": [e]}, **sets)


def configured(root, *changes, inputs=("f@tip", "e_left@left")):
    return small_run(root, "cases/*.vtu", inputs, ["u"], *changes)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    for number in range(30):
        write_mesh(root / "cases" / f"case_{number:02d}.vtu", case(number))
    return train(configured(root), root / "out"), root


def test_on_one_mesh_they_are_numbers_and_a_pod_is_exact(shared):
    trained, root = shared
    controls = {control["name"]: control["relative_l2"] for control in trained.evaluation["controls"]}
    assert controls["POD with radial basis functions"] < 1e-5 and controls["POD with Gaussian processes"] < 1e-5
    train(configured(root, 'model.name="pod"'), root / "pod")
    model, new = load(root / "pod" / "best.ckpt"), case(99)
    assert np.allclose(model.predict_mesh(new).point_data["u_prediction"], new.point_data["u"], rtol=1e-4)
    other = Mesh(**{**vars(new), "point_sets": {"tip": np.array([7])}})
    with pytest.raises(ValueError, match="of a set of it, and zeros elsewhere"):
        model.predict_mesh(other)


def test_numbers_are_scaled_by_their_own_mean_and_spread_and_zero_stays_zero(shared):
    model = load(shared[0].checkpoint)
    samples = model.data_options.training_parts()[0]
    sample = samples[0]
    assert sample.x[:, 0].nonzero()[:, 0].tolist() == TIP.tolist()
    assert sample.x[:, 1].nonzero()[:, 0].tolist() == POINTS_OF_LEFT
    files = [read_mesh(samples.name(number)).field_data for number in range(len(samples))]
    values = np.array([[np.ravel(file[name])[0] for name in ("f", "e_left")] for file in files])
    ends = np.stack([values.min(0), values.max(0)], 1)
    assert np.allclose(model.facts["ranges"], ends)
    scaled = torch.stack([model.module.input_scaling(one.x) for one in samples]).double().numpy()
    scores = (values - values.mean(0)) / values.std(0)  # of numbers from 1 to 2, whose mean is far from zero
    expected = np.zeros((len(values), 30, 2))
    expected[:, TIP, 0], expected[:, POINTS_OF_LEFT, 1] = scores[:, :1] + 2, scores[:, 1:] + 2
    assert np.allclose(scaled, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("numbers", "scaled"),
    [
        ([-1.0, 0.0, 1.0], [-(1.5**0.5), 0.0, 1.5**0.5]),  # about zero: by the standard deviation
        ([0.0, 1.0, 2.0], [0.0, 1.5**0.5, 2 * 1.5**0.5]),
        ([7.0, 7.0, 7.0], [1.0, 1.0, 1.0]),
        ([-7.0, -7.0, -7.0], [-1.0, -1.0, -1.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([-101.0, -100.0, -99.0], [-2 - 1.5**0.5, -2.0, -2 + 1.5**0.5]),
    ],
)
def test_scaled_numbers_by_hand(numbers, scaled):
    field = MeshField("f@tip", place="mesh", within="tip")
    table = FieldTable((field,), (MeshField("u"),), 2)
    samples = [
        PointData(pos=torch.zeros(4, 2), x=torch.tensor([[0.0], [v], [v], [0.0]]), y=torch.rand(4, 1)) for v in numbers
    ]
    scaling = fit_scalings(configured(Path("nowhere")), ListedSamples(samples), table).inputs
    for sample, value in zip(samples, scaled, strict=True):
        assert torch.allclose(scaling(sample.x)[:, 0], torch.tensor([0.0, value, value, 0.0]), atol=1e-5)
    older = {name: part for name, part in scaling.state_dict().items() if name != "keeps_zero"}
    Scaling.identity(1).load_state_dict(older)


def test_a_number_out_of_range_is_named_though_zeros_are_not(shared, caplog):
    model = load(shared[0].checkpoint)
    model.predict_mesh(case(99))
    assert "outside of" not in caplog.text
    mesh = case(99)
    with_less = Mesh(**{**vars(mesh), "field_data": {"e_left": mesh.field_data["e_left"]}})
    found = model.predict_mesh(with_less, {"f": 0.2})
    assert "'f@tip' is 0.2" in caplog.text and "e_left" not in caplog.text
    assert found.field_data["f"].tolist() == [0.2]
    with pytest.raises(ValueError, match="Expected a number 'f' of the whole mesh, for the input 'f@tip'"):
        model.predict_mesh(with_less)


@pytest.mark.parametrize("zero", [None, 3])
def test_where_meshes_differ_numbers_are_permuted_in_their_sets(tmp_path, zero):
    clouds = [np.random.default_rng([2, n]).random((30, 2)) for n in range(30)]
    for number, points in enumerate(clouds):
        write_mesh(tmp_path / "cases" / f"case_{number:02d}.vtu", case(number, points, zero))
    test = "data.meshes.test=['case_00.vtu', " + ", ".join(f"'case_{n:02d}.vtu'" for n in range(1, 12)) + "]"
    trained = train(configured(tmp_path, test.replace("'", '"')), tmp_path / "out")
    predictor = load(trained.checkpoint)
    samples = predictor.data_options.test_samples()
    predictions = [predictor.predict(samples[n]) for n in range(len(samples))]
    appraised = Appraised(predictor, predictor.data_options, samples, predictions)
    found = influences(predictor, appraised, 0.1)
    assert ("f@tip" in found, "e_left@left" in found) == (zero is None, True)  # a zero hides its set
    order = np.random.default_rng(0).permutation(len(samples))
    partner = np.empty(len(samples), int)
    partner[order] = np.roll(order, 1)
    changes = []
    for n, p in enumerate(partner):
        sample = samples[n]
        own = float((predictions[n] - sample.y).norm() / sample.y.norm())
        sample.x = sample.x.clone()
        sample.x[POINTS_OF_LEFT, 1] = float(samples[int(p)].x[0, 1])
        changes.append(float((predictor.predict(sample) - sample.y).norm() / sample.y.norm()) - own)
    assert np.allclose(found["e_left@left"].changes, changes, atol=1e-5)


def test_numbers_from_a_table(tmp_path):
    rows = [["file", "f", "e_left"]]
    for number in range(8):
        mesh = case(number)
        rows.append([f"case_{number}", f"{mesh.field_data['f'][0]:.17g}", f"{mesh.field_data['e_left'][0]:.17g}"])
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", Mesh(**{**vars(mesh), "field_data": {}}))
    with (tmp_path / "numbers.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    config = configured(tmp_path, f'data.meshes.parameters="{tmp_path}/numbers.csv"')
    samples = config.data.options.training_parts()[0]
    for number in range(len(samples)):
        mesh = case(int(Path(samples.name(number)).stem[-1]))
        assert samples[number].x[3, 0] == np.float32(mesh.field_data["f"][0])
        assert samples[number].x[12, 1] == np.float32(mesh.field_data["e_left"][0])
    rows[3][1] = "much"
    with (tmp_path / "numbers.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(ValueError, match=r"Expected a number for case_2, in the column 'f' \(got 'much'"):
        config.data.options.training_parts()


def test_a_set_that_changes_is_read_again(tmp_path):
    for number in range(4):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", case(number))
    places = []
    for tip in (TIP, np.array([8])):
        for number in range(4):
            mesh = Mesh(**{**vars(case(number)), "point_sets": {"tip": tip}})
            write_mesh(tmp_path / "cases" / f"case_{number}.vtu", mesh)
        places.append(configured(tmp_path).data.options.training_parts()[0][0].x[:, 0].nonzero()[:, 0].tolist())
    assert places == [[3, 5], [8]]
    write_mesh(tmp_path / "cases" / "case_2.vtu", Mesh(**{**vars(case(2)), "point_sets": {"tip": np.zeros(0, int)}}))
    with pytest.raises(ValueError, match=r"case_2\.vtu: Expected at least one point in the set 'tip' \(got none\)"):
        configured(tmp_path).data.options.training_parts()


def test_time_series(tmp_path):
    for number in range(5):
        states = [
            Mesh(**{**vars(case(number)), "point_data": {"u": case(number).point_data["u"] * 0.9**step}})
            for step in range(3)
        ]
        write_series(tmp_path / "cases" / f"case_{number}.pvd", states, [0.0, 1.0, 2.0])
    given = [f'data.meshes.files="{tmp_path}/cases/*.pvd"', 'data.meshes.series="file"', "data.meshes.test=1"]
    trained = train(configured(tmp_path, *given, "data.meshes.validation=1"), tmp_path / "out")
    model = load(trained.checkpoint)
    assert model.table.input_labels == ("f@tip", "e_left@left", "u")
    assert model.module.input_scaling.keeps_zero.tolist() == [True, True, False]


def test_from_memory(tmp_path):
    samples = [case(number) for number in range(6)]
    settings = [*SMALL, "model.pit.latent.number=10", "data.meshes.test=1", "data.meshes.validation=1"]
    model = train_surrogate(samples, ["u"], tmp_path / "run", ["f@tip"], settings, progress=False)
    assert model.table.inputs[0].within == "tip"
    assert np.isfinite(model.predict_mesh(samples[0]).point_data["u_error"]).all()
    with pytest.raises(ValueError, match=r"name inputs that are positive at all points \(got \['f@tip'\]"):
        train_surrogate(
            samples, ["u"], tmp_path / "log", ["f@tip"], [*settings, 'scaling.log=["f@tip"]'], progress=False
        )


def test_kinds_in_a_set_have_none_elsewhere(tmp_path):
    for number in range(6):
        mesh = Mesh(**{**vars(case(number)), "field_data": {"kind": np.array([4 + number % 2])}})
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", mesh)
    config = configured(tmp_path, 'data.meshes.categories=["kind@cell:left"]', inputs=("kind@cell:left",))
    samples = config.data.options.training_parts()[0]
    assert samples.table.input_labels == ("kind@cell:left=0", "kind@cell:left=4", "kind@cell:left=5")
    expected = torch.zeros(30)
    expected[POINTS_OF_LEFT] = 1.0
    assert torch.equal(samples[0].x[:, 1:].sum(1), expected) and torch.equal(samples[0].x[:, 0], 1 - expected)


def test_describe_says_so_with_names_of_the_files(tmp_path, capsys):
    for number in range(6):
        write_mesh(tmp_path / "a" / f"case_{number}.vtu", case(number))
        mesh = case(number)
        empty = {"tip": TIP if number else np.zeros(0, int), "whole": np.arange(30), "wing": np.array([1, 2])}
        fields = {"field_data": {"f": mesh.field_data["f"]}, "cell_sets": {}, "point_sets": empty}
        write_mesh(tmp_path / "b" / f"case_{number}.vtu", Mesh(**{**vars(mesh), **fields}))
    line = '# Numbers named after a set can be inputs there, and zero elsewhere: "e_left@left" in place of'
    assert line in describe([tmp_path / "a"]).suggestion
    assert main(["describe", str(tmp_path / "b"), "--quiet"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert 'A number that acts in one set alone can be an input there, zero elsewhere: "f@wing"' in text
