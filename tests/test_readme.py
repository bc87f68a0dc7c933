"""The README's examples run as they stand, and print what they say; what its commands name is there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from pitgeo.cli import main
from pitgeo.config.toml import tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    shlex.split(line, comments=True)
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]
OF_PITGEO = [command[1:] for command in COMMANDS if command[0] == "pitgeo"]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = EXAMPLES[number]
    exec(compile(code, f"README.md, example {number + 1}", "exec"), {})
    promised = re.findall(r"^print\(.*\)  # ([^:\n]+)", code, re.MULTILINE)
    assert promised and capsys.readouterr().out.splitlines() == promised


def test_commands_for_meshes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[0], "README.md, example 1", "exec"), {})
    for folder in ("cases", "new"):
        shutil.copytree("runs/heights-meshes", folder, ignore=shutil.ignore_patterns("cache"))
    assert [command[0] for command in OF_PITGEO] == ["describe", "train", "predict"]
    for command in OF_PITGEO:
        short = ["--set", "training.epochs=1"] if command[0] == "train" else []
        assert main([*command, *short]) == 0
    assert len(list(Path("predicted").glob("*.vtu"))) == 12


@pytest.mark.parametrize("command", [command for command in COMMANDS if command[0] != "pitgeo"], ids=" ".join)
def test_what_commands_name_is_there(command):
    if command[0] == "make":
        assert f"\n{command[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif command[0] == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(re.findall(r"\[(\w+)\]", command[2])) <= set(project["optional-dependencies"])
    else:
        assert command[0] == "python"
        assert main([Path(command[1]).stem, str(ROOT / command[2]), *command[3:], "--dry-run"]) == 0
