"""The state of a page, as the browser has it, without one: what a change of it changes."""

import asyncio
import io

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("pyvista")

from pitgeo import load
from pitgeo.mesh import Mesh, read_mesh, write_mesh
from pitgeo.view.cases import open_cases
from pitgeo.view.page import Page
from pitgeo.view.session import Session
from pitgeo.workflows.run import train
from tests.pictures import without_pictures
from tests.plates import plate
from tests.small_runs import small_run


class State(dict):
    """Stands in for trame's state: names are attributes, unknown ones are nothing."""

    def __getattr__(self, name):
        return self.get(name)

    def __setattr__(self, name, value):
        self[name] = value

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.fixture
def page(predictor):
    return Page(Session(predictor, open_cases(predictor)), State())


def follow(page, **changes):
    """Change the state as the browser does, and wait for the prediction."""

    async def change():
        page.state.update(changes)
        page.changed()
        await page._task

    asyncio.run(change())


def test_it_opens_with_truth_prediction_and_error(page):
    state = page.state
    assert state.panels == ["Truth", "Prediction", "Error"] and state.fields == ["v", "q"]
    assert state.components == ["length", "v_x", "v_y"] and state.component == "length"
    assert state.trust == "inside" and "too few" in state.sentence and state.axes == ["x", "y"]
    assert [legend["label"] for legend in state.legends] == ["v, length", "error of v, length"]
    assert len(state.numbers) == len(state.controls) == 4 and not state.is_changed


def test_a_slider_changes_the_prediction_and_takes_the_truth_away(page):
    before = page.answer.prediction[0]["v"]
    pushed = []
    page.push = lambda: pushed.append(list(page.state.panels))
    follow(page, numbers=[1.3, *page.state.numbers[1:]])
    assert page.state.panels == ["Prediction"] and pushed[-1] == ["Prediction"] and page.state.is_changed
    assert page.answer.values["load"] == 1.3 and not np.allclose(page.answer.prediction[0]["v"], before)
    page.reset()
    follow(page)
    assert page.state.panels == ["Truth", "Prediction", "Error"]
    assert np.allclose(page.answer.prediction[0]["v"], before) and not page.state.is_changed


def test_a_value_outside_is_marked(page):
    follow(page, numbers=[40.0, *page.state.numbers[1:]])
    control = page.state.controls[0]
    assert page.state.trust == "outside" and control["outside"] and "above" in control["note"]


@pytest.mark.parametrize("value", [-1.0, "x", None, float("nan")])
def test_a_value_that_cannot_be_predicted_is_said_and_taken_back(page, value):
    before = list(page.state.numbers)
    follow(page, numbers=[value, *before[1:]])
    assert page.state.panels == ["Truth", "Prediction", "Error"] and page.state.numbers == before
    assert "load" in page.state.message
    follow(page, numbers=[1.3, *before[1:]])
    assert page.answer.values["load"] == 1.3 and page.state.message == ""


def test_another_case(page):
    first = page.session.mesh
    follow(page, case_number=1)
    assert page.session.number == 1 and page.session.mesh is not first and page.scene.mesh is page.session.mesh
    assert page.state.numbers[0] == page.session.start["load"] and page.state.file_stem in page.session.cases[1].name


def test_a_case_that_cannot_be_read_is_said(predictor, tmp_path):
    write_mesh(tmp_path / "a.vtu", plate(3))
    write_mesh(tmp_path / "b.vtu", Mesh(plate(3).points, plate(3).cells))
    page = Page(Session(predictor, open_cases(predictor, [tmp_path / "*.vtu"])), State())
    follow(page, case_number=1)
    assert "b.vtu: Expected" in page.state.message and page.state.case_number == 0 and not page.state.busy


def test_field_component_and_colours(page):
    page.state.field_name = "q"
    page.field_changed()
    assert page.state.component == "q" and page.scene.place == "cell"
    page.state.hold = True
    page.look_changed()
    ticks = page.state.legends[0]["ticks"]
    follow(page, numbers=[1.9, *page.state.numbers[1:]])
    assert page.state.legends[0]["ticks"] == ticks
    page.state.hold = False
    page.look_changed()
    assert page.state.legends[0]["ticks"] != ticks


def test_a_click_probes_and_a_drag_does_not(page):
    place = page.session.mesh.points[11]
    above, below = (page.scene.to_scene(place[None])[0] + np.array([0, 0, height]) for height in (4, -4))
    page.press(100, 100)
    page.release(130, 100, above.tolist(), below.tolist())
    assert page.state.probe is None
    page.press(100, 100)
    page.release(101, 100, above.tolist(), below.tolist())
    assert page.state.probe["where"].startswith("point 11 at (")
    before = page.state.probe["rows"][1]["prediction"]
    follow(page, numbers=[1.3, *page.state.numbers[1:]])
    assert page.state.probe["where"].startswith("point 11 at (") and page.state.probe["rows"][1]["prediction"] != before
    page.press(100, 100)
    page.release(100, 100, (above + 9).tolist(), (below + 9).tolist())
    assert page.state.probe is None


def test_it_is_saved_as_vtu_and_png(page, tmp_path):
    follow(page, numbers=[1.3, *page.state.numbers[1:]])
    (tmp_path / "saved.vtu").write_bytes(page.save_vtu())
    saved = read_mesh(tmp_path / "saved.vtu")
    assert np.allclose(saved.point_data["v_prediction"][:, :2], page.answer.prediction[0]["v"])
    assert saved.field_data["load"] == [1.3] and "v_error" not in saved.point_data
    drawing = io.BytesIO()
    matplotlib.image.imsave(drawing, np.full((300, 600, 3), (0.0, 1.0, 0.0)), format="png")
    picture = matplotlib.image.imread(io.BytesIO(page.save_png(drawing.getvalue())))
    green = (picture[..., :3] == (0.0, 1.0, 0.0)).all(-1)
    assert green.sum() == pytest.approx(300 * 600, rel=0.02) and picture.shape[0] > 300
    with pytest.raises(ValueError, match="Expected the browser's drawing to be a PNG file"):
        page.save_png(b"nothing")


def test_the_newest_values_win(page, monkeypatch):
    """What comes while a prediction is made is predicted afterwards, once, and the last of it."""
    seen, predict = [], page.session.predict

    def slow(values):
        seen.append(values["load"])
        return predict(values)

    monkeypatch.setattr(page.session, "predict", slow)

    async def drag():
        for value in (1.1, 1.2, 1.3, 1.4):
            page.state.numbers = [value, *page.state.numbers[1:]]
            page.changed()
            await asyncio.sleep(0)
        await page._task

    asyncio.run(drag())
    assert seen[-1] == page.answer.values["load"] == 1.4 and len(seen) < 4


def test_a_model_of_numbers_alone_shows_the_mesh_and_the_numbers(run, tmp_path):
    config = small_run(run, "cases/*.vtu", ["load"], ["peak"], "data.meshes.test=2", "data.meshes.validation=1")
    with without_pictures():
        predictor = load(train(config, tmp_path / "out").checkpoint)
    page = Page(Session(predictor, open_cases(predictor)), State())
    page.press(5, 5)
    page.release(5, 5, [0, 0, 5], [0, 0, -5])
    assert page.state.panels == ["Mesh"] and page.state.legends == [] and page.state.probe is None
    assert [row["name"] for row in page.state.rows] == ["peak"] and page.state.rows[0]["truth"] != "\N{EN DASH}"
    follow(page, numbers=[1.3])
    assert (
        page.state.rows[0]["truth"] == "\N{EN DASH}"
        and "peak_prediction" in page.session.result(page.answer).field_data
    )
