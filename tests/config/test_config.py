"""Configurations: typed, frozen, and every mistake named with its file, its key and the nearest valid one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from benchmarks.paper.table import BENCHMARKS
from pitgeo.config.config import RunConfig, difference, load_config, parse_config, schema, to_toml
from pitgeo.config.toml import ConfigError, toml_text, tomllib
from pitgeo.data import PointData
from pitgeo.graphs.neighbors import quantile

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


class Latent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    method: Literal["input", "grid"] = "input"
    cells: tuple[int, ...] | None = None


class Net(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    channels: int = 64
    latent: Latent = Latent()


class Other(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    width: int | Literal["auto"] = 7


RUN = schema({"plates": Other}, {"net": Net, "other": Other})
TEXT = """
[data]
name = "plates"

[model]
name = "net"

[model.net.latent]
method = "grid"
cells = [3, 4]

[training]
learning_rate = 1
clip = 2.5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(TEXT)
    return path


def load(path: Path, *overrides: str) -> RunConfig:
    return load_config(path, overrides, RUN)


def failure(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(path, *overrides)
    return str(error.value)


def test_a_file_becomes_a_typed_configuration(path: Path) -> None:
    config = load(path)
    assert isinstance(config, RunConfig)
    assert config.model.options == Net(latent=Latent(method="grid", cells=(3, 4)))
    assert config.training.learning_rate == 1.0 and config.training.clip == 2.5
    assert config.training.epochs == 100 and config.training.norm == 2
    assert config.data.options.width == 7


def test_a_byte_order_mark_is_passed_over(path: Path) -> None:
    expected = load(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path) == expected


@pytest.mark.parametrize("override", ["model.pit.divisor=inf", "model.pit.period=[inf, 1.0]", "data.meshes.memory=nan"])
def test_options_are_finite(override: str) -> None:
    with pytest.raises(ConfigError, match="expected a finite number"):
        load_config(CONFIGS[0].parent / "meshes.toml", [override])


def test_it_is_frozen(path: Path) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load(path).training.epochs = 3


def test_overrides(path: Path) -> None:
    config = load(
        path, "training.epochs=5", "model.name=other", "training.loss='relative_l1'", "model.other.width=auto"
    )
    assert (config.training.epochs, config.training.loss, config.training.norm) == (5, "relative_l1", 1)
    assert config.model.name == "other" and config.model.options.width == "auto"
    assert load(path, "model.net.latent.cells = [5, 6]").model.options.latent.cells == (5, 6)
    assert load(path, "training.learning_rate=1e-3").training.learning_rate == 1e-3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.epoch=5", "unknown key 'training.epoch'; did you mean 'training.epochs'?"),
        ("epochs=5", "unknown key 'epochs'; did you mean 'training.epochs'?"),
        (
            "model.net.latent.methd='grid'",
            "unknown key 'model.net.latent.methd'; did you mean 'model.net.latent.method'?",
        ),
        ("modle.name='net'", "unknown key 'modle'; did you mean 'model'?"),
        (
            "scaling.zzz=1",
            "unknown key 'scaling.zzz'; the keys there are 'scaling.box', 'scaling.inputs', 'scaling.targets'",
        ),
        ("training.epochs=many", 'training.epochs: expected a valid integer (got "many")'),
        ("training.epochs='5'", 'training.epochs: expected a valid integer (got "5")'),
        ("training.epochs=5.5", "training.epochs: expected a valid integer (got 5.5)"),
        ("training.epochs=true", "training.epochs: expected a valid integer (got true)"),
        ("training.epochs=0", "training.epochs: expected greater than 0 (got 0)"),
        ("training.learning_rate=nan", "training.learning_rate: expected"),
        ("training=5", "training: expected a table (got 5)"),
        ("model.name=nett", "did you mean 'net'?"),
        ("model.net.latent.cells=[1, 'b']", 'model.net.latent.cells: expected a valid integer (got "b")'),
        ("model.other.width=1.5", "model.other.width: expected 'auto' or a valid integer (got 1.5)"),
        ("training.huber_threshold=2", "expected training.loss = 'huber' with training.huber_threshold"),
        ("training.epochs", "expected KEY=VALUE"),
        ("model.name.x=1", "model.name is not a table"),
    ],
)
def test_a_wrong_override_is_named(path: Path, override: str, message: str) -> None:
    text = failure(path, override)
    assert text.startswith(f"'overrides' {override}: "), text
    assert message in text


def test_a_wrong_file_is_named(path: Path) -> None:
    path.write_text(TEXT + "epoch = 4\nclips = 1\n")
    text = failure(path)
    assert f"{path}: unknown key 'training.epoch'; did you mean 'training.epochs'?" in text
    assert f"{path}: unknown key 'training.clips'; did you mean 'training.clip'?" in text
    path.write_text(TEXT.replace('name = "net"', ""))
    assert failure(path) == f"{path}: the key 'model.name' is missing"
    path.write_text(TEXT.replace("clip = 2.5", "clip = 'x'"))
    assert failure(path) == f'{path}: training.clip: expected a valid number (got "x")'
    path.write_text(TEXT + "oops")
    assert failure(path).startswith(f"{path}: not valid TOML (")
    path.write_bytes(b"\xff\xfe")
    assert failure(path).startswith(f"{path}: cannot be read")


def test_the_messages_of_options_come_through() -> None:
    path = CONFIGS[0]
    with pytest.raises(ConfigError, match=r"model.pit: expected 'heads' to divide 'channels' = \d+ \(got 3\)$"):
        load_config(path, ["model.pit.heads=3"])


def test_a_missing_file_is_named(path: Path) -> None:
    near = path.with_name("runs.toml")
    assert failure(near) == f"{near}: no such configuration file; did you mean {path}?"
    assert failure(path.with_name("unlike")).endswith("unlike: no such configuration file")


def test_toml_round_trip(path: Path) -> None:
    config = load(path, "training.seed=7")
    path.write_text(to_toml(config))
    assert load(path) == config
    assert parse_config(config.plain(), run=RUN) == config


def test_difference(path: Path) -> None:
    first, second = load(path).plain(), load(path, "training.epochs=5", "model.net.latent.cells=[1]").plain()
    assert difference(first, second) == ["model.net.latent.cells", "training.epochs"]
    assert difference(first, first) == []


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_the_configurations_that_come_with_it(path: Path) -> None:
    config = load_config(path)
    assert parse_config(config.plain()) == config
    if path.stem in BENCHMARKS:  # the paper's runs choose no checkpoint
        assert config.data.options.validation == 0 and config.training.epochs == 500


def test_switching_the_model_does_not_trip_over_the_other_ones_keys() -> None:
    for path in CONFIGS:
        assert load_config(path, ["model.name=mlp"]).model.name == "mlp"


def test_ties_survive_the_unit_box() -> None:
    side = 21
    axes = torch.meshgrid(*[10 + torch.arange(side) / (side - 1)] * 2, indexing="ij")
    data = PointData(pos=torch.stack(axes, -1).reshape(-1, 2))
    table = {"data": {"name": "elasticity"}, "model": {"name": "pit", "pit": {"latent": {"method": "input"}}}}
    config = parse_config(table, ["scaling.box='unit'", "model.pit.encoder_quantile=0.05"])
    degree = config.transform(1 / 3)(data).graph("encoder").degree
    assert torch.equal(degree, quantile(data.pos, data.pos, 0.05).degree)
    assert int(degree.max()) > int(degree.min())


def test_a_period_and_a_unit_box_do_not_go_together() -> None:
    table = {"data": {"name": "elasticity"}, "model": {"name": "pit"}}
    with pytest.raises(ConfigError, match=r"^configuration: expected scaling.box = 'none' with a period"):
        parse_config(table, ["scaling.box='unit'", "model.pit.period=[1.0, 1.0]"])


def test_a_scaling_of_every_point_and_a_graded_grid_do_not_go_together() -> None:
    table = {"data": {"name": "darcy2d"}, "model": {"name": "pit"}, "scaling": {"targets": "point"}}
    parse_config(table)
    with pytest.raises(ConfigError, match="grading"):
        parse_config(table, ["data.darcy2d.grading=0.5"])
    parse_config(table, ["data.darcy2d.grading=0.5", "scaling.targets='channel'"])


def test_the_body_of_residual_blocks_says_what_to_do():
    tables = {"data": {"name": "smoothing"}, "model": {"name": "pit", "pit": {"body": "residual"}}}
    with pytest.raises(ConfigError, match=r"old\.ckpt.*'residual', which this version no longer has\); train again"):
        parse_config(tables, source="old.ckpt")


def test_every_character_of_a_name_comes_back():
    """JSON leaves one as it is that TOML has only in another form."""
    text = 'a\x7fb\u00fc\n"c"'
    assert tomllib.loads(toml_text({"data": {"inputs": [text], "root": text}})) == {
        "data": {"inputs": [text], "root": text}
    }
