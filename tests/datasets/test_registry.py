"""Every benchmark by its options: the paper's parameter counts, and whole runs on small files."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from pitgeo.cli.main import main
from pitgeo.config.config import load_config
from pitgeo.datasets import DATASETS
from pitgeo.workflows.run import dry_run
from tests.datasets.test_naca import arrays as naca_arrays
from tests.datasets.test_naca import write as write_naca
from tests.pictures import without_pictures

CONFIGS = Path(__file__).parents[2] / "configs"
COUNTS = {
    "inviscid_burgers": "95,503",
    "shock_tube": "95,631",
    "darcy2d": "313,613",
    "vorticity": "1,252,103",
    "elasticity": "6,586,929",
    "naca": "1,250,061",
}
FNO = {
    "inviscid_burgers": (19, 32, "170,593"),
    "shock_tube": (7, 32, "72,353"),
    "darcy2d": (12, 32, "2,376,449"),
    "vorticity": (12, 20, "928,661"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_dry_run_of_the_papers_configuration_has_its_parameters(name, tmp_path):
    config = load_config(CONFIGS / f"{name}.toml", [f"data.{name}.root={tmp_path}"])
    assert dry_run(config)[-1] == f"parameters: {COUNTS[name]}"


@pytest.mark.parametrize("name", FNO)
def test_so_has_one_of_fno(name, tmp_path):
    modes, width, count = FNO[name]
    changes = ['model.name="fno_plus"', f"model.fno_plus.modes={modes}", f"model.fno_plus.width={width}"]
    config = load_config(CONFIGS / f"{name}.toml", [f"data.{name}.root={tmp_path}", *changes])
    assert dry_run(config)[-1] == f"parameters: {count}"


SENSORS = {  # numbers a DeepONet reads of a sample: values on a shared mesh, else coordinates too
    "inviscid_burgers": ("", 1024 * 1),
    "naca": ('data.naca.positions="reference"', 221 * 51 * 2),
    "naca in space": ('data.naca.positions="physical"', 221 * 51 * 2),
    "elasticity": ("", 972 * 44),
}


@pytest.mark.parametrize("name", SENSORS)
def test_a_dry_run_knows_whether_the_mesh_is_shared(name, tmp_path):
    change, size = SENSORS[name]
    data = name.partition(" ")[0]
    changes = [f"data.{data}.root={tmp_path}", 'model.name="deeponet"', *filter(None, [change])]
    config = load_config(CONFIGS / f"{data}.toml", changes)
    axes = 1 if data == "inviscid_burgers" else 2
    count = 64 * (size + 1 + axes + 1) + 6 * (64 * 64 + 64) + 1
    assert dry_run(config)[-1] == f"parameters: {count:,}"


@pytest.mark.parametrize("name", [name for name in DATASETS if name not in ("meshes", "smoothing")])  # no raw files
def test_templates_have_the_shapes_that_are_declared(name, tmp_path):
    options = DATASETS[name](root=str(tmp_path))
    sample = options.template()
    assert sample.y.shape == (sample.num_nodes, len(options.targets))
    assert bool(options.inputs) == bool(sample.x.shape[1])
    assert options.missing() and not options.is_ready() and options.rollout in (1, 20)


@pytest.mark.parametrize("name", ["inviscid_burgers", "shock_tube"])
def test_missing_files_are_generated_and_split(name, tmp_path):
    options = DATASETS[name](root=str(tmp_path), train=3, validation=1, test=2, generate=6)
    options.prepare(progress=False)
    numbers = [
        [int(sample.sample_id) for sample in options.split_samples(split)] for split in ("train", "validation", "test")
    ]
    assert numbers == [[0, 1], [2], [4, 5]]
    with pytest.raises(ValueError, match="6"):
        DATASETS[name](root=str(tmp_path), train=5, test=2, generate=7).training_parts()


def test_files_that_are_not_generated_are_refused_rather_than_mixed(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "something.mat").touch()
    with pytest.raises(FileNotFoundError, match=r"data_burgers\.mat.*move the others away"):
        DATASETS["inviscid_burgers"](root=str(tmp_path)).prepare(progress=False)


def test_the_small_darcy_files_cannot_be_generated(tmp_path):
    with pytest.raises(FileNotFoundError, match="neuraloperator"):
        DATASETS["darcy_small"](root=str(tmp_path)).prepare(progress=False)


def run(name, root, output, *changes):
    sets = [part for change in (f"data.{name}.root={root}", *changes) for part in ("--set", change)]
    assert main(["train", str(CONFIGS / f"{name}_quick.toml"), "--quiet", "--output", str(output), *sets]) == 0
    return json.loads((output / "evaluation.json").read_text())


def test_a_run_on_a_line(tmp_path):
    sizes = [f"data.inviscid_burgers.{key}={count}" for key, count in zip(
        ("train", "validation", "test", "generate"), (4, 1, 2, 6), strict=True)]  # fmt: skip
    smaller = ["model.pit.channels=8", "model.pit.latent.cells=[16]", "training.epochs=1", 'scaling.inputs="point"']
    found = run("inviscid_burgers", tmp_path / "data", tmp_path / "run", *sizes, *smaller)
    assert found["samples"] == 2 and found["errors"]["u"]["relative_l1"]["median"] > 0
    assert {path.name for path in (tmp_path / "run/pictures").iterdir()} >= {"fields.png", "length_scales.png"}
    mesh = next((tmp_path / "run" / "meshes").glob("best*.vtu"))
    arguments = [str(tmp_path / "run" / "best.ckpt"), str(mesh), "--output", str(tmp_path / "predicted"), "--quiet"]
    assert main(["predict", *arguments]) == 0


@pytest.mark.parametrize("model", ["pit", "fno_plus"])
def test_a_run_that_is_rolled_out(tmp_path, model):
    raw = tmp_path / "data" / "raw"
    raw.mkdir(parents=True)
    snapshots = np.random.default_rng(0).standard_normal((5, 64, 64, 30)).astype(np.float32)
    savemat(raw / "NavierStokes_V1e-4_N1200_T30.mat", {"u": snapshots})
    sizes = [f"data.vorticity.{key}={count}" for key, count in zip(
        ("train", "validation", "test", "generate", "resolution", "history", "steps"), (3, 1, 2, 5, 16, 4, 3),
        strict=True)]  # fmt: skip
    smaller = [
        "model.pit.channels=8",
        "model.pit.latent.cells=[4, 4]",
        "model.fno_plus.modes=4",
        "model.fno_plus.width=4",
    ]
    changes = [*sizes, *smaller, "training.epochs=1", f'model.name="{model}"']
    found = run("vorticity", tmp_path / "data", tmp_path / "run", *changes)
    assert list(found["errors"]) == ["vorticity_5", "vorticity_6", "vorticity_7"]
    pictures = {path.name for path in (tmp_path / "run" / "pictures").iterdir()}
    assert pictures >= {"growth.png", "fields_vorticity_5.png", "fields_vorticity_7.png"}
    assert bool(found["length_scales"]) == (model == "pit")


@without_pictures()
def test_evaluation_at_another_resolution(tmp_path, capsys):
    raw = tmp_path / "data" / "raw"
    raw.mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in (1, 2):
        coefficient = random.choice([3.0, 12.0], (4, 421, 421)).astype(np.float32)
        content = {"coeff": coefficient, "sol": random.random((4, 421, 421)).astype(np.float32)}
        savemat(raw / f"piececonst_r421_N1024_smooth{number}.mat", content)
    sizes = [f"data.darcy2d.{key}={count}" for key, count in zip(
        ("resolution", "train", "validation", "test", "generate"), (15, 3, 1, 2, 4), strict=True)]  # fmt: skip
    smaller = ["model.pit.channels=8", "model.pit.latent.cells=[4, 4]", "training.epochs=1"]
    run("darcy2d", tmp_path / "data", tmp_path / "run", *sizes, *smaller)
    checkpoint = str(tmp_path / "run" / "best.ckpt")
    finer = ["--output", str(tmp_path / "finer"), "--quiet", "--set", "data.darcy2d.resolution=29"]
    assert main(["evaluate", checkpoint, *finer]) == 0
    assert json.loads((tmp_path / "finer" / "evaluation.json").read_text())["data"]["resolution"] == 29
    assert main(["evaluate", checkpoint, "--quiet", "--set", "training.epochs=3"]) == 2
    assert "or to the evaluation alone" in capsys.readouterr().err


@pytest.mark.parametrize("positions", ["reference", "physical"])
def test_a_run_on_a_grid_round_a_body(tmp_path, positions):
    raw = tmp_path / "data" / "raw"
    raw.mkdir(parents=True)
    write_naca(raw, naca_arrays(3))
    sizes = [f"data.naca.{key}={count}" for key, count in zip(
        ("train", "validation", "test", "generate"), (2, 1, 1, 3), strict=True)]  # fmt: skip
    smaller = ["model.pit.channels=8", "model.pit.latent.cells=[6, 4]", "training.epochs=1"]
    changes = [*sizes, *smaller, f'data.naca.positions="{positions}"']
    if positions == "physical":
        changes += ['model.pit.latent={method="farthest", number=24}', 'scaling.box="unit"']
        changes += ['scaling.inputs="none"', 'scaling.targets="channel"']
    found = run("naca", tmp_path / "data", tmp_path / "run", *changes)
    assert found["samples"] == 1 and found["errors"]["mach"]["relative_l2"]["mean"] > 0
    mesh = next((tmp_path / "run" / "meshes").glob("best*.vtu"))
    output = ["--output", str(tmp_path / "predicted"), "--quiet"]
    assert main(["predict", str(tmp_path / "run" / "best.ckpt"), str(mesh), *output]) == (
        0 if positions == "physical" else 2  # on the reference grid, positions are not those of the mesh
    )
