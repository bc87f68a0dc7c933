"""Turned samples in training: resumes, scalings, losses, whole runs, and what is refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback
from torch_geometric.data import Batch

from pitgeo import load
from pitgeo.config.config import ConfigError, TrainingConfig
from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable, MeshField
from pitgeo.data.scaling import Scaling
from pitgeo.data.transforms import AttentionGraphs, Compose, LatentMesh, UnitBox
from pitgeo.mesh import write_mesh
from pitgeo.nn import Body, PiT
from pitgeo.training import FORMAT, InterruptionError, OperatorModule, fit, read_checkpoint
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.small_runs import small_run
from tests.trained import At, send

GRAPHS = AttentionGraphs(encoder=0.5, decoder=0.7)
TABLE = FieldTable((MeshField("pull", 2, "mesh"),), (MeshField("flow", 2), MeshField("heat")), 2)
REFERENCE = {"mean": [1.0, 2.0, 3.0], "variation": [1.0, 3.0, 7.0]}


def samples(*sizes: int) -> list[PointData]:
    """Samples whose targets turn with them: the flow is the place times its product with the pull."""
    generator = torch.Generator().manual_seed(3)
    prepare = Compose((LatentMesh("farthest", number=3), GRAPHS, UnitBox(0.5)))
    made = []
    for number, size in enumerate(sizes):
        pos, pull = torch.rand(size, 2, generator=generator), torch.randn(1, 2, generator=generator)
        pos = pos - (pos.amax(0) + pos.amin(0)) / 2
        along = (pos * pull).sum(1, keepdim=True)
        y = torch.cat([pos * along, along + 2], 1)
        made.append(prepare(PointData(pos=pos, x=pull.repeat(size, 1), y=y, sample_id=number)))
    return made


def module(augment: tuple[str, ...] = ("turn", "mirror_x"), **options: object) -> OperatorModule:
    torch.manual_seed(0)
    model = PiT(4, 3, channels=8, heads=2, graphs=GRAPHS, body=Body(layers=1))
    training = TrainingConfig(**{"augment": augment, "device": "cpu", "epochs": 2, "batch_size": 2, **options})
    metadata = {"format": FORMAT, "config": {}, "table": TABLE.plain(), "reference": REFERENCE}
    return OperatorModule(model, Scaling.identity(2), Scaling.identity(3), training, metadata=metadata)


@pytest.mark.parametrize(("step", "most"), [(2, None), (3, None), (4, 5)])
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path: Path, step: int, most: int | None) -> None:
    def run(folder: Path, resume: bool = False, callbacks: tuple[Callback, ...] = ()) -> dict[str, torch.Tensor]:
        own = module(query_points=most)
        torch.manual_seed(99 if resume else 1)
        fit(own, samples(6, 4, 9, 7, 5), samples(6), folder, resume, callbacks=callbacks)
        return dict(read_checkpoint(folder / "last.ckpt")["state_dict"])

    straight = run(tmp_path / "straight")
    with pytest.raises(InterruptionError):
        run(tmp_path / "torn", callbacks=(At(step, send(signal.SIGINT)),))
    torn = run(tmp_path / "torn", resume=True)
    assert all(torch.equal(straight[key], torn[key]) for key in straight)
    plain = module(augment=())
    torch.manual_seed(1)
    fit(plain, samples(6, 4, 9, 7, 5), samples(6), tmp_path / "plain")
    other = read_checkpoint(tmp_path / "plain" / "last.ckpt")["state_dict"]
    assert not all(torch.equal(straight[key], other[key]) for key in straight)


def test_only_training_samples_are_turned() -> None:
    own, batch = module(), Batch.from_data_list(samples(8, 5))
    turned = own.train().on_before_batch_transfer(batch, 0)
    assert not torch.allclose(turned.pos, batch.pos)
    for (
        sample
    ) in turned.to_data_list():  # about the centre of the box, and centred anew: the products with it are moved
        pull, back = sample.x[0], 2 * sample.pos
        flow = sample.y[:, :2]
        along = sample.y[:, 2:] - 2
        shift = torch.linalg.lstsq(pull[None].double(), (along[0] - back[0] @ pull)[None].double()).solution[:, 0]
        moved = (back.double() + shift) @ pull.double()
        assert torch.allclose(moved, along[:, 0].double(), atol=1e-5)
        assert torch.allclose(flow.double() / along, (flow / along).double())
    same = own.eval().on_before_batch_transfer(batch, 0)
    assert torch.equal(same.pos, batch.pos) and torch.equal(same.x, batch.x) and torch.equal(same.y, batch.y)


def test_the_loss_of_a_turned_sample_is_that_of_the_turned_file() -> None:
    own, raw = module(("quarter_turn",)), samples(9)[0]
    own.train()
    torch.manual_seed(5)
    batch = own.on_before_batch_transfer(Batch.from_data_list([raw]), 0)
    turned = PointData(pos=batch.pos, x=batch.x, y=batch.y, sample_id=0)
    prepared = Compose((LatentMesh("farthest", number=3), GRAPHS))(turned)
    assert torch.allclose(own.training_step(batch, 0), own.eval()._error(Batch.from_data_list([prepared])).mean())


def test_the_variation_of_a_turned_vector_is_one_number() -> None:
    plain, turned, mirrored = (module(names, loss="variation_l2").variation for names in ((), ("turn",), ("mirror_x",)))
    assert plain is not None and turned is not None and mirrored is not None
    assert plain.tolist() == [1.0, 3.0, 7.0]
    assert turned.tolist() == pytest.approx([np.sqrt((1 + 1 + 9 + 4) / 2)] * 2 + [7.0])
    assert mirrored.tolist() == pytest.approx([np.sqrt((1 + 1 + 9) / 2)] * 2 + [7.0])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("augment")
    for number in range(8):
        mesh = small_mesh(number)
        rng = np.random.default_rng(number)
        mesh = mesh.with_point_data("left", (mesh.points[:, 0] < 0.4).astype(np.int64))
        mesh = mesh.with_field_data("pull", 5.0 + rng.normal(size=2) * (1, 3))
        write_mesh(root / "cases" / f"case_{number}.vtu", mesh)
    return root


@pytest.mark.usefixtures("no_pictures")
def test_a_whole_run(root: Path) -> None:
    changes = ['training.augment=["turn","mirror_x"]', "scaling.reference.v=norm(pull)"]
    inputs = ["pull", "pull@left", "load", "u"]
    predictor = load(
        train(small_run(root, "cases/*.vtu", inputs, ["v", "q", "peak"], *changes), root / "out").checkpoint
    )
    scaling, targets = (predictor.module.input_scaling, predictor.module.target_scaling)
    meshes = [small_mesh(number) for number in range(8)]
    names = [Path(name).stem[-1] for name in predictor.facts["split"]["train"]]
    pulls = np.array([5.0 + np.random.default_rng(int(name)).normal(size=2) * (1, 3) for name in names])
    size = np.sqrt((pulls**2).mean())
    for start in (0, 2):  # everywhere alike, and in the set
        weights = np.array([len(meshes[int(name)].points) for name in names])
        own = np.sqrt((weights[:, None] * pulls**2).sum() / weights.sum() / 2) if start == 0 else size
        assert scaling.mean[start : start + 2].tolist() == pytest.approx([0.0, 0.0], abs=1e-6)
        assert scaling.std[start : start + 2].tolist() == pytest.approx([own, own], rel=1e-5)
    assert targets.mean[:2].tolist() == pytest.approx([0.0, 0.0], abs=1e-6) and targets.std[0] == targets.std[1]
    assert targets.mean[2] > 1  # of the scalar at the cells


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["training.augment=['turn_z']"], r"symmetries in 2D, of mirror_x, mirror_y, turn, quarter_turn .got 'turn_z'"),
        (["data.meshes.geometry=['coordinates']"], "no geometry input 'coordinates'"),
        (["scaling.targets=point"], "'none' or 'channel' .got 'point'"),
        (["scaling.log=['v']"], "no vector or tensor in scaling.log .got 'v'"),
        (["scaling.reference.v=pull_x"], "no component of a vector in scaling.reference.v .got 'pull_x'"),
        (["model.pit.latent={method='regular',cells=[3,3]}"], "latent points by 'regular'"),
        (["model.name=fno", "model.fno.cells=[4,4]", "model.fno.modes=1"], "that do not depend on the direction"),
        (["model.pit.period=[2.0,2.0]", "scaling.box=none"], "no period .got .2.0, 2.0"),
        (["model.name=pod"], "no training.augment with model.name = 'pod'"),
    ],
)
def test_what_does_not_go_with_turned_samples(root: Path, tmp_path: Path, changes: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(small_run(root, "cases/*.vtu", ["pull"], ["v"], 'training.augment=["turn"]', *changes), tmp_path / "out")


def test_what_a_configuration_refuses(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"training.augment: expected one of 'mirror_x', .* .got .mirror."):
        small_run(root, "cases/*.vtu", ["pull"], ["v"], f"training.augment={json.dumps(['mirror'])}")
    with pytest.raises(ConfigError, match=r"training.augment_as"):
        small_run(root, "cases/*.vtu", ["pull"], ["v"], "training.augment_as.v=arrow")


def test_metadata_without_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="'metadata' with a 'table'"):
        OperatorModule(
            PiT(4, 3, 8, 2, GRAPHS), Scaling.identity(2), Scaling.identity(3), TrainingConfig(augment=("turn",))
        )
