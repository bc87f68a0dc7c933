"""The whole page in headless Chromium: the command, its token, what is seen, sliders, probe and saved files."""

import asyncio
import io
import re
import shutil
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import matplotlib.image
import numpy as np
import pytest

from benchmarks.speed.view import headless
from pitgeo import load
from pitgeo.mesh import read_mesh, write_mesh
from tests.plates import plate
from tests.view.conftest import with_numbers

pytest.importorskip("trame")
pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium and its driver are not installed")


@pytest.fixture(scope="module")
def address(run):
    """Where the command shows two plates, to be used with its token."""
    for number in (3, 5):
        write_mesh(run / "shown" / f"plate_{number}.vtu", plate(number))
    command = [sys.executable, "-m", "pitgeo", "view", str(run / "out" / "best.ckpt"), str(run / "shown" / "*.vtu")]
    with subprocess.Popen([*command, "--host", "0.0.0.0", "--device", "cpu"], stdout=subprocess.PIPE, text=True) as own:
        line = own.stdout.readline()
        found = re.fullmatch(r"http://\S+?:(\d+)/index\.html\?secret=(\S{20,}) \(Ctrl-C ends it\)\n", line)
        assert found, line
        yield f"http://127.0.0.1:{found[1]}/index.html?secret={found[2]}"
        own.send_signal(signal.SIGINT)
        assert own.wait(20) == 0


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(address, downloads):
    options = headless(CHROMIUM)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.get(address)
        until(driver, lambda: text(driver, "#trust") and int(drawing(driver).get_attribute("data-drawn")) > 0)
        yield driver
    finally:
        driver.quit()


def until(driver, condition):
    WebDriverWait(driver, 20, 0.05, ignored_exceptions=(Exception,)).until(lambda _: condition())


def text(driver, place):
    return driver.find_element("css selector", place).text


def drawing(driver):
    return driver.find_element("css selector", "#drawing")


def panels(driver):
    return [panel.text for panel in driver.find_elements("css selector", ".panels > div")]


def pixels(driver):
    """The drawing as it is seen, ``[height, width, 3]``."""
    return matplotlib.image.imread(io.BytesIO(drawing(driver).screenshot_as_png), format="png")[..., :3]


def colored(driver, third):
    """Pixels of a third of the drawing that are neither white nor grey."""
    whole = pixels(driver)
    part = np.array_split(whole, 3, axis=1)[third]
    return int((np.ptp(part, axis=-1) > 0.2).sum())


def test_nothing_is_to_be_had_without_the_token(address):
    aiohttp = pytest.importorskip("aiohttp")
    import msgpack

    base, right = f"http://127.0.0.1:{urlsplit(address).port}", urlsplit(address).query
    hello = {"wslink": "1.0", "id": "system:c0:0", "method": "wslink.hello", "args": [{"secret": "wslink-secret"}]}
    asked = {"wslink": "1.0", "id": "rpc:c0:1", "method": "trame.state.get", "args": []}

    def chunk(message):
        """A message as wslink sends it: its number, where the part begins, how long the message is, and the part."""
        packed = msgpack.packb(message)
        head = (1).to_bytes(4, "little") + (0).to_bytes(4, "little") + len(packed).to_bytes(4, "little")
        return head + packed

    async def ask():
        async with aiohttp.ClientSession() as session:
            for path in ("/", "/index.html", "/index.html?secret=wslink-secret", "/ws", "/vue.global.js"):
                async with session.get(base + path) as answer:
                    assert answer.status == 403, path
            for query in ("", "?secret=wrong"):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                    await session.ws_connect(f"{base}/ws{query}")
            async with session.ws_connect(f"{base}/ws?{right}") as socket:  # it also has to know trame's own secret
                for message, refusal in ((hello, b"Authentication failed"), (asked, b"Unauthorized")):
                    await socket.send_bytes(chunk(message))
                    assert refusal in (await socket.receive(5)).data

    asyncio.run(ask())


def test_the_page_shows_what_there_is(browser):
    assert panels(browser) == ["Truth", "Prediction", "Error"] and "Inside the training set" in text(browser, "#trust")
    page = text(browser, "body")
    for word in ("plate_3.vtu", "load", "wind_x", "wind_y", "kind", "trained on", "largest v", "peak", "Save VTU"):
        assert word in page
    assert browser.title == "best.ckpt - pitgeo" and "secret" not in browser.current_url
    assert all(colored(browser, third) > 2000 for third in range(3))
    assert not [entry for entry in browser.get_log("browser") if "TypeError" in entry["message"]]


def test_a_click_reads_values_and_a_slider_changes_them(browser, run):
    predictor, mesh = load(run / "out" / "best.ckpt"), plate(3)
    ActionChains(browser).move_to_element(drawing(browser)).click().perform()
    until(browser, lambda: re.search(r"point \d+ at", text(browser, "#probe")))
    number = int(re.search(r"point (\d+) at", text(browser, "#probe"))[1])
    center = (mesh.points.min(0) + mesh.points.max(0)) / 2
    assert np.linalg.norm(mesh.points - center, axis=1).argmin() == number  # the middle of the middle panel
    expected = predictor.predict_mesh(mesh).point_data
    assert f"v_x {expected['v_prediction'][number, 0]:.4g} ± {expected['v_bound'][number, 0]:.4g}" in text(
        browser, "#probe"
    )
    before = text(browser, "#probe")
    drawn = int(drawing(browser).get_attribute("data-drawn"))
    browser.find_element("css selector", ".v-slider-thumb").send_keys(Keys.ARROW_RIGHT)
    until(browser, lambda: panels(browser) == ["Prediction"] and text(browser, "#probe") != before)
    until(browser, lambda: int(drawing(browser).get_attribute("data-drawn")) > drawn)
    load_now = float(browser.find_element("css selector", "#number-load").get_attribute("value"))
    assert load_now != mesh.field_data["load"][0]
    other = predictor.predict_mesh(with_numbers(mesh, load=load_now)).point_data["v_prediction"]
    assert f"v_x {other[number, 0]:.4g} ±" in text(browser, "#probe")
    assert colored(browser, 1) > 2000
    for _ in range(25):  # faster than predictions are made
        browser.find_element("css selector", ".v-slider-thumb").send_keys(Keys.ARROW_RIGHT)
    load_now = float(browser.find_element("css selector", "#number-load").get_attribute("value"))
    other = predictor.predict_mesh(with_numbers(mesh, load=load_now)).point_data["v_prediction"]
    until(browser, lambda: f"v_x {other[number, 0]:.4g} ±" in text(browser, "#probe"))
    until(browser, lambda: colored(browser, 1) > 2000)


def test_what_is_saved_is_what_is_shown(browser, run, downloads):
    load_now = float(browser.find_element("css selector", "#number-load").get_attribute("value"))
    for name in ("vtu", "png"):
        browser.find_element("css selector", f"#save-{name}").click()
        until(browser, lambda own=name: (downloads / f"plate_3.{own}").exists())
    time.sleep(0.2)
    predictor = load(run / "out" / "best.ckpt")
    expected = predictor.predict_mesh(predictor.table.without_targets(with_numbers(plate(3), load=load_now)))
    saved = read_mesh(downloads / "plate_3.vtu")
    assert set(saved.point_data) == set(expected.point_data) and set(saved.field_data) == set(expected.field_data)
    for name in ("v_prediction", "v_bound"):
        assert np.allclose(saved.point_data[name], expected.point_data[name], rtol=1e-4, atol=1e-6)
    picture = matplotlib.image.imread(downloads / "plate_3.png")
    assert (np.ptp(picture[..., :3], axis=-1) > 0.2).sum() > 5000


def test_a_typed_value_a_plane_and_the_way_back(browser):
    field = browser.find_element("css selector", "#number-load")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("40", Keys.ENTER)
    until(browser, lambda: "Outside the training set: 'load' is 40" in text(browser, "#trust"))
    assert "above" in text(browser, ".far")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("none", Keys.ENTER)
    until(browser, lambda: "Expected finite values of 'load'" in text(browser, "#message"))
    browser.find_element("css selector", "#reset").click()
    until(browser, lambda: panels(browser) == ["Truth", "Prediction", "Error"])
    until(browser, lambda: all(colored(browser, third) > 2000 for third in range(3)))
    before = colored(browser, 0)
    browser.execute_script("document.querySelector('#clip').click()")
    until(browser, lambda: colored(browser, 0) < 0.75 * before)
    browser.execute_script("document.querySelector('#clip').click()")
    until(browser, lambda: colored(browser, 0) > 0.95 * before)


def test_a_drag_moves_all_panels_and_a_reload_goes_on(browser):
    before = pixels(browser)
    drag = ActionChains(browser, duration=40).move_to_element(drawing(browser)).click_and_hold()
    for _ in range(4):
        drag.move_by_offset(12, 8)
    drag.release().perform()
    until(browser, lambda: np.abs(pixels(browser) - before).max() > 0.2)
    parts = [np.ptp(part, axis=-1) > 0.2 for part in np.array_split(pixels(browser), 3, axis=1)[:2]]
    earlier = [np.ptp(part, axis=-1) > 0.2 for part in np.array_split(before, 3, axis=1)[:2]]
    moved = [(now != then).mean() for now, then in zip(parts, earlier, strict=True)]
    assert min(moved) > 0.02 and moved[0] == pytest.approx(moved[1], rel=0.3)
    browser.refresh()
    until(browser, lambda: panels(browser) == ["Truth", "Prediction", "Error"])
