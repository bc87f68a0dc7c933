"""Exported programs, run where pitgeo is not, against pitgeo's own predictions."""

import json
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from pitgeo import PointData, load
from pitgeo.cli.main import main
from pitgeo.config.config import parse_config
from pitgeo.data.scaling import Scaling
from pitgeo.mesh import write_mesh
from pitgeo.models.registry import DataSpec, build
from pitgeo.prediction.export import export_model, program_inputs
from pitgeo.training.checkpoint_io import AtomicCheckpointIO, read_checkpoint
from pitgeo.training.module import OperatorModule
from pitgeo.workflows.run import train
from tests.datasets.folder.conftest import small_mesh
from tests.pictures import without_pictures
from tests.small_runs import small_run

ONNX = "needs onnx, onnxruntime and onnxscript: pip install 'pitgeo[export]'"
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}

RUN = """
import sys
sys.modules["pitgeo"] = None  # whoever imports it fails
import numpy as np
program, *files = sys.argv[1:]
if program.endswith(".onnx"):
    import onnxruntime
    session = onnxruntime.InferenceSession(program)
    apply = lambda inputs: session.run(None, inputs)[0]
else:
    import torch
    module = torch.export.load(program).module()
    apply = lambda inputs: module(**{name: torch.from_numpy(part) for name, part in inputs.items()}).numpy()
for file in files:
    np.save(file + ".npy", apply(dict(np.load(file))))
"""


def applied(program, several, folder):
    """What a program gives for several inputs in a process without pitgeo."""
    files = [str(folder / f"{number}.npz") for number in range(len(several))]
    for file, inputs in zip(files, several, strict=True):
        np.savez(file, **{name: part.numpy() for name, part in inputs.items()})
    command = [sys.executable, "-c", RUN, str(program), *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return [np.load(f"{file}.npy") for file in files]


def assert_same(values, truth):
    assert values.shape == tuple(truth.shape) and values.dtype == np.float32
    assert np.allclose(values, truth.numpy(), **TOLERANCE), np.abs(values - truth.numpy()).max()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Fields of points and cells, on points of their own, a number of the mesh, a category and logarithms."""
    root = tmp_path_factory.mktemp("run")
    for number in range(8):
        write_mesh(root / "cases" / f"case_{number}.vtu", small_mesh(number))
    changes = ['data.meshes.categories=["material"]', 'scaling.log=["q", "load"]', "training.epochs=2"]
    made = small_run(root, "cases/*.vtu", ["material", "load"], ["v", "q", "peak"], *changes)
    with without_pictures():
        return train(made, root / "out").checkpoint


@contextmanager
def traced_once():
    """One model is traced, which takes most of the time, and written in several ways."""
    with pytest.MonkeyPatch.context() as patch:
        traced, trace = [], torch.export.export
        patch.setattr(torch.export, "export", lambda *a, **b: (traced or traced.append(trace(*a, **b)) or traced)[0])
        yield


@pytest.fixture(scope="module", params=[".pt2", ".onnx"])
def program(request, run, tmp_path_factory):
    if request.param == ".onnx":
        for name in ("onnx", "onnxruntime", "onnxscript"):
            pytest.importorskip(name, reason=ONNX)
    return export_model(run, tmp_path_factory.mktemp("program") / f"model{request.param}", outputs="own")


def test_a_trained_model_gives_the_same_outside_on_meshes_of_any_size(program, run, tmp_path):
    predictor = load(run)
    samples = [predictor.table.mesh_sample(small_mesh(number, points=40 + 20 * number)) for number in (2, 5)]
    several = [program_inputs(predictor, sample) for sample in samples]
    for inputs in several:
        assert list(inputs) == list(program.inputs)
        for name, shape in program.inputs.items():
            assert [size for size in shape if isinstance(size, int)] in ([inputs[name].shape[-1]], [2])
    for values, sample in zip(applied(program.path, several, tmp_path), samples, strict=True):
        assert_same(values, predictor.predict(sample))


def test_the_file_says_what_it_is(program):
    if program.path.suffix == ".onnx":
        import onnx

        texts = {entry.key: entry.value for entry in onnx.load(program.path).metadata_props}
    else:
        texts = {"pitgeo.json": ""}
        torch.export.load(program.path, extra_files=texts)
    facts = json.loads(texts["pitgeo.json"])
    assert facts["inputs"] == program.inputs and facts["attention"] == "dense"
    assert facts["outputs"] == ["v_x", "v_y", "q", "peak"] and set(facts["graphs"]) == {"encoder", "decoder"}


def test_no_operator_of_pitgeo_or_torch_scatter_is_inside(program):
    if program.path.suffix == ".pt2":  # from which ONNX files are made
        nodes = torch.export.load(program.path).graph.nodes
        names = [str(node.target) for node in nodes if node.op == "call_function"]
        assert names and not any("pitgeo" in name or "torch_scatter" in name for name in names)


def test_one_size_for_one_mesh(run, tmp_path):
    predictor = load(run)
    sample = predictor.table.mesh_sample(small_mesh(1))
    program = export_model(run, tmp_path / "model.pt2", sample=sample)
    assert all(isinstance(size, int) for shape in program.inputs.values() for size in shape)
    loaded = torch.export.load(program.path).module()
    assert_same(loaded(**program_inputs(run, sample)).numpy(), predictor.predict(sample))
    with pytest.raises(AssertionError, match="Guard failed"):
        loaded(**program_inputs(run, predictor.table.mesh_sample(small_mesh(2))))


def variant(run, folder, data=None, channels=(2, 1), steps=1, scalings=None, **options):
    """A checkpoint of another, untrained model."""
    facts = read_checkpoint(run)["pitgeo"]
    inputs, targets = channels
    periodic = "period" in options.get("pit", {})
    scaling = {"box": "none"} if periodic else facts["config"]["scaling"]
    config = parse_config({"data": facts["config"]["data"], "model": options, "scaling": scaling})
    facts["box_scale"] = None if periodic else facts["box_scale"]
    spec = DataSpec(2 + inputs, targets, 2, 0.1, 1.0, steps=steps)
    facts |= {"config": config.plain(), "shape": vars(spec), "ranges": None}
    torch.manual_seed(0)
    given, wanted = scalings or (Scaling.identity(inputs), Scaling(torch.tensor([3.0]), torch.tensor([2.0])))
    module = OperatorModule(build(config.model.options, spec), given, wanted, config.training)
    AtomicCheckpointIO().save_checkpoint({"state_dict": module.state_dict(), "pitgeo": facts}, folder / "variant.ckpt")
    return load(folder / "variant.ckpt")


PIT = {"channels": 8, "heads": 2, "layers": 1, "encoder_quantile": 0.1, "decoder_quantile": 0.2}
LATENT = {"latent": {"method": "farthest", "number": 15}}
SELF = {"latent": {"method": "input"}, "attention": ["self", "self_position", "self_position"]}


@pytest.mark.parametrize(
    ("options", "outputs", "attention"),
    [
        ({**LATENT, "body": "paper", "output_quantile": 0.1, "positivity": "tan"}, "own", "dense"),
        ({**LATENT, "positivity": "sine_tan"}, "input", "fused"),
        ({**LATENT, "quadrature": True}, "own", "dense"),
        ({**LATENT, "period": [1.0, 0.0]}, "input", "dense"),
        ({**SELF}, "input", "dense"),
        ({**SELF}, "input", "fused"),
    ],
)
def test_every_kind_of_pit(options, outputs, attention, run, tmp_path):
    predictor = variant(run, tmp_path, name="pit", pit={**PIT, **options})
    with traced_once():
        program = export_model(predictor.path, tmp_path / "model.pt2", outputs=outputs, attention=attention)
        apply = torch.export.load(program.path).module()
        assert_is_the_model(lambda inputs: apply(**inputs).numpy(), predictor, outputs)
        pytest.importorskip("onnxscript", reason=ONNX)
        runtime = pytest.importorskip("onnxruntime", reason=ONNX)
        program = export_model(predictor.path, tmp_path / "model.onnx", outputs=outputs, attention=attention)
    session = runtime.InferenceSession(program.path)
    assert_is_the_model(
        lambda inputs: session.run(None, {name: part.numpy() for name, part in inputs.items()})[0], predictor, outputs
    )


def assert_is_the_model(apply, predictor, outputs):
    for size in (60, 90):
        sample = PointData(pos=torch.rand(size, 2), x=torch.rand(size, 2))
        if outputs == "own":
            sample.set_points("out", torch.rand(size // 3, 2))
        assert_same(apply(program_inputs(predictor, sample)), predictor.predict(sample))


def test_models_of_steps_and_scalings_of_every_point(run, tmp_path):
    scalings = Scaling(torch.rand(60, 2), 1 + torch.rand(60, 2)), Scaling(torch.rand(60, 2), 1 + torch.rand(60, 2))
    predictor = variant(run, tmp_path, name="pit", pit={**PIT, **LATENT}, steps=2, scalings=scalings)
    program = export_model(predictor.path, tmp_path / "model.pt2")
    assert program.inputs["pos"] == [60, 2] and program.inputs["pos_latent"] == ["latent_points", 2]
    sample = PointData(pos=torch.rand(60, 2), x=torch.rand(60, 2))
    values = torch.export.load(program.path).module()(**program_inputs(predictor, sample))
    assert values.shape == (60, 2)
    assert_same(values.numpy(), predictor.predict(sample))


def test_length_scales_of_any_size_are_exact_in_dense_form(run, tmp_path):
    predictor = variant(run, tmp_path, name="pit", pit={**PIT, **LATENT})
    sample = PointData(pos=torch.rand(60, 2), x=torch.rand(60, 2))
    before = predictor.predict(sample)
    for block in predictor.model.processor:
        block.attention.scale.raw.data.fill_(100.0)
    module = predictor.module
    facts = read_checkpoint(predictor.path)["pitgeo"]
    AtomicCheckpointIO().save_checkpoint({"state_dict": module.state_dict(), "pitgeo": facts}, tmp_path / "sharp.ckpt")
    sharp = load(tmp_path / "sharp.ckpt")
    program = export_model(sharp.path, tmp_path / "model.pt2")
    values = torch.export.load(program.path).module()(**program_inputs(sharp, sample))
    assert_same(values.numpy(), sharp.predict(sample))
    assert not np.allclose(values.numpy(), before.numpy(), rtol=1e-3)


def test_the_command(run, tmp_path, capsys):
    target = tmp_path / "new" / "model.pt2"
    assert main(["export", str(run), str(target), "--outputs", "own"]) == 0
    printed = capsys.readouterr().out
    assert "pos_out: output_points x 2\n" in printed and "gives: v_x, v_y, q, peak" in printed
    assert torch.export.load(target) and [path.name for path in target.parent.iterdir()] == ["model.pt2"]


def test_what_cannot_be_exported_is_refused(run, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"ends in \.pt2 or \.onnx \(got .*model\.pt\)"):
        export_model(run, tmp_path / "model.pt")
    with pytest.raises(ValueError, match=r"'outputs' to be one of .* \(got 'own points'\)"):
        export_model(run, tmp_path / "model.pt2", outputs="own points")
    predictor = variant(run, tmp_path, name="mlp")
    for call in (
        lambda: export_model(predictor.path, tmp_path / "model.pt2"),
        lambda: program_inputs(predictor, PointData(pos=torch.rand(5, 2), x=torch.rand(5, 2))),
    ):
        with pytest.raises(ValueError, match=r"kind 'pit' to export \(got .*'mlp'\)"):
            call()
    periodic = variant(run, tmp_path, name="pit", pit={**PIT, **LATENT, "period": [1.0, 1.0]})
    with pytest.raises(ValueError, match="'dense' on a periodic domain"):
        export_model(periodic.path, tmp_path / "model.pt2", attention="fused")
    with pytest.raises(ValueError, match=r"4 input channels.*\(got 2 coordinates and values of shape \[5, 1\]\)"):
        program_inputs(periodic, PointData(pos=torch.rand(5, 2), x=torch.rand(5, 1)))
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r"pip install 'pitgeo\[export\]'"):
        export_model(run, tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["variant.ckpt"]
