"""What can be compared: models by name, and files with changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitgeo.config.config import load_config
from pitgeo.config.toml import ConfigError
from pitgeo.models.registry import MODELS
from pitgeo.workflows.compare import model_variants, read_variants

CONFIG = Path(__file__).parents[3] / "configs" / "elasticity_quick.toml"


def test_models() -> None:
    assert model_variants(["fno", "mlp"]) == {"fno": ('model.name="fno"',), "mlp": ('model.name="mlp"',)}
    assert list(model_variants(["all"])) == list(MODELS) == list(model_variants(["all", "mlp"]))
    assert list(model_variants(["mlp", "all"])) == ["mlp", *(name for name in MODELS if name != "mlp")]
    with pytest.raises(
        ValueError, match=r"Expected models among pit, mlp, .* \(got 'fno_pluss'\); did you mean 'fno_plus'"
    ):
        model_variants(["pit", "fno_pluss"])


def test_files_change_what_they_name(tmp_path: Path) -> None:
    (tmp_path / "wide.toml").write_text(
        'label = "PiT, wide"\n[model.pit]\nchannels = 128\nattention = ["self", "position", "self"]\n'
        '[model.pit.latent]\nnumber = 100\nmethod = "farthest"\n[training]\nlearning_rate = 1e-3\n'
        '[data.elasticity]\nroot = "a \\"quoted\\" place"\n'
    )
    (tmp_path / "as_it_is.toml").write_text("")
    variants = read_variants([tmp_path / "wide.toml", tmp_path / "as_it_is.toml"])
    assert list(variants) == ["PiT, wide", "as_it_is"] and variants["as_it_is"] == ()
    config = load_config(CONFIG, variants["PiT, wide"])
    pit = config.model.options
    assert (pit.channels, pit.heads, pit.attention, pit.latent.number) == (128, 4, ("self", "position", "self"), 100)
    assert config.training.learning_rate == 1e-3 and config.data.options.root == 'a "quoted" place'


@pytest.mark.parametrize(
    ("text", "message"),
    [("label = 3", "label: expected a text"), ("label = ", r"not valid TOML \("), ('label = "  "', "expected a text")],
)
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "one.toml"
    with pytest.raises(ConfigError, match=r"one.toml: no such file"):
        read_variants([path])
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"one.toml: .*{message}"):
        read_variants([path])
    path.write_text('label = "a"')
    with pytest.raises(ConfigError, match=r"ones.toml: no such file of a variant; did you mean .*one.toml\?"):
        read_variants([tmp_path / "ones.toml"])
    path.with_name("two.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"two.toml: cannot be read \("):
        read_variants([path, path.with_name("two.toml")])
    with pytest.raises(ConfigError, match="another one than in the files before"):
        read_variants([path, path])
