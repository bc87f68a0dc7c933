"""Numbers that belong to files."""

import json
from pathlib import Path

import pytest

from pitgeo.datasets.folder.parameters import named_parameters, read_parameters

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
        ("file,drag\nwing_0.3_-2,1\nwing_0.3_-2,1\n", "every file once .got wing_0.3_-2 again in line 3"),
        ("file,drag,temp\nwing_0.3_-2,1,5,300\n", "3 cells.*file, drag, temp .got 4 in line 2: wing_0.3_-2, 1, 5, 300"),
        ("file,temp,drag\n\nwing_0.3_-2,1,500,300\n", "3 cells.*got 4 in line 3"),
        ("file,temp,drag\nwing_0.3_-2,1\n", "3 cells.*got 2 in line 2"),
        ("file,temp,drag\nwing_0.3_-2,1,2,\n", "3 cells.*got 4 in line 2"),
        ("file,drag, drag,temp\nwing_0.3_-2,1,7,300\n", "every column once .got 'drag' 2 times"),
        ("file,drag,file\nwing_0.3_-2,1,wing_0.5_1e1\n", "every column once .got 'file' 2 times"),
        (",file,drag\n0,wing_0.3_-2,1\n", "a name for every column .got '0' in line 2"),
        ("file,drag\n,1\n", "a name in the column 'file' .got none in line 2"),
        ('file,drag\nwing_0.3_-2,"1"5\n', "a table of text.*in line 2"),
        ('file,drag\nwing_0.3_-2,"1\nwing_0.5_1e1,2\n', "a table of text.*in line 3"),
        ('file,drag\nwing_0.3_-2,"1,5"\n', "a number for wing_0.3_-2, in the column 'drag' .got '1,5' in line 2"),
        ("file;drag\nwing_0.3_-2;1,5\n", "a column 'file'.*commas, and write decimals with a point"),
        (
            "file,drag\nwing_0.3_-2,1\nwing_0.3_-2.vtu,2\n",
            "a row for .* .got those for wing_0.3_-2.vtu and wing_0.3_-2",
        ),
        ("file,drag\na/wing_0.3_-2,1\nwing_0.3_-2,2\n", "got those for wing_0.3_-2 and a/wing_0.3_-2"),
        ("file,drag\n./wing_0.3_-2,1\nwing_0.3_-2,2\n", "every file once .got wing_0.3_-2 again in line 3"),
        *(
            (
                f"file,drag\nwing_0.3_-2,{number}\n",
                f"a number for wing_0.3_-2, in the column 'drag' .got .{number}. in line 2",
            )
            for number in ("1_5", "nan", "inf", "-Infinity", "0x10", "1 500", "1e999", "\u0661", "1d3", "1'500", "1.")
        ),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "numbers.csv").write_text(text, encoding="utf-8")
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"wing_0.3_-2": {"drag": 1, "drag": 2}}', "the name 'drag' is empty, or there twice"),
        ('{"wing_0.3_-2": {"drag": 1}, "wing_0.3_-2": {"drag": 2}}', "the name 'wing_0.3_-2' is empty, or there twice"),
        ('{"wing_0.3_-2": {"drag": 1, "drag ": 2}}', "'drag ' is empty, or there twice"),
        ('{"wing_0.3_-2": {"drag": NaN}}', "NaN is no number"),
        ('{"wing_0.3_-2": {"drag": 1e999}}', "a number for wing_0.3_-2, in the column 'drag' .got inf"),
        ('{"wing_0.3_-2": {"drag": true}}', "a number for wing_0.3_-2, in the column 'drag' .got True"),
        ('{"wing_0.3_-2": {"drag": "1_5"}}', "got '1_5'"),
        ('{"wing_0.3_-2": {"drag": [1]}}', r"got .1."),
        (f'{{"wing_0.3_-2": {{"drag": 1{"0" * 400}}}}}', "a number for wing_0.3_-2"),
        (f'{{"wing_0.3_-2": {{"drag": 1{"0" * 5000}}}}}', "Expected JSON"),
        ("[" * 100000, "Expected JSON"),
    ],
)
def test_json_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "numbers.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_parameters(FILES[:1], str(tmp_path / "numbers.json"), wanted={"drag"})


def test_what_spreadsheets_add_is_passed_over(tmp_path):
    """A column without a name and without cells, and rows of nothing; quoted line breaks count as lines."""
    table = tmp_path / "numbers.csv"
    table.write_text('file,note,drag,\nwing_0.3_-2,"two\nlines",1.5e0,\n,,,\n\nwing_0.5_1e1.vtu,,+2,\nothers,,0,\n')
    assert read_parameters(FILES, str(table), wanted={"drag"}) == {FILES[0]: {"drag": 1.5}, FILES[1]: {"drag": 2.0}}
    table.write_text('file,note,drag\nwing_0.3_-2,"two\nlines",high\n')
    with pytest.raises(ValueError, match="got 'high' in line 3"):
        read_parameters(FILES[:1], str(table), wanted={"drag"})


def test_a_table_and_a_name_that_disagree(tmp_path):
    table = tmp_path / "numbers.csv"
    table.write_text("file,mach\nwing_0.3_-2,0.30\n")
    assert read_parameters(FILES[:1], str(table), "wing_{mach}_{angle}")[FILES[0]] == {"mach": 0.3, "angle": -2.0}
    table.write_text("file,mach\nwing_0.3_-2,0.4\n")
    with pytest.raises(ValueError, match=r"mach of wing_0.3_-2.vtu to be as in its name .got 0.4, and 0.3"):
        read_parameters(FILES[:1], str(table), "wing_{mach}_{angle}")


def test_numbers_in_names_are_told_apart():
    assert named_parameters(Path("a1-2.vtu"), "a{x}-{y}.vtu") == {"x": 1.0, "y": 2.0}
    assert named_parameters(Path("a1--2.vtu"), "a{x}-{y}.vtu") == {"x": 1.0, "y": -2.0}
    for name, pattern in (("a123.vtu", "a{x}{y}.vtu"), ("a1e5e2.vtu", "a{x}e{y}.vtu"), ("a1.2.3.vtu", "a{x}.{y}.vtu")):
        with pytest.raises(ValueError, match="can be told apart"):
            named_parameters(Path(name), pattern)
    with pytest.raises(ValueError, match="a file name like"):
        named_parameters(Path("a\u0661.vtu"), "a{x}.vtu")
