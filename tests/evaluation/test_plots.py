"""Pictures: files that are there, colours that mean the same side by side, mistakes that are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from PIL import Image

from pitgeo.evaluation import plots
from pitgeo.evaluation.plots import comparisons, fields, numbers, style


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures saved so far, so that tests can look inside."""
    saved: list[Figure] = []
    save = style.save

    def keep(figure: Figure, output: Path | str) -> Path:
        saved.append(figure)
        return save(figure, output)

    for module in (comparisons, fields, numbers):
        monkeypatch.setattr(module, "save", keep)
    return saved


def sample(count: int = 6, error: float = 1.0) -> tuple[Any, Any, Any, Any]:
    """A strip of unit squares: polygons, centres, truth 0, 1, 2, ..., prediction."""
    left = np.arange(count, dtype=float)
    x = np.stack([left, left + 1, left + 1, left], 1)
    polygons = np.stack([x, np.broadcast_to([0.0, 0.0, 1.0, 1.0], x.shape)], -1)
    return polygons, polygons.mean(1), left, left + error


def collections(figure: Figure, kind: type) -> list[Any]:
    axes = figure.axes
    return [drawn for ax in axes for drawn in ax.collections if type(drawn) is kind and ax.get_title()]


def test_triptych_truth_and_prediction_share_colours(tmp_path: Path, figures: list[Figure]) -> None:
    path = plots.field_triptych(
        [("a", *sample(error=1)), ("b", *sample(error=3))], tmp_path / "new" / "f.png", "stress"
    )
    with Image.open(path) as picture:
        assert picture.size[0] > 1000
    drawn = collections(figures[0], PolyCollection)
    assert len(drawn) == 6
    for truth, prediction, error in (drawn[:3], drawn[3:]):
        assert truth.get_clim() == prediction.get_clim() != error.get_clim()
        assert truth.get_cmap().name != error.get_cmap().name
    assert drawn[2].get_clim() == drawn[5].get_clim() == (0.0, 3.0)
    np.testing.assert_array_equal(drawn[5].get_array(), np.full(6, 3.0))
    assert all(collection.axes.get_aspect() == 1.0 for collection in drawn)


def test_triptych_without_cells_draws_points(tmp_path: Path, figures: list[Figure]) -> None:
    _, pos, truth, prediction = sample()
    plots.field_triptych([plots.FieldSample("a", None, pos, truth, prediction)], tmp_path / "f.png")
    assert len(collections(figures[0], PathCollection)) == 3


def test_triptych_of_a_constant_field_predicted_exactly(tmp_path: Path) -> None:
    polygons, pos, truth, _ = sample()
    plots.field_triptych([("a", polygons, pos, 0 * truth, 0 * truth)], tmp_path / "f.png")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda polygons, pos, truth, prediction: (polygons, pos, truth[:, None], prediction),
            r"'truth' .*got \[6, 1\]",
        ),
        (lambda polygons, pos, truth, prediction: (polygons, pos, truth, prediction[:5]), "'prediction'"),
        (lambda polygons, pos, truth, prediction: (polygons[:5], pos, truth, prediction), "'polygons'"),
        (lambda polygons, pos, truth, prediction: (None, np.zeros((6, 3)), truth, prediction), "'pos'"),
    ],
)
def test_triptych_names_wrong_shapes(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plots.field_triptych([("a", *change(*sample()))], tmp_path / "f.png")
    with pytest.raises(ValueError, match="at least one sample"):
        plots.field_triptych([], tmp_path / "f.png")


def test_loss_curves(tmp_path: Path, figures: list[Figure]) -> None:
    table = tmp_path / "metrics.csv"
    table.write_text("epoch,train_loss,val_error,lr,seconds\n1,0.5,,1e-3,2\n2,0.25,0.3,1e-3,2\n3,0.3,0.4,1e-3,2\n")
    assert plots.loss_curves(table, tmp_path / "loss.png").exists()
    (ax,) = figures[0].axes
    assert [np.asarray(line.get_xdata()).tolist() for line in ax.lines] == [[1, 2, 3], [2, 3]]
    assert [line.get_label() for line in ax.lines] == [
        "training loss (lowest 0.25 at epoch 2)",
        "validation error (lowest 0.3 at epoch 2)",
    ]
    for window, steps in ((1, "1 step"), (4, "4 steps")):
        plots.loss_curves(table, tmp_path / "loss.png", window)
        training, validation = (line.get_label() for line in figures[-1].axes[0].lines)
        assert training == f"training loss, {steps} at a time (lowest 0.25 at epoch 2)"
        assert validation == "validation error (lowest 0.3 at epoch 2)"


@pytest.mark.parametrize("text", ["", "epoch,train_loss\n", "epoch,lr\n1,2\n", "epoch,train_loss\n1,nan\n"])
def test_loss_curves_need_a_number(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with pytest.raises(ValueError, match="a positive number in a column"):
        plots.loss_curves(tmp_path / "metrics.csv", tmp_path / "loss.png")


def test_length_scales(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [("encoder", "local", [0.1, 0.2]), ("processor.0", "global", [np.inf, 1.0])]
    assert plots.length_scales(rows, tmp_path / "scales.png", spacing=0.05, extent=1.0).exists()
    (ax,) = figures[0].axes
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["encoder (local)", "processor.0 (global)"]
    low, high = ax.get_xlim()
    assert low < 0.05 and high > 1.0
    assert np.asarray(ax.lines[2].get_xdata()).tolist() == [high]  # the infinite one
    with pytest.raises(ValueError, match="at least one positive"):
        plots.length_scales([], tmp_path / "scales.png")


def test_latent_mesh(tmp_path: Path, figures: list[Figure]) -> None:
    pos = np.random.default_rng(0).random((50, 2))
    assert plots.latent_mesh(pos, pos[:10], tmp_path / "latent.png").exists()
    assert [len(np.asarray(drawn.get_offsets())) for drawn in figures[0].axes[0].collections] == [50, 10]
    with pytest.raises(ValueError, match="'latent'"):
        plots.latent_mesh(pos, pos[:, :1], tmp_path / "latent.png")


def test_method_errors(tmp_path: Path, figures: list[Figure]) -> None:
    path = plots.method_errors([("PiT", [0.01, 0.012, 0.014]), ("mean", [0.3])], tmp_path / "m.png", "error")
    assert path.exists()
    assert [text.get_text() for text in figures[0].axes[0].texts] == ["0.012 ± 0.002", "0.3"]
    with pytest.raises(ValueError, match="positive errors"):
        plots.method_errors([("PiT", [])], tmp_path / "m.png", "error")


def test_pyplot_and_vtk_stay_out() -> None:
    code = "import sys, pitgeo.evaluation.plots\n"
    code += "sys.exit(bool({'matplotlib.pyplot', 'pyvista', 'vtkmodules'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_curves_of_fields_on_a_line(tmp_path: Path, figures: list[Figure]) -> None:
    x = np.linspace(1, 0, 20)[:, None]
    rows = [plots.FieldSample("a", None, x, x[:, 0] ** 2, x[:, 0]), plots.FieldSample("b", None, x, x[:, 0], x[:, 0])]
    assert plots.field_curves(rows, tmp_path / "curves.png", "u").exists()
    truth, prediction = figures[0].axes[0].lines
    assert np.all(np.diff(truth.get_xdata()) > 0) and np.allclose(prediction.get_ydata(), truth.get_xdata())
    assert np.allclose(figures[0].axes[1].lines[0].get_ydata(), np.abs(truth.get_ydata() - truth.get_xdata()))
    with pytest.raises(ValueError, match="on a line"):
        plots.field_curves([plots.FieldSample("a", None, np.zeros((3, 2)), x, x)], tmp_path / "c.png")
    with pytest.raises(ValueError, match="at least one"):
        plots.field_curves([], tmp_path / "c.png")


def test_error_growth_and_trends(tmp_path: Path, figures: list[Figure]) -> None:
    plots.error_growth({"relative_l2": [0.1, 0.2, 0.4]}, tmp_path / "growth.png", first=11)
    assert figures[0].axes[0].lines[0].get_xdata().tolist() == [11, 12, 13]
    plots.trends({"a": ([1, 10], [1.0, 2.0])}, tmp_path / "t.png", ("points", "seconds"), "both")
    assert figures[1].axes[0].get_xscale() == figures[1].axes[0].get_yscale() == "log"
    for draw in (lambda: plots.error_growth({}, "x"), lambda: plots.trends({}, "x", ("a", "b"))):
        with pytest.raises(ValueError, match="at least one"):
            draw()


def test_errors_over_time_and_size_have_a_colour_a_method(tmp_path: Path, figures: list[Figure]) -> None:
    curves = {"a": [([1, 2, 3], [0.5, 0.4, 0.3]), ([3, 4, 5], [0.7, 0.2, 0.5])], "b": [([1.0], [0.9])]}
    assert plots.error_times(curves, tmp_path / "t.png", ("minutes", "error")).exists()
    sizes = {"a": (2000, [0.1, 0.3]), "b": (3e6, [0.2])}
    assert plots.error_sizes(sizes, tmp_path / "s.png", ("n", "e"), {"c": 1}).exists()
    times, dots = (figure.axes[0] for figure in figures)
    mean = times.lines[0]
    assert np.allclose(mean.get_xdata(), [2, 3, 4]) and np.allclose(mean.get_ydata(), [0.6, 0.3, 0.4])
    (band,) = times.collections
    assert np.allclose(np.sort(band.get_paths()[0].vertices[:, 1])[[0, -1]], [0.2, 0.7])
    legends = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in (times, dots)]
    assert legends == [["b", "a"], ["a", "b", "c"]]  # from the highest to the lowest; controls last
    colors = [{line.get_label(): line.get_color() for line in ax.lines} for ax in (times, dots)]
    assert colors[0]["a"] == colors[1]["a"] != colors[0]["b"] == colors[1]["b"]
    assert "3M" in [dots.xaxis.get_major_formatter()(value) for value in (2e3, 3e6)]
    assert len(set(style.cycle(16))) == 16


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.error_times({}, "x", ("a", "b")),
        lambda: plots.error_times({"a": []}, "x", ("a", "b")),
        lambda: plots.error_times({"a": [([1], [0.0])]}, "x", ("a", "b")),
        lambda: plots.error_sizes({}, "x", ("a", "b")),
        lambda: plots.error_sizes({"a": (0, [1])}, "x", ("a", "b")),
    ],
)
def test_comparisons_want_positive_numbers(draw: Any) -> None:
    with pytest.raises(ValueError, match="Expected"):
        draw()


def test_scatter(tmp_path):
    random = np.random.default_rng(0)
    pairs = {f"mean:$u_{number}": (random.random(5), random.random(5)) for number in range(20)}
    pairs["peak:same"] = (np.zeros(3), np.zeros(3))
    assert plots.scatter(pairs, tmp_path / "many.png").exists()
    assert plots.scatter({"peak:one": (np.array([2.0]), np.array([2.0]))}, tmp_path / "one.png").exists()
    for wrong in ({}, {"a": (np.zeros(2), np.zeros(3))}, {"a": (np.zeros(0), np.zeros(0))}):
        with pytest.raises(ValueError, match="as many predicted as true numbers"):
            plots.scatter(wrong, tmp_path / "wrong.png")
    assert not (tmp_path / "wrong.png").exists()
