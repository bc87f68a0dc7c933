"""The search with Optuna: it ends, goes on, and names the options of the best trial."""

import shlex

import pytest

from pitgeo.mesh import write_mesh
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import CONFIG, SMALL

pytest.importorskip("optuna")


@pytest.mark.filterwarnings("ignore:.*noload.*loader strategy is deprecated")  # in SQLAlchemy 2.1's users
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_study_goes_on_and_names_the_best_options(tmp_path, capsys):
    from examples.search_options import main, validation_error

    for number in range(8):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", small_mesh(number))
    data = [f'data.meshes.files="{tmp_path}/cases/*.vtu"', f'data.meshes.cache="{tmp_path}/cache"']
    data += ['data.meshes.inputs=["load"]', 'data.meshes.targets=["u"]', "model.pit.latent.number=10"]
    given = [option for option in (*SMALL, *data) if not option.startswith(("training.epochs", "model.pit.heads"))]
    sets = [part for option in given for part in ("--set", option)]
    for _ in range(2):
        with without_pictures():
            main([str(CONFIG), "--output", str(tmp_path / "study"), "--trials", "1", "--epochs", "1", *sets])
    errors = [validation_error(tmp_path / "study" / f"trial_{number:03}") for number in range(2)]
    *_, said, command = capsys.readouterr().out.strip().splitlines()
    assert f"validation error {min(errors):.4f}" in said
    assert command.startswith(f"pitgeo train {CONFIG} --set ") and "model.pit.encoder_quantile=" in command
    words = shlex.split(command)  # as a shell takes them: quotes of TOML stay
    assert [word for word in words if word in given] == given
    (tmp_path / "metrics.csv").write_text("epoch,val_error\n1,\n2,0.3\n")  # not every epoch is validated
    assert validation_error(tmp_path) == 0.3
