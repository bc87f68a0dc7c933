"""Programs on the pages run as they stand, their networks keep what is said of them, and what pages name is there."""

import contextlib
import importlib
import importlib.util
import io
import json
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import plates_samples as plates
import pytest
import torch
from torch_geometric.data import Batch

from pitgeo import load
from pitgeo.cli import main
from pitgeo.config.config import parse_config
from pitgeo.config.toml import ConfigError
from pitgeo.data import PointData
from pitgeo.datasets import DATASETS
from pitgeo.mesh import read_mesh
from pitgeo.models.registry import MODELS, DataSpec
from pitgeo.testing import (
    assert_batch_independent,
    assert_gradients,
    assert_parameters_used,
    assert_permutation_equivariant,
    assert_rigid_motion_invariant,
)
from tests.pictures import without_pictures
from tests.prediction.test_export import traced_once

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("datasets/*/README.md"))]
PAGES += [ROOT / "benchmarks" / "speed" / "README.md", ROOT / "benchmarks" / "tried.md"]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def sections():
    """The program of the page on extending, section by section."""
    text = (ROOT / "examples/own/ellipses.py").read_text(encoding="utf-8")
    return re.split(r"^# \[\w+\]\n", text, flags=re.MULTILINE)[1:-1]


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@each_page
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    for link in (link for link in links if not link.startswith("https://")):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: no file {name}"
        assert not anchor or anchor in anchors(target), f"{page.name}: no heading {link}"
    assert page.name == "CHANGELOG.md" or len(set(anchors(page))) == len(anchors(page))  # releases have equal parts


@each_page
def test_what_pages_name_is_there(page):
    """Files of the repository, and modules and names of pitgeo."""
    if page.name == "CHANGELOG.md":
        return  # it names what has moved, too
    text = page.read_text(encoding="utf-8")
    starts = "scripts|configs|pitgeo|benchmarks|tests|docs|datasets"
    for name in re.findall(rf"(?<![\w/.])(?:{starts})/[\w/.*{{}},-]*\w\.(?:py|toml|md)", text):
        stem, inner, ending = re.fullmatch(r"([^{]*)(?:\{([^}]*)\})?(.*)", name).groups()
        for one in inner.split(",") if inner else [""]:
            assert list(ROOT.glob(f"{stem}{one}{ending}")), f"no file {stem}{one}{ending}"
    for name in re.findall(r"`(pitgeo(?:\.\w+)+)[`(]", text):
        if name != "pitgeo.json":
            head, parts = importlib.import_module("pitgeo"), name.split(".")[1:]
            for number, part in enumerate(parts, 1):
                if not hasattr(head, part):
                    importlib.import_module(".".join(["pitgeo", *parts[:number]]))
                head = getattr(head, part)


def test_the_table_of_packages_is_complete():
    named = re.findall(r"`pitgeo/(\w+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert set(named) == {path.parent.name for path in ROOT.glob("pitgeo/*/__init__.py")}


@pytest.fixture
def run(monkeypatch):
    """Runs a program as a module that can be found by its name, as PyG looks for the layers in it."""
    return lambda code, name: execute(code, name, monkeypatch)


def execute(code, name, patch):
    module = types.ModuleType("example")
    patch.setitem(sys.modules, "example", module)
    exec(compile(code, name, "exec"), module.__dict__)
    return module.__dict__


COMPOSING = [(ROOT / f"examples/own/{name}.py").read_text() for name in ("after_gat", "point_unet", "edge_network")]


def double(sample):
    return sample.clone().apply(lambda value: value.double() if value.is_floating_point() else value)


def test_there_are_three_programs_that_compose():
    assert len(COMPOSING) == 3 and all("assert " in code and "losses" in code for code in COMPOSING)


@pytest.mark.parametrize(("number", "motion"), [(0, "rigid"), (1, "translation"), (2, "translation")])
def test_composed_networks_train_and_keep_what_is_said_of_them(number, motion, run):
    names = run(COMPOSING[number], f"composed network {number + 1}")
    model = names["model"].double().eval()
    samples = [double(sample) for sample in names["samples"][:3]]
    assert len({sample.num_nodes for sample in samples}) == 3
    assert_permutation_equivariant(model, samples[0])
    assert_batch_independent(model, samples)
    assert_rigid_motion_invariant(model, samples[0], motion=motion)
    if motion == "translation":  # the page says that these two see rotations
        with pytest.raises(AssertionError, match="moved rigidly"):
            assert_rigid_motion_invariant(model, samples[0])
    assert_parameters_used(model, samples[0])
    torch.manual_seed(1)
    assert_gradients(lambda *parts: model(*parts), samples[0])  # a function: not of every parameter, one by one


@pytest.fixture
def registries():
    """What the page registers is gone after the test."""
    before = [(registry, dict(registry)) for registry in (DATASETS, MODELS)]
    yield
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


@pytest.mark.usefixtures("registries")
def test_the_page_on_extending_is_one_program(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ellipses.toml").write_text((ROOT / "examples/own/ellipses.toml").read_text(), encoding="utf-8")
    names = run("\n".join(sections()), "docs/extending.md")
    sample = names["options"].test_samples()[0]
    assert capsys.readouterr().out.splitlines()[-1] == f"torch.Size([{sample.num_nodes}, 1])"
    found = json.loads((tmp_path / "runs" / "ellipses" / "evaluation.json").read_text(encoding="utf-8"))
    assert found["samples"] == 4 and found["errors"]["u"]["relative_l2"]["mean"] < 1
    assert len(list((tmp_path / "runs" / "ellipses" / "meshes").glob("*.vtu"))) == 3
    spec = DataSpec(3, 1, 2, 0.1, 1.0)
    model, prepared = names["PowerOptions"]().build(spec).double(), double(names["samples"][0])
    shared = PointData(pos=prepared.pos, x=torch.stack([prepared.x, 2 * prepared.x]))  # as the page says
    alone = [model(PointData(pos=prepared.pos, x=x)) for x in shared.x]
    assert torch.allclose(model(shared), torch.stack(alone), atol=1e-12)


@pytest.mark.usefixtures("registries")
def test_the_example_is_a_solution(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run("\n".join(sections()[:2]), "docs/extending.md")
    options = names["EllipsesOptions"](train=2, test=1, generate=3, points=60)
    options.prepare(progress=False)
    for sample in options.training_parts()[0]:
        pos, source, u = sample.pos.double(), sample.x[0].double(), sample.y.double()
        squares = torch.cat([torch.ones_like(u), pos.square()], 1)
        fitted = torch.linalg.lstsq(squares, u).solution  # u = c + d x^2 + e y^2, so its Laplacian is 2 (d + e)
        assert torch.allclose(squares @ fitted, u, atol=1e-6)
        assert float(-2 * (fitted[1] + fitted[2])) == pytest.approx(float(source), rel=1e-4)


@pytest.mark.usefixtures("registries")
def test_registered_names_are_in_the_schema_and_go_again(run):
    run("\n".join(sections()[:4]), "docs/extending.md")
    tables = {"data": {"name": "ellipses"}, "model": {"name": "power"}}
    assert parse_config(tables).model.options.channels == 16
    with pytest.raises(ConfigError, match=r"unknown key 'data.ellipses.point'; did you mean 'data.ellipses.points'"):
        parse_config({**tables, "data": {"name": "ellipses", "ellipses": {"point": 3}}})


POOLING = (ROOT / "examples/own/pooling.py").read_text()


@pytest.mark.usefixtures("registries")
def test_a_model_on_dense_arrays_is_added(run):
    names = run(POOLING, "examples/own/pooling.py")
    assert MODELS["pooling"] is names["PoolingOptions"]
    tables = {"data": {"name": "elasticity"}, "model": {"name": "pooling", "pooling": {"layers": 3}}}
    model = parse_config(tables).model.options.build(DataSpec(5, 2, 2, 0.1, 1.0)).double()
    assert len(model.layers) == 3
    samples = [PointData(pos=torch.rand(size, 2).double(), x=torch.rand(size, 3).double()) for size in (9, 1, 5)]
    assert_permutation_equivariant(model, samples[0])
    assert_batch_independent(model, samples)
    assert_parameters_used(model, samples[0])
    changed = PointData(pos=samples[0].pos, x=samples[0].x.index_add(0, torch.tensor([8]), torch.ones(1, 3).double()))
    assert not torch.allclose(model(changed)[:8], model(samples[0])[:8], atol=1e-6)  # points see each other
    with pytest.raises(ConfigError, match=r"unknown key 'model.pooling.layer'"):
        parse_config({**tables, "model": {"name": "pooling", "pooling": {"layer": 3}}})


def rows_of_models():
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (yes|no) \| (yes|no) \| (yes|no) \|$", (DOCS / "models.md").read_text(), re.M
    )
    return {name: tuple(word == "yes" for word in words) for name, *words in rows}


def test_the_page_has_every_model():
    assert set(MODELS) == set(rows_of_models())


@pytest.mark.parametrize("name", [name for name in rows_of_models() if name in MODELS and not MODELS[name].is_closed])
def test_models_take_what_the_page_says(name):
    """On a grid of 24 x 24, then with other output points, with a smaller sample beside it, and without the grid."""
    axis = torch.arange(24) / 23
    pos, grid = torch.cartesian_prod(axis, axis), (24, 24)
    whole = {"pos": pos, "x": torch.rand(576, 1), "grid": grid}
    fewer = {"pos": pos[:400], "x": torch.rand(400, 1)}
    free = {"pos": pos, "x": whole["x"]}
    options = MODELS[name]()

    def takes(*samples):
        common = len({len(sample["x"]) for sample in samples}) == 1
        spec = DataSpec(3, 1, 2, 1 / 23, 1.0, points=576 if common else None)
        ready = [options.transform()(PointData(**sample)) for sample in samples]
        try:
            with torch.no_grad():
                out = options.build(spec)(Batch.from_data_list(ready))
        except ValueError as error:
            assert str(error).startswith("Expected ")
            return False
        assert out.shape == (sum(len(sample.points("output")[0]) for sample in ready), 1) and out.isfinite().all()
        return True

    assert takes(whole, whole)
    found = (takes({**whole, "pos_out": torch.rand(9, 2)}), takes(free, fewer), takes(free, free))
    assert found == rows_of_models()[name]


EXPORT = blocks("export.md")


@pytest.fixture(scope="module")
def heights(tmp_path_factory):
    """The folder that the page's program is run in, its variables, and what it prints."""
    folder, said = tmp_path_factory.mktemp("heights"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.chdir(folder)
        names = execute((ROOT / "examples/own/heights.py").read_text(), "examples/own/heights.py", patch)
    return folder, names, said.getvalue()


def test_the_page_on_deciding_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = (ROOT / "examples/own/bars.py").read_text(encoding="utf-8")
    with without_pictures():
        names = execute(program, "docs/deciding.md", monkeypatch)
    said = capsys.readouterr().out
    for line in re.findall(r"  # (.*)$", program, re.MULTILINE):
        assert line in said
    assert names["best"].values.keys() == {"width"}
    commands = [shlex.split(line) for line in blocks("deciding.md", "console")[0].strip().splitlines()]
    assert [main([*arguments, "--quiet"]) for _, *arguments in commands] == [0, 0, 0]
    assert len((tmp_path / "sweep" / "sweep.csv").read_text().splitlines()) == 401
    assert len(list((tmp_path / "many" / "fields").iterdir())) == 500
    assert (tmp_path / "best" / "optimum.vtu").exists()


def test_the_page_on_export_runs_without_pitgeo(heights, monkeypatch):
    monkeypatch.chdir(heights[0])
    written = ["heights.pt2"]
    code = (ROOT / "examples/own/serve.py").read_text(
        encoding="utf-8"
    ) + 'np.savez("values.npz", points=points, torch=values)\n'
    if all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime", "onnxscript")):
        written.append("heights.onnx")
        code += EXPORT[0] + 'np.savez("values.npz", points=points, torch=program(**inputs).numpy(), onnx=values)\n'
    with traced_once():
        for name in written:
            assert main(["export", "runs/heights/best.ckpt", name]) == 0
    code = f'import sys\nsys.modules["pitgeo"] = None\n{code}'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['height'] [[")
    found = dict(np.load("values.npz"))
    points = torch.from_numpy(found.pop("points")).float()
    truth = load("runs/heights/best.ckpt").predict(PointData(pos=points)).numpy()
    assert len(found) == len(written)
    for values in found.values():
        assert np.allclose(values, truth, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # the compiler looks
def test_the_page_on_export_compiles(run):
    model = run((ROOT / "examples/own/compiled.py").read_text(), "examples/own/compiled.py")["model"]
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


@without_pictures()
def test_plates_from_files_to_predicted_files(tmp_path, monkeypatch):
    """The page's example in 3D, on coarse plates and few epochs."""
    plates.generate(tmp_path / "raw", samples=7, processes=1, progress=False, size=0.5)
    changes = [
        f'data.meshes.files="{tmp_path}/raw/plate_*.vtu"',
        f'data.meshes.parameters="{tmp_path}/raw/parameters.csv"',
        f'data.meshes.cache="{tmp_path}/cache"',
        "data.meshes.validation=1",
        "data.meshes.test=2",
        "model.pit.channels=16",
        "model.pit.latent.number=40",
        "training.epochs=2",
    ]
    sets = [part for change in changes for part in ("--set", change)]
    out = tmp_path / "run"
    assert main(["train", str(ROOT / "configs/plates.toml"), *sets, "--output", str(out), "--quiet"]) == 0
    errors = json.loads((out / "evaluation.json").read_text())["errors"]
    assert list(errors) == ["displacement", "von_mises", "peak_stress"]
    assert list(errors["displacement"]["components"]) == ["displacement_x", "displacement_y", "displacement_z"]
    command = ["predict", str(out / "best.ckpt"), str(tmp_path / "raw/plate_000[01].vtu")]
    assert main([*command, "--output", str(tmp_path / "predicted"), "--quiet"]) == 0
    found, given = (read_mesh(tmp_path / folder / "plate_0001.vtu") for folder in ("predicted", "raw"))
    assert found.point_data["displacement_prediction"].shape == given.point_data["displacement"].shape
    assert {"von_mises_prediction", "von_mises_error"} <= set(
        found.point_data
    ) and "peak_stress_error" in found.field_data
    assert all((found.point_data[name] == given.point_data[name]).all() for name in given.point_data)
