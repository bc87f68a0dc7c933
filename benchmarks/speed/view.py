"""Time from a slider's event to the new fields in the page of ``pitgeo view``, in headless Chromium."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment, machine_line, origin
from benchmarks.speed.large_files import box_mesh
from pitgeo.evaluation.evaluation import write_json
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.system.atomic_files import write_atomic
from pitgeo.workflows.surrogate import train_surrogate

MOVES = 20
WATCH = """
const [place, done] = arguments, drawing = document.querySelector('#drawing');
const thumb = document.querySelector('.v-slider-thumb'), drawn = drawing.dataset.drawn;
const start = performance.now();
const watch = () => {
  if (drawing.dataset.drawn !== drawn) requestAnimationFrame(() => done(performance.now() - start));
  else setTimeout(watch, 1);
};
thumb.dispatchEvent(new KeyboardEvent('keydown', {key: place, code: place, bubbles: true}));
watch();
"""


def run_view(output: Path, points: int, threads: int = 1) -> dict[str, Any]:
    """Move a slider of the page, and wait each time until the browser has drawn the new fields.

    The mesh is a box of hexahedra, the network that of ``train_surrogate``, trained for one epoch on coarse boxes: its
    size matters, not its accuracy.

    Args:
        output: Folder for ``view.json`` and ``view.md``.
        points: Points of the mesh, rounded to a cube.
        threads: Threads of the prediction.

    Returns:
        The content of ``view.json``.

    Raises:
        RuntimeError: If Chromium or its driver is not installed.
    """
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        raise RuntimeError("Expected Chromium and its driver to measure the page with (got none); install both")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        random = np.random.default_rng(0)
        coarse = [_box(side**3, random.uniform(1, 10)) for side in range(7, 11) for _ in range(3)]
        settings = ["training.epochs=1", "data.meshes.test=1", "data.meshes.validation=1"]
        train_surrogate(coarse, ["u"], root / "run", ["load"], settings, progress=False)
        mesh = _box(points, 3.0)
        write_mesh(root / "mesh.vtu", mesh)
        command = [sys.executable, "-m", "pitgeo", "view", str(root / "run" / "best.ckpt"), str(root / "mesh.vtu")]
        variables = environment() | {"OMP_NUM_THREADS": str(threads)}
        with subprocess.Popen(
            [*command, "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables
        ) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().split(" ")[0]
                seconds = _moves(address, browser, driver)
            finally:
                server.terminate()
    result = {"points": len(mesh.points), "threads": threads, "seconds": seconds, **origin()}
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "view.json", result)
    write_atomic(output / "view.md", format_view(result).encode())
    return result


def format_view(result: dict[str, Any]) -> str:
    """The numbers as a text."""
    seconds = sorted(result["seconds"])
    return "\n".join(
        [
            "# A slider of pitgeo view",
            "",
            f"{result['points']:,} points, {len(seconds)} moves; seconds from the event to the frame with new fields: "
            f"median {statistics.median(seconds):.3f}, least {seconds[0]:.3f}, most "
            f"{seconds[-1]:.3f}",
            "",
            machine_line(result),
            f"- Date: {result['date']}",
            "",
        ]
    )


def _box(points: int, load: float) -> Mesh:
    """A box whose field is that of :func:`box_mesh` times a number."""
    mesh = box_mesh(points)
    return Mesh(mesh.points, mesh.cells, {"u": load * mesh.point_data["u"]}, {}, {"load": np.array([load])})


def headless(browser: str) -> Any:
    """Options of a Chromium without a screen, which draws by the processor."""
    from selenium.webdriver.chrome.options import Options

    options = Options()
    options.binary_location = browser
    for argument in (
        "headless=new",
        "no-sandbox",
        "window-size=1400,900",
        "use-angle=swiftshader",
        "enable-unsafe-swiftshader",
        "disable-dev-shm-usage",
    ):
        options.add_argument(f"--{argument}")
    return options


def _moves(address: str, browser: str, driver: str) -> list[float]:
    """Seconds of every move of the slider, after three to warm up."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    page = webdriver.Chrome(options=headless(browser), service=Service(driver))
    try:
        page.set_script_timeout(60)
        page.get(address)
        while not page.find_elements("css selector", "#drawing[data-drawn]:not([data-drawn='0'])"):
            time.sleep(0.1)
        time.sleep(2)
        found = []
        for move in range(MOVES + 3):
            key = "ArrowRight" if move % 8 < 4 else "ArrowLeft"
            found.append(page.execute_async_script(WATCH, key) / 1000)
            time.sleep(0.1)
        return found[3:]
    finally:
        page.quit()
