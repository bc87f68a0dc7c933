"""The report of a run: whole, self-contained, well-formed, and safe against what names hold."""

from __future__ import annotations

import base64
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import torch

from pitgeo.config import parse_config
from pitgeo.datasets.elasticity import FILES, POINTS, RADII
from pitgeo.html_report import SHOWN, write_report
from pitgeo.run import train

VOID = {"meta", "img"}


class Page(HTMLParser):
    """Reads a page, and insists that what is opened is closed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = ""
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data

    def attributes(self, tag: str, name: str) -> list[str]:
        return [str(found[name]) for kind, found in self.tags if kind == tag]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one epoch, on made-up plates."""
    root = tmp_path_factory.mktemp("plates")
    random = np.random.default_rng(0)
    radii, place = 0.2 + 0.2 * random.random((RADII, 9)), random.random((POINTS, 2, 9))
    (root / "raw").mkdir()
    for name, values in (("XY", place), ("rr", radii), ("sigma", 100 + 200 * place[:, 0] * radii.mean(0))):
        np.save(root / "raw" / FILES[name], values)
    config = parse_config(
        {
            "data": {
                "name": "elasticity",
                "elasticity": {"root": str(root), "train": 6, "validation": 2, "test": 3},
            },
            "model": {
                "name": "pit",
                "pit": {"channels": 8, "heads": 2, "layers": 1, "latent": {"method": "farthest", "number": 30}},
            },
            "training": {"epochs": 1, "batch_size": 2, "device": "cpu"},
        }
    )
    train(config, root / "run")
    torch.set_flush_denormal(False)
    return root / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def change(run: Path, **values: object) -> None:
    path = run / "evaluation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_report_holds_what_the_run_left(run: Path) -> None:
    assert write_report(run) == run / "report.html"
    page = Page(run / "report.html")
    result = json.loads((run / "evaluation.json").read_text())
    for norm in ("relative_l1", "relative_l2"):
        row = next(
            at
            for at, cell in enumerate(page.cells)
            if cell == norm.replace("_", " ") and page.cells[at - 1] == "von_mises"
        )
        keys = ("mean", "lower_quartile", "median", "upper_quartile", "largest")
        shown = [float(text) for text in page.cells[row + 1 : row + 6]]
        assert shown == pytest.approx([result["errors"]["von_mises"][norm][key] for key in keys], rel=1e-3)
    at = page.cells.index("von_mises")  # the first table has the numbers of the command line, and a few more
    assert page.cells[at - 9 : at] == [
        "rmse", "largest absolute", "r2", "relative l2", "variation l2", "mean absolute", "relative l1", "peak error",
        "peak distance",
    ]  # fmt: skip
    numbers = result["errors"]["von_mises"]
    shown = [float(text) for text in page.cells[at + 1 : at + 10]]
    expected = [numbers[name][which] for name, which in SHOWN[:7]]
    expected += [numbers["peak"][name]["mean"] for name in ("error", "distance")]
    assert shown == pytest.approx(expected, rel=1e-3)
    facts = dict(zip(page.cells[::2], page.cells[1::2], strict=False))
    assert facts["model"] == "pit" and facts["parameters"] == f"{result['parameters']:,}" and facts["epochs"] == "1"
    assert facts["samples"] == "4 for training; 2 for validation; 3 evaluated (test)"
    assert facts["training time"].endswith(" s") and facts["lowest validation error"].endswith(" at epoch 1")
    assert (run / "config.toml").read_text() in page.text
    assert str(result["worst"]["sample_id"]) in page.cells and result["versions"]["torch"] in page.cells
    assert not list(run.glob("*.part"))


def test_the_pictures_are_inside(run: Path) -> None:
    page = Page(write_report(run))
    shown = [
        base64.b64decode(source.removeprefix("data:image/png;base64,")) for source in page.attributes("img", "src")
    ]
    files = [path.read_bytes() for path in (run / "pictures").glob("*.png")]
    assert len(files) >= 4 and sorted(shown) == sorted(files)
    assert shown[0] == (run / "pictures" / "fields.png").read_bytes()


def test_nothing_comes_from_outside(run: Path) -> None:
    page = Page(write_report(run))
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("srcset", "style")}
        for name in {"src", "href"} & set(attributes):
            address = str(attributes[name])
            assert address.startswith("data:image/png;base64,") or (":" not in address and not address.startswith("/"))
    assert not [mark for mark in ("url(", "@import", "://") if mark in page.source]


@pytest.mark.parametrize("where", [".", "elsewhere/deep"])
def test_links_lead_to_the_meshes(run: Path, where: str) -> None:
    (run / "meshes" / "a b#c & <d>?.vtu").write_bytes(b"")
    output = run / where / "page.html"
    page = Page(write_report(run, output))
    links = {(output.parent / unquote(link)).resolve() for link in page.attributes("a", "href")}
    assert links == {path.resolve() for path in (run / "meshes").iterdir()} and len(links) >= 4


def test_names_are_escaped(run: Path) -> None:
    evil = "<script>alert('x')</script>&amp;\""
    change(
        run, dataset=evil, model=evil, checkpoint=evil, versions={evil: evil}, worst_samples=[{"name": evil}],
        errors={evil: {evil: {"mean": 0.5}}}, worst={"name": evil, "relative_l2": evil},
    )  # fmt: skip
    (run / "config.toml").write_text(f"name = {evil}")
    (run / "pictures" / "fields_<b>&.png").write_bytes(b"")
    (run / "metrics.csv").write_text(f"epoch,val_error\n{evil},0.5\n")
    page = Page(write_report(run))
    assert not {"script", "b"} & {tag for tag, _ in page.tags}
    assert page.text.count(evil) >= 7 and page.cells.count(evil) >= 5 and "fields_<b>&" not in page.source
    assert any("<b>&" in text for text in page.attributes("img", "alt"))


def test_worst_samples_are_listed(run: Path) -> None:
    change(
        run, worst_samples=[{"name": "wing_7.vtu", "relative_l2": 0.5}, {"sample_id": 3, "relative_l2": 0.25}], x=[1]
    )
    cells = Page(write_report(run)).cells
    at = cells.index("wing_7.vtu")
    assert cells[at + 1 : at + 4] == ["0.5000", "3", "0.2500"]


def test_what_is_missing_is_left_out(run: Path) -> None:
    for name in ("metrics.csv", "config.toml"):
        (run / name).unlink()
    for name in ("pictures", "meshes"):
        shutil.rmtree(run / name)
    (run / "evaluation.json").write_text('{"model": "pit"}')
    page = Page(write_report(run))
    assert [tag for tag, _ in page.tags].count("h2") == 1 and page.cells == ["model", "pit"]


def test_a_run_that_was_not_evaluated_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"got no evaluation.json there\); run: pitgeo evaluate .*last.ckpt"):
        write_report(tmp_path)
    for text in ("{", "[1]"):
        (tmp_path / "evaluation.json").write_text(text)
        with pytest.raises(ValueError, match=r"evaluation.json: Expected"):
            write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
