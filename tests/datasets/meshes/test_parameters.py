"""Numbers that belong to files."""

import json
from pathlib import Path

import pytest

from pitgeo.datasets.meshes.parameters import named_parameters, read_parameters

FILES = [Path("a/wing_0.3_-2.vtu"), Path("a/wing_0.5_1e1.vtu")]


def test_tables_and_names(tmp_path):
    table = tmp_path / "numbers.csv"
    table.write_bytes("\ufefffile,drag,note\r\nwing_0.3_-2.vtu,1.5,fine\r\nwing_0.5_1e1,2.5,\r\n".encode())
    found = read_parameters(FILES, str(table), "wing_{mach}_{angle}.vtu", {"drag"})
    assert found == {
        FILES[0]: {"mach": 0.3, "angle": -2.0, "drag": 1.5},
        FILES[1]: {"mach": 0.5, "angle": 10.0, "drag": 2.5},
    }
    (tmp_path / "numbers.json").write_text(json.dumps({path.name: {"drag": 3} for path in FILES}))
    assert read_parameters(FILES, str(tmp_path / "numbers.json"))[FILES[1]] == {"drag": 3.0}
    assert read_parameters(FILES) == {path: {} for path in FILES}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,drag\nx,1\n", "a column 'file' in the first line .got name, drag"),
        ("file,drag\nother,1\n", "a row for wing_0.3_-2.vtu.*the first for other"),
        ("file,drag\nwing_0.3_-2,high\nwing_0.5_1e1,1\n", "a number for wing_0.3_-2, in the column 'drag' .got 'high'"),
        ("file,drag\nwing_0.3_-2,1\nwing_0.3_-2,1\n", "every file once"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "numbers.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_parameters(FILES, str(tmp_path / "numbers.csv"), wanted={"drag"})


def test_other_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError, match="table of parameters"):
        read_parameters(FILES, str(tmp_path / "none.csv"))
    (tmp_path / "numbers.json").write_text("[1]")
    with pytest.raises(ValueError, match="another structure"):
        read_parameters(FILES, str(tmp_path / "numbers.json"))
    (tmp_path / "numbers.json").write_text("{")
    with pytest.raises(ValueError, match="Expected JSON"):
        read_parameters(FILES, str(tmp_path / "numbers.json"))
    with pytest.raises(ValueError, match=r"a file name like 'plate_{mach}.vtu'"):
        named_parameters(FILES[0], "plate_{mach}.vtu")
    with pytest.raises(ValueError, match="parameters in braces"):
        named_parameters(FILES[0], "wing.vtu")
