"""Every page: its place on the site, its length, its commands, and that each of its code blocks is run by a test."""

import importlib.util
import re
import shlex
from pathlib import Path

import meshio
import numpy as np
import pytest
import torch

from pitgeo.cli.arguments import make_parser
from pitgeo.cli.main import _COMMANDS
from pitgeo.config.config import parse_config
from pitgeo.config.toml import tomllib
from pitgeo.mesh import Mesh, write_mesh
from tests.pictures import without_pictures

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("datasets/*/README.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_pages_are_short():
    """Beside the API reference and the gallery; words as wc counts them."""
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 12_000


def test_the_site_has_every_page_once():
    trees = re.sub(r"^:.*$", "", "".join(blocks(DOCS / "index.md", r"\{toctree\}")), flags=re.MULTILINE)
    listed = trees.split()
    pages = [name for name in listed if "/" not in name]
    assert sorted(pages) == sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")


def test_the_reference_has_every_public_name():
    reference = module("reference")
    homes, public = reference.homes(), reference.public_modules()
    there = {id(getattr(__import__(home, fromlist=["_"]), name)) for home, names in homes.items() for name in names}
    for package, names in public.items():
        loaded = __import__(package, fromlist=["_"])
        assert all(id(getattr(loaded, name)) in there for name in names), package
    pages = reference.pages()
    assert set(pages) == {"index", *homes}
    assert all(
        f"`~{home}.{name}`" in pages["index"] for home, name in [("pitgeo.nn", "PiT"), ("pitgeo.data", "PointData")]
    )


def test_links_of_pages_lead_to_their_copies():
    outside = module("outside")
    text = "[a](../datasets/plates/README.md#x) [b](trust.md) [c](https://a.b) [d](../CONTRIBUTING.md)"
    assert outside.relinked(text, DOCS / "solids.md", DOCS / "solids.md") == (
        "[a](data/plates.md#x) [b](trust.md) [c](https://a.b) [d](project/contributing.md)"
    )
    assert (
        outside.relinked("[a](docs/trust.md)", ROOT / "CHANGELOG.md", DOCS / "project/changelog.md")
        == "[a](../trust.md)"
    )


def test_figures_are_small_and_drawn_by_the_script(tmp_path):
    written = module("figures").draw(tmp_path)
    assert {path.name for path in written} == {path.name for path in (DOCS / "concepts").iterdir()}
    assert all(path.stat().st_size < 100_000 for path in (DOCS / "concepts").iterdir())
    page = (DOCS / "concepts.md").read_text() + (DOCS / "architecture.md").read_text()
    assert all(f"(concepts/{path.name})" in page for path in written)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/gallery/*.py")), ids=lambda path: path.stem)
def test_gallery_programs_are_short_and_show_a_picture(path):
    text = path.read_text(encoding="utf-8")
    assert 40 <= len(text.splitlines()) <= 80 and "plt.show()" in text and path.name.startswith("plot_")


def commands(page):
    """The commands of a page's blocks, as lists of words."""
    for block in [block for language in ("sh", "console") for block in blocks(page, language)]:
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


EACH = [(page, words) for page in [*PAGES, *OTHERS] for words in commands(page)]


@pytest.mark.parametrize(
    ("page", "words"), EACH, ids=[f"{page.parent.name}-{page.stem}-{words}" for page, words in EACH]
)
def test_commands_are_understood(page, words):
    """Options and files are there; which commands run to the end, other tests see to."""
    while "=" in words[0]:
        words = words[1:]
    if words[0] in ("torchrun", "srun"):
        words = ["python", *words[next(place for place, word in enumerate(words) if word.endswith(".py")) :]]
    program, arguments = words[0].removeprefix(".venv/bin/"), words[1:]
    if program == "pitgeo":
        make_parser(_COMMANDS).parse_args(arguments)
    elif program == "python" and arguments[0] == "-m":
        text = "".join(path.read_text() for path in [ROOT / f"{arguments[1].replace('.', '/')}.py"] if path.exists())
        assert text or arguments[1] in ("pytest", "sphinx")
        assert not text or all(f'"{word}"' in text for word in arguments[2:] if word.startswith("--"))
    elif program == "python":
        script = ROOT / arguments[0]
        assert script.exists() or (page.parent / arguments[0]).exists()
        if script.stem in _COMMANDS and script.parent.name == "scripts":
            make_parser(_COMMANDS).parse_args([script.stem, *arguments[1:]])
        else:
            shared = [ROOT / "pitgeo/datasets/generators.py", ROOT / "datasets" / script.parent.name / "generate.py"]
            text = "".join(path.read_text() for path in [script, *shared] if path.exists())
            options = [word.partition("=")[0] for word in arguments[1:] if word.startswith("--")]
            assert all(f'"{option}"' in text for option in options), options
    elif program == "make":
        target = next((word for word in arguments if "=" not in word), "")
        assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set(re.findall(r"\[([\w,]+)\]", " ".join(arguments))) <= set(project["optional-dependencies"])
    else:
        assert program in ("rm", ".ci/run", "ruff") or (ROOT / program).exists(), program


RUN_HERE = {"measures"}
RUN_ELSEWHERE = {"README", "export"}  # test_docs.py, test_readme.py


def test_every_python_block_is_run():
    assert {page.stem for page in PAGES if blocks(page, "python")} == RUN_HERE | RUN_ELSEWHERE


def test_every_program_of_a_page_is_run():
    included = re.findall(
        r"\{literalinclude\} \.\./examples/own/(\w+)\.(?:py|toml)", "".join(p.read_text() for p in PAGES)
    )
    tests = "".join((ROOT / f"tests/test_{name}.py").read_text(encoding="utf-8") for name in ("docs", "pages"))
    assert {"ellipses", "bars", "serve", "after_gat", "compiled", "trusted", "membrane", "heights"} == set(included)
    assert all(re.search(rf'own/{name}|"{name}"', tests) for name in included)


def run(page, **names):
    exec(compile("\n".join(blocks(DOCS / f"{page}.md", "python")), f"docs/{page}.md", "exec"), names)
    return names


@without_pictures()
def test_the_page_to_start_with_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = (ROOT / "examples/own/membrane.py").read_text(encoding="utf-8")
    short = code.replace("range(100)", "range(12)").replace("epochs=20", "epochs=1")
    assert short.count("range(12)") == short.count("epochs=1") == 1
    exec(compile(short, "docs/start.md", "exec"), {})
    assert capsys.readouterr().out.strip() == "['load', 'sag', 'sag_error', 'sag_prediction']"
    assert "sag_prediction" in meshio.read("new.vtu").point_data and Path("runs/membrane/report.html").exists()


def test_the_page_on_meshes_gives_the_three_commands_of_the_readme():
    plain = [" ".join(words) for words in commands(ROOT / "README.md") if words[0] == "pitgeo"]
    said = [[" ".join(shlex.split(line)) for line in block.splitlines()] for block in blocks(DOCS / "meshes.md", "sh")]
    assert said.count(plain) == 1  # test_readme.py runs them


@without_pictures()
def test_the_page_on_trust_says_what_it_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile((ROOT / "examples/own/trusted.py").read_text(), "examples/own/trusted.py", "exec"), {})
    assert capsys.readouterr().out.strip() == blocks(DOCS / "trust.md", "text")[-1].strip()


def test_the_page_on_measures_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corners = np.array([[x, y, z] for z in (0.0, 1) for y in (0.0, 1) for x in (0.0, 1)])
    values = {"temperature": corners[:, 0] + 1, "pressure": corners[:, 1] + 2, "von_mises": corners[:, 2]}
    sets = {"outlet": np.flatnonzero(corners[:, 0] == 1), "wall": np.flatnonzero(corners[:, 1] == 0)}
    cells = (("hexahedron", np.array([[0, 1, 3, 2, 4, 5, 7, 6]])),)
    write_mesh(tmp_path / "wing.vtu", Mesh(corners, cells, values, point_sets=sets))
    names = run("measures", predicted=torch.from_numpy(values["pressure"]).float())
    found = names["compute"](names["mesh"], "mean:temperature@outlet", "force_y:pressure@wall")
    assert list(found.values()) == pytest.approx([2.0, 2.0]) and names["measure"](
        names["mesh"], "wall"
    ) == pytest.approx(1)
    moment = names["compute"](names["mesh"], "moment_z(0.25,0,0):pressure@wall")
    assert float(names["loss"].squeeze()) == pytest.approx(next(iter(moment.values())))


TABLES = [(page, text) for page in PAGES for text in blocks(page, "toml")]


@pytest.mark.parametrize(("page", "text"), TABLES, ids=[page.stem for page, _ in TABLES])
def test_configurations_are_valid(page, text):
    table = tomllib.loads(text)
    data = {"name": "meshes", **table.get("data", {})}
    meshes = {"files": "cases/*.vtu", "targets": ["von_mises", "pressure", "temperature"], **data.pop("meshes", {})}
    if page.stem == "big_meshes":
        data, meshes = {"name": "elasticity"}, None
    whole = {**table, "data": {**data, **({} if meshes is None else {"meshes": meshes})}, "model": {"name": "pit"}}
    assert parse_config(whole).model.name == "pit"
