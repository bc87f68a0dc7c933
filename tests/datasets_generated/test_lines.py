"""Files of the two generators on a line, InviscidBurgers and ShockTube: layout, interruptions, pictures, the script."""

from __future__ import annotations

import json
import pickle
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import inviscid_burgers_samples as burgers
import numpy as np
import pytest
import shock_tube_samples as tube
from scipy.io import loadmat, whosmat

from pitgeo.datasets import resumable


class Generator(NamedTuple):
    """One of them, the function that draws its samples, and what its files are like."""

    module: ModuleType
    draw: str
    options: tuple[Any, ...]
    shape: tuple[int, ...]
    samples: int
    bytes: int

    def pair(self, seed: int, number: int) -> Any:
        """A sample, input and target."""
        return self.module.solve(getattr(self.module, self.draw)(seed, number))

    def make(self, output: Path, samples: int, **options: Any) -> dict[str, Any]:
        self.module.generate(output, samples, processes=1, progress=False, **options)
        return loadmat(output / self.module.FILE)


GENERATORS = {
    "inviscid_burgers": Generator(burgers, "draw_start", (0.06, "periodic"), (1024,), 1152, 18874608),
    "shock_tube": Generator(tube, "draw_tube", (), (2048, 3), 1280, 125829376),
}


@pytest.fixture(params=GENERATORS)
def name(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def generator(name: str) -> Generator:
    return GENERATORS[name]


def test_the_file_has_the_name_and_layout_of_the_original(generator: Generator, tmp_path: Path) -> None:
    made, path = generator.make(tmp_path, 3), tmp_path / generator.module.FILE
    assert whosmat(path) == [(name, (3, *generator.shape), "double") for name in ("x", "y")]
    np.testing.assert_array_equal([made["x"][2], made["y"][2]], generator.pair(0, 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name, resumable.MANIFEST]
    assert json.loads((tmp_path / resumable.MANIFEST).read_text())["settings"]["samples"] == 3
    # A header, and for each array a tag, its flags, shape, name and data: as long as the original.
    left_out = 2 * 8 * int(np.prod(generator.shape)) * (generator.samples - 3)
    assert path.stat().st_size + left_out == generator.bytes


def test_a_sample_does_not_depend_on_the_number_asked_for(
    generator: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = generator.make(tmp_path / "few", 3)
    monkeypatch.setattr(generator.module, "_CHUNK", 2)
    more, other = generator.make(tmp_path / "more", 5), generator.make(tmp_path / "other", 3, seed=1)
    np.testing.assert_array_equal(more["y"][:3], few["y"])
    assert not np.array_equal(few["x"], other["x"])


def test_an_interrupted_run_goes_on_and_gives_the_same_file(
    generator: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator.module, "_CHUNK", 2)
    generator.make(tmp_path / "whole", 5)
    draw, drawn = getattr(generator.module, generator.draw), list[int]()

    def interrupted(seed: int, number: int, *options: Any) -> Any:
        if number == 3 and len(drawn) < 5:
            raise KeyboardInterrupt
        drawn.append(number)
        return draw(seed, number, *options)

    monkeypatch.setattr(generator.module, generator.draw, interrupted)
    with pytest.raises(KeyboardInterrupt):
        generator.make(tmp_path / "output", 5)
    whole, output = (tmp_path / folder / generator.module.FILE for folder in ("whole", "output"))
    assert not output.exists()
    drawn.extend([-1, -1])
    generator.make(tmp_path / "output", 5)
    assert drawn[-3:] == [2, 3, 4]
    assert output.read_bytes()[128:] == whole.read_bytes()[128:]
    with pytest.raises(FileExistsError, match="choose another output folder"):
        generator.make(tmp_path / "output", 5, seed=1)


def test_options_of_burgers_reach_the_samples_and_other_ones_are_not_mixed(tmp_path: Path) -> None:
    make = GENERATORS["inviscid_burgers"].make
    made = make(tmp_path, 2, length=0.1, boundary="constant")
    start = burgers.draw_start(0, 1, 0.1, "constant")
    np.testing.assert_array_equal([made["x"][1], made["y"][1]], burgers.solve(start, "constant"))
    assert json.loads((tmp_path / resumable.MANIFEST).read_text())["settings"]["length"] == 0.1
    make(tmp_path, 2, length=0.1, boundary="constant")
    for options in ({"length": 0.1}, {"boundary": "constant"}, {"length": 0.1, "boundary": "constant", "seed": 1}):
        with pytest.raises(FileExistsError, match="choose another output folder"):
            make(tmp_path, 2, **options)


def test_samples_can_be_made_in_other_processes(generator: Generator) -> None:
    function, arguments = pickle.loads(pickle.dumps((generator.module._arrays, (0, *generator.options, 1))))
    np.testing.assert_array_equal(function(*arguments)["y"], generator.pair(0, 1)[1])


def test_options_out_of_range_are_refused(generator: Generator, tmp_path: Path) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"samples": 0}, "'samples' to be at least 1"),
        ({"samples": generator.module.MOST + 1}, "'samples' to be at most"),
        ({"seed": -1}, "'seed' to be at least 0"),
        ({"processes": 0}, "'processes' to be at least 1"),
    ]
    if generator.module is burgers:
        refused += [({"length": 0.0}, "'length' to be from"), ({"boundary": "open"}, "'boundary' to be one of")]
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            generator.module.generate(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_picture(generator: Generator, tmp_path: Path) -> None:
    generator.make(tmp_path, 3)
    picture, samples = generator.module.picture, 1 if generator.module is tube else 3
    assert picture(tmp_path, tmp_path / "pictures" / "samples.png", samples=samples).read_bytes()[1:4] == b"PNG"
    with pytest.raises(FileNotFoundError, match=generator.module.FILE):
        picture(tmp_path / "pictures", tmp_path / "samples.png")
    with pytest.raises(ValueError, match="'samples' to be at least 1"):
        picture(tmp_path, tmp_path / "samples.png", samples=0)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        (
            "inviscid_burgers",
            ["--boundary", "constant", "--length", "0.1"],
            lambda: burgers.solve(burgers.draw_start(0, 1, 0.1, "constant"), "constant"),
        ),
        ("shock_tube", ["--seed", "3"], lambda: tube.solve(tube.draw_tube(3, 1))),
    ],
)
def test_the_script(
    name: str,
    options: list[str],
    expected: Any,
    generator: Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = str(Path(__file__).parents[2] / "datasets" / name / "generate.py")
    given = ["--samples", "2", "--quiet", "--processes", "1", *options]
    monkeypatch.setattr(sys, "argv", ["generate.py", "--output", str(tmp_path / "raw"), *given])
    runpy.run_path(script, run_name="__main__")
    np.testing.assert_array_equal(loadmat(tmp_path / "raw" / generator.module.FILE)["y"][1], expected()[1])
    monkeypatch.setattr(sys, "argv", ["generate.py", "--output", str(tmp_path), "--samples", "0"])
    with pytest.raises(SystemExit, match="1"):
        runpy.run_path(script, run_name="__main__")
    assert "Expected 'samples' to be at least 1" in capsys.readouterr().err
