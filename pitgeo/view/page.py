"""What a page shows and does: the link between a session, its drawing and the browser's controls."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from pitgeo.data.fields.mesh_field import AXES
from pitgeo.mesh import write_mesh
from pitgeo.view.panels import Legend, Limits, bare, panels_of, ranges
from pitgeo.view.picture import picture
from pitgeo.view.probe import format_number, nearest, number_rows, probe_rows
from pitgeo.view.scene import Clip, Scene
from pitgeo.view.session import Session

MOST_EDGES = 3000
"""Edges of cells are drawn at first on meshes of at most this many cells."""
BESIDE, BELOW = 320, 300
"""Pixels of the window beside the drawing, and above and below it, about."""
CLICK = 4.0
"""A mouse that moves by fewer pixels between press and release has clicked."""
FAILURES = (ValueError, TypeError, ImportError, ArithmeticError, RuntimeError, OSError)
"""What is said on the page, which goes on."""


class Page:
    """A page: its state is trame's, which the browser has too.

    Args:
        session: What is looked at.
        state: Trame's state.

    Attributes:
        push: Sends the drawing to the browser.
        push_camera: Sends the camera to the browser.
    """

    def __init__(self, session: Session, state: Any) -> None:
        self.session, self.state, self.scene = session, state, Scene()
        self.push: Callable[[], None] = lambda: None
        self.push_camera: Callable[[Any, list[float]], None] = lambda camera, center: None
        self._worker = ThreadPoolExecutor(1, initializer=torch.set_flush_denormal, initargs=(True,))
        self._task: asyncio.Task[None] | None = None
        self._limits: tuple[Limits, Limits] | None = None
        self._legends: list[Legend] = []
        self._size = (1400.0, 800.0)
        self._press: tuple[float, float] | None = None
        self._is_moved = False
        self._probed: int | None = None
        self.answer = session.predict(session.start)
        state.update(
            {
                "trame__title": f"{session.predictor.path.name} - pitgeo",
                "model": str(session.predictor.path),
                "cases": [{"title": case.name, "value": number} for number, case in enumerate(session.cases)],
                "case_number": 0,
                "fields": [field.name for field in session.fields],
                "field_name": session.fields[0].name if session.fields else "",
                "clip_on": False,
                "clip_axis": 0,
                "clip_share": 0.5,
                "clip_flipped": False,
                "hold": False,
                "message": "",
                "busy": False,
                "seconds": "",
            }
        )
        self._opened()

    # What the browser does

    def changed(self, **_: Any) -> None:
        """Another case or other numbers are wanted: the newest ones are predicted, whatever comes meanwhile."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())

    def field_changed(self, **_: Any) -> None:
        """Another target is wanted."""
        self._show_field()
        self.draw()

    def look_changed(self, **_: Any) -> None:
        """Another component, step, clip plane or look is wanted."""
        self.draw()

    def reset(self) -> None:
        """Go back to the numbers of the file."""
        self.state.numbers = [self.session.start[control.name] for control in self.session.controls]

    def resized(self, width: float, height: float) -> None:
        """The window has this size in pixels."""
        is_first, self._size = self._size == (1400.0, 800.0), (float(width), float(height))
        if is_first:
            self.fit()

    def fit(self) -> None:
        """See the whole mesh."""
        self._is_moved = False
        width, height = max(self._size[0] - BESIDE, 50.0), max(self._size[1] - BELOW, 50.0)
        camera = self.scene.fit(width / max(1, len(self.state.panels)) / height)
        self.scene.place_camera(camera)
        self.push_camera(self.scene.camera, camera.target.tolist())

    def zoomed(self) -> None:
        """The browser's camera was moved by the wheel."""
        self._is_moved = True

    def press(self, x: float, y: float) -> None:
        """The mouse is pressed at a pixel of the drawing."""
        self._press = (x, y)

    def release(self, x: float, y: float, start: Sequence[float], end: Sequence[float]) -> None:
        """The mouse is released; if it has not moved, the probe goes to what is seen there.

        Args:
            x: Pixel of the drawing.
            y: The same.
            start: A point of the ray through the pixel, before the mesh.
            end: A point behind it.
        """
        if self._press is None or np.hypot(x - self._press[0], y - self._press[1]) > CLICK:
            self._is_moved = True
            return
        if not self.session.fields:
            return
        found = self.scene.pick(np.array(start, float), np.array(end, float))
        field = self.state.field_name
        self._probed = None if found is None else nearest(self.session, field, found)
        self._show_probe()
        self.push()

    def save_vtu(self) -> bytes:
        """The mesh with the fields that are shown, as a VTU file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.vtu"
            write_mesh(path, self.session.result(self.answer, self._step))
            return path.read_bytes()

    def save_png(self, drawing: bytes) -> bytes:
        """What is seen, as a PNG file."""
        values = ", ".join(f"{name} = {format_number(value)}" for name, value in self.answer.values.items())
        title = self.session.cases[self.session.number].name
        texts = [title, *([values] if values else []), self.answer.trust.sentence]
        return picture(drawing, self.state.panels, self._legends, texts)

    # What follows

    async def _follow(self) -> None:
        """Predict until the page shows what is wanted."""
        loop, session = asyncio.get_running_loop(), self.session
        while True:
            number, values = int(self.state.case_number), self._values()
            is_same = number == session.number
            if is_same and (values is None or values == self.answer.values):
                break
            with self.state:
                self.state.busy = not is_same
            start = time.perf_counter()
            try:
                if not is_same:
                    await loop.run_in_executor(self._worker, session.open, number)
                wanted = values if is_same and values is not None else session.start
                answer = await loop.run_in_executor(self._worker, session.predict, wanted)
            except FAILURES as error:
                with self.state:
                    self._failed(error)
                continue
            with self.state:
                self.answer = answer
                if is_same:
                    self._answered()
                    self.draw()
                else:
                    self._opened()
                    self.fit()
                self.state.seconds = f"{time.perf_counter() - start:.2f} s"
                self.state.message = ""
            await asyncio.sleep(0)
        with self.state:
            self.state.busy = False

    def _failed(self, error: BaseException) -> None:
        """Say what is wrong, and go back to what is shown."""
        self.state.message = " ".join(str(error).split())
        self.state.case_number = self.session.number
        self.state.numbers = [self.answer.values[control.name] for control in self.session.controls]

    def _values(self) -> dict[str, float] | None:
        """The numbers that the sliders have; ``None`` while they are those of another case."""
        controls = self.session.controls
        if len(self.state.numbers) != len(controls):
            return None
        return {control.name: _number(value) for control, value in zip(controls, self.state.numbers, strict=True)}

    def _opened(self) -> None:
        """Show another case from its file's numbers on."""
        session, state = self.session, self.state
        dimension = session.mesh.points.shape[1]
        state.numbers = [session.start[control.name] for control in session.controls]
        state.axes = [AXES[axis] for axis in session.mesh.axes]
        state.steps, state.step = session.steps, min(int(state.step or 1), session.steps)
        state.edges = 0 < session.mesh.number_of_cells <= MOST_EDGES and dimension > 1
        state.file_stem = Path(session.cases[session.number].name).stem
        self._show_field()
        self._answered()
        self.draw()

    def _show_field(self) -> None:
        session, state = self.session, self.state
        place: Literal["point", "cell"] = "point"
        if state.field_name and session.field(state.field_name).place == "cell":
            place = "cell"
        self._limits, self._probed = None, self._probed if self.scene.shows(session.mesh, place) else None
        state.components = list(session.components(state.field_name)) if state.field_name else []
        if state.component not in state.components:
            state.component = state.components[0] if state.components else ""
        self.scene.open(session.mesh, place)

    def _answered(self) -> None:
        """Show what belongs to the answer as a whole."""
        state, session, answer = self.state, self.session, self.answer
        state.trust, state.sentence = answer.trust.status, answer.trust.sentence
        state.is_changed = answer.values != dict(session.start)
        state.controls = [control.plain(answer.values[control.name]) for control in session.controls]

    def draw(self) -> None:
        """Draw the answer as it is wanted."""
        state, session = self.state, self.session
        if state.field_name:
            shown = session.shown(self.answer, state.field_name, state.component, self._step)
            if self._limits is None or not state.hold:
                self._limits = ranges(shown)
            panels, self._legends = panels_of(shown, self._label(), self._limits)
        else:  # a model of numbers of the whole mesh alone
            panels, self._legends = bare(len(session.mesh.points)), []
        titles = [panel.title for panel in panels]
        clip = Clip(int(state.clip_axis), float(state.clip_share), bool(state.clip_flipped)) if state.clip_on else None
        self.scene.show(panels, clip, bool(state.edges))
        is_wider, state.panels = len(titles) != len(state.panels or titles), titles
        if is_wider and not self._is_moved:
            self.fit()
        state.legends = [legend.plain() for legend in self._legends]
        state.rows = number_rows(session, self.answer, self._step)
        self._show_probe()
        self.push()

    @property
    def _step(self) -> int:
        return max(1, min(int(self.state.step or 1), self.session.steps)) - 1

    def _label(self) -> str:
        name, component = self.state.field_name, self.state.component
        return str(component if component in self.session.field(name).labels else f"{name}, {component}")

    def _show_probe(self) -> None:
        if self._probed is None:
            self.state.probe = None
            self.scene.mark(None)
            return
        field = self.state.field_name
        self.state.probe = probe_rows(self.session, self.answer, field, self._probed, self._step)
        self.scene.mark(self.session.positions(field)[self._probed])


def _number(value: Any) -> float:
    """What the browser sends as a number; not-a-number for anything else, which the prediction refuses."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
