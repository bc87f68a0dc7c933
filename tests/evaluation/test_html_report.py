"""The report of a run: whole, self-contained, well-formed, and safe against what names hold."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from pitgeo.config.config import parse_config
from pitgeo.config.toml import tomllib
from pitgeo.datasets.elasticity import FILES, POINTS, RADII
from pitgeo.evaluation.html_report import LIMIT, SHOWN, write_report
from pitgeo.evaluation.measure_table import COLUMNS, LEGEND
from pitgeo.evaluation.report_run import used_settings
from pitgeo.workflows.run import train

VOID = {"meta", "img"}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


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
    at = page.cells.index("von_mises")  # the first table has the numbers of the command line
    assert page.cells[at - 6 : at] == ["target", *(name.replace("_", " ") for name, _ in COLUMNS)]
    numbers = result["errors"]["von_mises"]
    shown = [float(text) for text in page.cells[at + 1 : at + 6]]
    assert shown == pytest.approx([numbers[name][which] for name, which in COLUMNS], rel=1e-3)
    assert LEGEND in page.text
    at = page.cells.index("von_mises", page.cells.index("peak distance"))  # the second has a few more
    assert page.cells[at - 9 : at] == [
        "rmse", "largest absolute", "r2", "relative l2", "variation l2", "mean absolute", "relative l1", "peak error",
        "peak distance",
    ]  # fmt: skip
    shown = [float(text) for text in page.cells[at + 1 : at + 10]]
    expected = [numbers[name][which] for name, which in SHOWN[:7]]
    expected += [numbers["peak"][name]["mean"] for name in ("error", "distance")]
    assert shown == pytest.approx(expected, rel=1e-3)
    facts = dict(
        zip(page.cells[page.cells.index("model") :: 2], page.cells[page.cells.index("model") + 1 :: 2], strict=False)
    )
    assert facts["model"] == "pit" and facts["parameters"] == f"{result['parameters']:,}" and facts["epochs"] == "1"
    assert facts["samples"] == "4 for training; 2 for validation; 3 evaluated (test)"
    assert facts["training time"].endswith(" s") and facts["lowest validation error"].endswith(" at epoch 1")
    assert used_settings((run / "config.toml").read_text()) in page.text
    assert str(result["worst"]["sample_id"]) in page.cells and result["versions"]["torch"] in page.cells
    assert not list(run.glob(".part-*"))


def shown_pictures(page: Page) -> list[Image.Image]:
    contents = [base64.b64decode(source.partition("base64,")[2]) for source in page.attributes("img", "src")]
    return [Image.open(io.BytesIO(content)).convert("RGB") for content in contents]


def test_the_pictures_are_inside_those_of_fields_first(run: Path) -> None:
    page = Page(write_report(run))
    shown = shown_pictures(page)
    names = ("fields", "scatter", "loss", "length_scales", "latent_mesh")
    assert len(shown) == len(names) == len(list((run / "pictures").glob("*.png")))
    for picture, name in zip(shown, names, strict=True):
        with Image.open(run / "pictures" / f"{name}.png") as opened:
            original = opened.convert("RGB").resize(picture.size)
        assert picture.width <= 1280
        assert np.abs(np.asarray(picture, dtype=float) - np.asarray(original, dtype=float)).mean() < 4


def test_what_matters_is_shown_in_order_and_the_rest_is_folded(run: Path) -> None:
    page = Page(write_report(run))
    marks = [
        "<h2>Verdict",
        "<h2>Errors",
        "<h2>Controls",
        "<h2>Pictures",
        "<img",
        "<h2>Settings",
        "<h2>Details",
        "<details",
    ]
    places = [page.source.index(mark) for mark in marks]
    assert places == sorted(places)
    assert all("open" not in attributes for tag, attributes in page.tags if tag == "details")
    summaries = [part.partition("</summary>")[0] for part in page.source.split("<summary>")[1:]]
    for name in ("Run", "All errors", "Samples", "Mesh files", "Length scale", "Latent points", "Training loss"):
        assert any(name in summary for summary in summaries), name
    assert page.source.count("<img") - page.source[: places[6]].count("<img") == 4


def test_the_model_stands_beside_the_controls(run: Path) -> None:
    result = json.loads((run / "evaluation.json").read_text())
    cells = Page(write_report(run)).cells
    at = cells.index("the model")
    assert float(cells[at + 1]) == pytest.approx(result["verdict"]["error"], rel=1e-3)
    for number, control in enumerate(result["controls"], 1):
        name, error, _ = cells[at + 3 * number : at + 3 * number + 3]
        assert name == control["name"] and float(error) == pytest.approx(control["relative_l2"], rel=1e-3)
    numbers = {"relative_l2": {"mean": 0.125}}
    controls = [{"name": "c", "relative_l2": 0.5, "errors": {"p": {"relative_l2": {"mean": 0.25}}, "T": numbers}}]
    change(run, errors={"p": numbers, "T": {"relative_l2": {"mean": 0.75}}}, controls=controls)
    cells = Page(write_report(run)).cells
    at = cells.index("predictor")
    assert cells[at : at + 5] == ["predictor", "relative l2", "p", "T", "seconds to fit"]
    assert cells[at + 7 : at + 9] == ["0.1250", "0.7500"] and cells[at + 10 : at + 14] == [
        "c",
        "0.5000",
        "0.2500",
        "0.1250",
    ]


def test_many_targets_and_pictures_stay_within_the_size(run: Path) -> None:
    result = json.loads((run / "evaluation.json").read_text())
    names = [f"größe_温度_{number}_" + "x" * 90 for number in range(150)]
    change(run, errors=dict.fromkeys(names, result["errors"]["von_mises"]))
    noise = np.random.default_rng(0).integers(0, 255, (500, 700, 3), dtype=np.uint8)  # it does not become small
    (run / "pictures" / "fields.png").unlink()
    Image.fromarray(noise).save(run / "pictures" / "fields_00.png")
    for number in range(1, 12):
        shutil.copy(run / "pictures" / "fields_00.png", run / "pictures" / f"fields_{number:02d}.png")
    path = write_report(run)
    assert 500_000 < path.stat().st_size <= LIMIT == 1_500_000
    page = Page(path)
    assert page.cells.count("... 126 more rows in evaluation.json ...") == 2 and names[0] not in page.text
    left_out = [f"fields_{number:02d}" for number in range(12) if f"pictures/fields_{number:02d}.png" in page.text]
    shown = shown_pictures(page)
    assert len(left_out) > 0 and "fields_00" not in left_out and len(shown) + len(left_out) >= 12


def test_fields_come_in_the_order_of_the_targets(run: Path) -> None:
    numbers = {"relative_l2": {"mean": 0.125}}
    change(run, errors={"u": numbers | {"components": {"u_y": numbers, "u_x": numbers}}, "T": numbers})
    for name in ("T", "u_x", "u_y"):
        shutil.copy(run / "pictures" / "fields.png", run / "pictures" / f"fields_{name}.png")
    (run / "pictures" / "fields.png").unlink()
    alternatives = Page(write_report(run)).attributes("img", "alt")
    assert [text.rpartition(": ")[2] for text in alternatives[:3]] == ["u_y", "u_x", "T"]


def test_only_settings_that_were_used_are_shown(run: Path) -> None:
    whole = tomllib.loads((run / "config.toml").read_text())
    shown = tomllib.loads(used_settings((run / "config.toml").read_text()))
    assert set(shown["data"]) == {"name", "elasticity"} and set(shown["model"]) == {"name", "pit"}
    assert all(whole[group][key] == value for group, table in shown.items() for key, value in table.items())
    assert shown["training"] == whole["training"] and shown["model"]["pit"]["latent"]["number"] == 30
    assert used_settings("name = <x>") == "name = <x>"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 500])
def test_a_browser_shows_it(run: Path, width: int) -> None:
    names = [f"größe_温度_{number}_" + "x" * 90 for number in range(40)]
    result = json.loads((run / "evaluation.json").read_text())
    change(run, errors=dict.fromkeys(names, result["errors"]["von_mises"]))
    page, picture = write_report(run), run / "page.png"
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--hide-scrollbars", f"--user-data-dir={run / 'profile'}", f"--screenshot={picture}",
        f"--window-size={width},900", page.resolve().as_uri(),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=False, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("Chromium did not answer in a minute")
    if not picture.exists():
        pytest.skip("Chromium cannot draw here")
    with Image.open(picture) as opened:
        seen = np.asarray(opened.convert("L")) < 200
    assert seen.shape == (900, width)
    assert seen[:120].any() and not seen[:, -6:].any()  # there is a title, and nothing runs over the right edge
    if width == 1280:
        assert seen[100:500, 660:].mean() > 0.1  # the fields are on the first screen


def test_nothing_comes_from_outside(run: Path) -> None:
    page = Page(write_report(run))
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("srcset", "style")}
        for name in {"src", "href"} & set(attributes):
            address = str(attributes[name])
            assert address.startswith("data:image/") or (":" not in address and not address.startswith("/"))
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
    Image.new("RGB", (4, 4)).save(run / "picture.png")
    change(
        run, dataset=evil, model=evil, checkpoint=evil, versions={evil: evil}, worst_samples=[{"name": evil}],
        errors={evil: {evil: {"mean": 0.5}}}, worst={"name": evil, "relative_l2": evil},
    )  # fmt: skip
    (run / "config.toml").write_text(f"name = {evil}")
    (run / "picture.png").rename(run / "pictures" / "fields_<b>&.png")
    (run / "pictures" / "broken.png").write_bytes(b"no picture")
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
