"""The command line from end to end, on raw files of a few made-up plates."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from pitgeo.cli.main import main
from pitgeo.config.config import load_config, parse_config
from pitgeo.data.fields import FieldTable
from pitgeo.datasets.elasticity import FILES, POINTS, RADII
from pitgeo.training import read_checkpoint
from pitgeo.workflows.run_folder import claim
from tests.forked import Commands
from tests.pictures import without_pictures

ROOT = Path(__file__).parents[2]
CONFIG = """
[data]
name = "elasticity"

[data.elasticity]
root = "{root}"
train = 6
validation = 2
test = 3

[model]
name = "pit"

[model.pit]
channels = 8
heads = 2
layers = 1

[model.pit.latent]
method = "farthest"
number = 30

[training]
epochs = {epochs}
batch_size = 2
learning_rate = 1e-3
device = "cpu"
"""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """More do not pay for samples this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    assert not logging.getLogger("pitgeo").handlers


@pytest.fixture(scope="session")
def plates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with raw files in the benchmark's format."""
    root = tmp_path_factory.mktemp("plates")
    random = np.random.default_rng(0)
    radii = 0.2 + 0.2 * random.random((RADII, 9))
    place = random.random((POINTS, 2, 9))
    (root / "raw").mkdir()
    np.save(root / "raw" / FILES["XY"], place)
    np.save(root / "raw" / FILES["rr"], radii)
    np.save(root / "raw" / FILES["sigma"], 100 + 200 * place[:, 0] * radii.mean(0))
    return root


def write_config(folder: Path, root: Path, epochs: int = 2) -> Path:
    path = folder / "tiny.toml"
    path.write_text(CONFIG.format(root=root, epochs=epochs))
    return path


@pytest.fixture(scope="session")
def run(plates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("finished")
    config = write_config(folder, plates)
    assert main(["train", str(config), "--output", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


def error(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    text = capsys.readouterr().err.strip().splitlines()[-1]
    assert text.startswith("pitgeo: error: ")
    return text.removeprefix("pitgeo: error: ")


def test_a_run_leaves_all_it_should(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    expected = {"best.ckpt", "last.ckpt", "metrics.csv", "tensorboard", "config.toml", "log.txt", "evaluation.json"}
    assert names == expected | {"meshes", "pictures", "report.html"}
    facts = read_checkpoint(run / "best.ckpt")["pitgeo"]
    shape = facts["shape"]
    assert shape["in_channels"] == 44 and shape["out_channels"] == 1
    table = FieldTable.parse(facts["table"])
    assert [(field.name, field.components) for field in table.inputs] == [("shape", 42)]
    assert table.target_labels == ("von_mises",)
    assert facts["box_scale"] is None and 0 < shape["spacing"] < shape["extent"] <= 1
    assert set(facts["versions"]) == {"python", "pitgeo", "torch", "torch-geometric", "lightning", "numpy"}
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert evaluation["split"] == "test" and evaluation["samples"] == 3 and evaluation["checkpoint"] == "best.ckpt"
    assert list((run / "pictures").glob("*.png"))
    log = (run / "log.txt").read_text()
    assert "4 samples, 2 held out" in log and "Epoch 2 of 2" in log


@without_pictures()
def test_train_prints_the_table_and_shows_a_bar(
    plates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path, plates)
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(config), "--set", "training.epochs=1"]) == 0
    out, err = capsys.readouterr()
    assert "von_mises" in out and "relative l2" in out and str(Path("runs") / "tiny" / "best.ckpt") in out
    assert "2/2" in err and "loss=" in err and "val=" in err
    assert (tmp_path / "runs" / "tiny" / "last.ckpt").exists()


def test_dry_run_needs_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = f"data.elasticity.root={json.dumps(str(tmp_path / 'none'))}"
    assert main(["train", str(ROOT / "configs" / "elasticity.toml"), "--dry-run", "--set", root]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "parameters: 6,586,929" in lines
    assert "input points: 972 in 2D" in lines
    assert "input channels: 44 (2 coordinates, 42 values)" in lines
    assert "latent points: 972" in lines
    assert "output channels: 1 (von_mises)" in lines
    assert not (tmp_path / "none").exists()
    assert main(["train", str(ROOT / "configs" / "elasticity_quick.toml"), "--dry-run", "--set", root]) == 0
    assert "latent points: 243" in capsys.readouterr().out


def test_dry_run_with_data(
    plates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(write_config(tmp_path, plates)), "--dry-run"]) == 0
    assert "data: elasticity (4 train, 2 validation, 3 test), from the raw files" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def test_another_run_is_not_overwritten_unasked(
    run: Path, plates: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = write_config(tmp_path, plates)
    before = (run / "best.ckpt").read_bytes()
    text = error(capsys, "train", config, "--output", run)
    assert "to hold no other run (got best.ckpt, last.ckpt, evaluation.json)" in text
    assert "--resume" in text and "--overwrite" in text
    assert "to resume a run or to overwrite it" in error(
        capsys, "train", config, "--output", run, "--resume", "--overwrite"
    )
    assert "file" in error(capsys, "train", config, "--output", config)
    assert (run / "best.ckpt").read_bytes() == before


@without_pictures()
def test_overwrite_deletes_what_is_ours_alone(plates: Path, tmp_path: Path) -> None:
    config, output = write_config(tmp_path, plates), tmp_path / "run"
    output.mkdir()
    (output / "notes.md").write_text("mine")
    arguments = ["train", str(config), "--output", str(output), "--quiet", "--set", "training.epochs=1"]
    assert main(arguments) == 0
    (output / "best.ckpt").write_bytes(b"old")
    assert main([*arguments, "--overwrite", "--set", "data.elasticity.validation=0"]) == 0
    assert not (output / "best.ckpt").exists()
    assert (output / "notes.md").read_text() == "mine"


def test_a_run_from_before_an_option_was_there_resumes(run: Path, plates: Path, tmp_path: Path) -> None:
    """Its configuration lacks the key, whose default is what it was trained with."""
    config = load_config(write_config(tmp_path, plates))
    checkpoint = torch.load(run / "last.ckpt", weights_only=True)
    del checkpoint["pitgeo"]["config"]["training"]["deterministic"]
    (tmp_path / "old").mkdir()
    torch.save(checkpoint, tmp_path / "old" / "last.ckpt")
    claim(config, tmp_path / "old", resume=True, overwrite=False)
    with pytest.raises(ValueError, match=r"training.deterministic was False and is True"):
        changed = parse_config(config.plain(), ["training.deterministic=true"])
        claim(changed, tmp_path / "old", resume=True, overwrite=False)


def test_resume_refuses_what_does_not_fit(
    run: Path, plates: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = write_config(tmp_path, plates)
    text = error(capsys, "train", config, "--output", tmp_path / "new", "--resume")
    assert "to resume from (got none)" in text
    text = error(capsys, "train", config, "--output", run, "--resume", "--set", "training.epochs=9")
    assert "training.epochs was 2 and is 9" in text
    assert main(["train", str(config), "--output", str(run), "--resume", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "finished already" in err and "von_mises" in out
    checkpoint = torch.load(run / "last.ckpt", weights_only=True)
    checkpoint["pitgeo"]["format"] = 9
    (tmp_path / "old").mkdir()
    torch.save(checkpoint, tmp_path / "old" / "last.ckpt")
    assert "format 6 (got 9" in error(capsys, "train", config, "--output", tmp_path / "old", "--resume")


def test_mistakes_take_one_line(run: Path, plates: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = write_config(tmp_path, plates)
    assert "did you mean 'training.epochs'?" in error(capsys, "train", config, "--set", "training.epoch=2")
    assert "no such configuration file" in error(capsys, "train", tmp_path / "none.toml")
    assert "no such file" in error(capsys, "evaluate", tmp_path / "none.ckpt")
    assert "cannot be read" in error(capsys, "evaluate", config)
    with pytest.raises(SystemExit) as exit:
        main(["evaluate", str(run), "--split", "both"])
    assert exit.value.code == 2


@without_pictures()
def test_evaluate(run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = (run / "evaluation.json").read_bytes()
    assert main(["evaluate", str(run / "best.ckpt"), "--split", "validation", "--quiet"]) == 0
    assert "2 validation samples" in capsys.readouterr().out
    assert (run / "evaluation.json").read_bytes() == before
    assert json.loads((run / "validation" / "evaluation.json").read_text())["samples"] == 2
    assert main(["evaluate", str(run / "best.ckpt"), "--output", str(tmp_path), "--quiet"]) == 0
    kept = json.loads((tmp_path / "evaluation.json").read_text())["errors"]
    assert kept == json.loads(before)["errors"]


@without_pictures()
def test_the_validation_error_is_the_evaluated_one(run: Path, tmp_path: Path) -> None:
    assert (
        main(["evaluate", str(run / "best.ckpt"), "--split", "validation", "--output", str(tmp_path), "--quiet"]) == 0
    )
    found = json.loads((tmp_path / "evaluation.json").read_text())["errors"]["von_mises"]["relative_l2"]["mean"]
    state = read_checkpoint(run / "best.ckpt")["callbacks"]["Checkpoints"]
    assert found == pytest.approx(state["best_error"], rel=1e-4)


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


def stopped(commands: Commands, config: Path, out: Path, signals: Sequence[int], pause: float = 0.0) -> tuple[int, int]:
    """Train in another process and send it signals once there is a checkpoint; its exit code and the step it was at."""
    process = commands.start(config.parent, "train", config, "--output", out)
    deadline = time.monotonic() + 60
    while not (out / "last.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    for number in signals:
        os.kill(process, number)
        time.sleep(pause)
    code, err = commands.wait(), (config.parent / "err.txt").read_text()
    step = read_checkpoint(out / "last.ckpt")["global_step"]
    assert f"stopped by {signal.Signals(code - 128).name} after step {step} of" in err, err
    assert "--resume" in err and "Traceback" not in err
    return code, step


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.5])
def test_a_process_that_gets_two_signals_at_one_moment_saves_and_says_so(
    plates: Path, tmp_path: Path, commands: Commands, pause: float
) -> None:
    """As ``timeout`` and make send them: one to the process, one to its group."""
    signals = (signal.SIGTERM, signal.SIGTERM, signal.SIGINT)
    code, step = stopped(commands, write_config(tmp_path, plates, epochs=500), tmp_path / "out", signals, pause)
    assert code in (128 + signal.SIGTERM, 128 + signal.SIGINT)  # of two that wait, Python takes the lower number first
    assert step > 0


@without_pictures()
def test_a_terminated_process_resumes_to_the_same_weights(plates: Path, tmp_path: Path, commands: Commands) -> None:
    config = write_config(tmp_path, plates, epochs=12)
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    code, step = stopped(commands, config, broken, [signal.SIGTERM])
    assert code == 128 + signal.SIGTERM and 0 < step < 24
    for output, resume in ((broken, ["--resume"]), (straight, [])):
        assert main(["train", str(config), "--output", str(output), "--quiet", *resume]) == 0
    first, second = (read_checkpoint(folder / "last.ckpt")["state_dict"] for folder in (straight, broken))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_script_generates_what_is_missing_with_several_processes(tmp_path: Path) -> None:
    config = tmp_path / "tiny.toml"
    config.write_text(
        f"""
        [data]
        name = "elasticity"
        [data.elasticity]
        root = "{tmp_path}"
        train = 2
        test = 1
        generate = 60
        [model]
        name = "mlp"
        [training]
        epochs = 1
        """
    )
    script = Path(__file__).parents[2] / "scripts" / "train.py"
    command = [sys.executable, "-W", "ignore", str(script), str(config), "--output", str(tmp_path / "out"), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "evaluation.json").exists()
