"""What is printed and written on terminals of any encoding, by the commands as people call them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pitgeo.cli.terminal import argument, console
from pitgeo.evaluation.illustrate import file_names
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from tests.forked import Commands
from tests.mesh.test_names import LATIN, exodus

STRICT = {"PYTHONIOENCODING": "utf-8:strict"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CONFIG = """
[data]
name = "meshes"
[data.meshes]
files = "cases/*.vtu"
targets = ["größe", "a/b", "a b", "$x", "日本"]
processes = 1
[model]
name = "pit"
[model.pit]
channels = 4
heads = 1
layers = 1
[training]
epochs = 1
batch_size = 2
"""


def run(folder, environment, *arguments):
    """A command's exit code, and what it said."""
    given = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-m", "pitgeo", *arguments]
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("environment", [STRICT, ASCII, {"PYTHONIOENCODING": "ascii:strict"}])
def test_describe_prints_names_on_every_terminal(environment, tmp_path):
    exodus(tmp_path / "mesh.e", [LATIN, b"\x1b[31mred", b"\xff\xfe\x81"])
    code, out, said = run(tmp_path, environment, "describe", "mesh.e", "--quiet")
    assert code == 0, said
    written = "größe".encode() if environment is STRICT else rb"gr\xf6\xdfe"
    assert written in out and b"_[31mred" in out and b"\x1b" not in out


def test_a_run_on_a_terminal_of_ascii(tmp_path):
    (tmp_path / "cases").mkdir()
    for number in range(5):
        place = np.random.default_rng(number).random((20, 2))
        names = ("größe", "a/b", "a b", "$x", "日本")
        fields = {name: place[:, 0] + k + 1 for k, name in enumerate(names)}
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", Mesh(place, point_data=fields))
    (tmp_path / "run.toml").write_text(CONFIG, encoding="utf-8")
    more = ("--set", "data.meshes.test=1", "--set", "data.meshes.validation=1", "--quiet", "--output", "run")
    with Commands(**ASCII) as commands:
        code, out, said = commands.run(tmp_path, "train", "run.toml", *more)
        assert code == 0, said
        code, _, said = commands.run(
            tmp_path, "predict", "run/best.ckpt", "cases/case_0.vtu", "--output", "p", "--quiet"
        )
        assert code == 0, said
    assert rb"gr\xf6\xdfe" in out and len(list((tmp_path / "run" / "pictures").glob("fields_*.png"))) == 5
    assert "größe" in (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    assert {"größe_prediction", "日本_error", "a/b_prediction"} <= set(read_mesh(tmp_path / "p/case_0.vtu").point_data)


def test_arguments_are_what_their_bytes_say():
    assert argument("targets=['größe']") == "targets=['größe']"
    assert argument("größe".encode().decode("ascii", "surrogateescape")) == "größe"
    assert argument(LATIN.decode("ascii", "surrogateescape")) == "größe"


def test_streams_are_left_as_they_were(capsys):
    before = sys.stdout.errors
    with console():
        sys.stdout.write("größe \udcff")
    assert sys.stdout.errors == before and "größe" in capsys.readouterr().out


def test_files_of_pictures_are_different():
    names = file_names(["a b", "a/b", "a_b", "x" * 300, "é"])
    assert names[:3] == ["a_b", "a_b_2", "a_b_3"] and len(names[3]) < 100 and len(set(names)) == 5
