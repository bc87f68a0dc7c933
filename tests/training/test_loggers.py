"""Numbers of a run in MLflow and Weights & Biases, read back by their own clients."""

import csv
import os

import pytest

from pitgeo.mesh import write_mesh
from pitgeo.training import loggers
from pitgeo.training.loggers import make_loggers
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import small_run

DEPRECATED = "ignore:.*noload.*loader strategy is deprecated"  # in mlflow, with SQLAlchemy 2.1


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("WANDB_", "MLFLOW_")):
            monkeypatch.delenv(name)


@pytest.mark.filterwarnings(DEPRECATED)
def test_a_run_and_its_resumption_are_one_run_in_mlflow(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    out = tmp_path / "out"
    for number in range(10):
        write_mesh(tmp_path / "cases" / f"case_{number}.vtu", small_mesh(number))
    config = small_run(tmp_path, "cases/*.vtu", ["load"], ["u"], 'training.logger=["mlflow"]', "training.epochs=2")
    with without_pictures():
        train(config, out)
    with open(out / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    client = mlflow.MlflowClient(f"sqlite:///{out / 'mlflow.db'}")
    (experiment,) = [found for found in client.search_experiments() if found.name == "pitgeo"]
    (run,) = client.search_runs([experiment.experiment_id])
    logged = [entry.value for entry in client.get_metric_history(run.info.run_id, "epoch/val_error")]
    assert logged == pytest.approx([float(row["val_error"]) for row in rows])
    assert run.data.params["training/epochs"] == "2" and run.data.params["model/name"] == "pit"
    assert not (out / "tensorboard").exists()
    again = make_loggers(["mlflow"], out, {}, done=4)[0]
    assert again.run_id == run.info.run_id and make_loggers(["mlflow"], out, {}, done=0)[0].run_id != run.info.run_id


def test_weights_and_biases_gets_folder_name_and_whether_to_upload(tmp_path, monkeypatch):
    given = []

    class Stand:
        """Stands in for the logger, whose service would start a process."""

        def __init__(self, name, **options):
            given.append({"name": name, **options})

        def log_hyperparams(self, config):
            given[-1]["config"] = config

    monkeypatch.setattr(loggers, "WandbLogger", Stand)
    make_loggers(["wandb"], tmp_path / "run", {"a": 1}, done=0)
    monkeypatch.setenv("WANDB_API_KEY", "x")
    monkeypatch.setenv("WANDB_PROJECT", "plates")
    make_loggers(["wandb"], tmp_path / "run", {"a": 1}, done=7)
    first, second = given
    assert first["offline"] and not second["offline"] and first["id"] == second["id"] and first["config"] == {"a": 1}
    assert (first["project"], second["project"], second["resume"]) == ("pitgeo", "plates", "allow")


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError("No module named 'mlflow'")

    monkeypatch.setattr(loggers, "MLFlowLogger", missing)
    with pytest.raises(ImportError, match=r"'mlflow', which training.logger names .* pip install pitgeo.trackers"):
        make_loggers(["mlflow"], tmp_path, {}, 0)
