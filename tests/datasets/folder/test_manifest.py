"""Which file belongs to which split."""

from pathlib import Path

import pytest

from pitgeo.datasets.folder.manifest import find_files, split_files

FILES = tuple(Path(f"runs/case_{number}.vtu") for number in range(20))


def names(paths):
    return [int(path.stem.split("_")[1]) for path in paths]


def test_shares_and_numbers_partition_the_files():
    found = split_files(FILES, 1.0, 0.1, 4, seed=0)
    assert [len(part) for part in (found.train, found.validation, found.test)] == [14, 2, 4]
    assert sorted(found.files) == sorted(FILES) and len(set(found.files)) == 20
    assert names(found.train) == sorted(names(found.train))
    assert found == split_files(FILES, 1.0, 0.1, 4, seed=0) != split_files(FILES, 1.0, 0.1, 4, seed=1)
    assert found.plain()["test"] == [str(path) for path in found.test]


def test_the_split_does_not_depend_on_the_folder():
    moved = [Path("elsewhere") / path.name for path in FILES]
    parts = [split_files(files, 1.0, 0.2, 0.2, 3) for files in (FILES, moved)]
    assert names(parts[0].files) == names(parts[1].files)


def test_patterns_lists_and_files_of_names(tmp_path):
    (tmp_path / "list.txt").write_text("case_3.vtu\n\nruns/case_4.vtu\n")
    found = split_files(FILES, 1.0, ("case_1.vtu", "case_2.vtu"), f"@{tmp_path / 'list.txt'}", 0)
    assert (names(found.validation), names(found.test), len(found.train)) == ([1, 2], [3, 4], 16)
    found = split_files(FILES, "case_1?.vtu", 0, "case_[0-4].vtu", 0)
    assert (names(found.train), names(found.validation), names(found.test)) == (
        list(range(10, 20)),
        [],
        [0, 1, 2, 3, 4],
    )
    found = split_files(FILES, 5, 0.0, "*_7.vtu", 0)
    assert len(found.train) == 5 and names(found.test) == [7] and 7 not in names(found.train)


def test_one_is_one_file_and_all_is_all_of_them():
    """But ``train = 1``, which would be one file where ``train = 1.0`` is all, is refused."""
    found = split_files(FILES, 1.0, 1, 1, 0)
    assert [len(part) for part in (found.train, found.validation, found.test)] == [18, 1, 1]
    found = split_files(FILES, ("case_4.vtu",), 0, 1.0, 0)
    assert names(found.train) == [4] and len(found.test) == 19
    assert len(split_files(FILES, 2, 1, 1, 0).train) == 2


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((1.0, 0.1, 25), "data.meshes.test = 25 to take at most 20 of 20"),
        ((1.0, 0.5, 0.6), "data.meshes.validation = 0.5 to take at most 8 of 20"),
        ((1.0, 0.0, 1.5), "data.meshes.test to be a share between 0 and 1"),
        ((1.0, 0.0, "none_*.vtu"), "'none_\\*.vtu', named by data.meshes.test, to match some of the 20 files"),
        (
            (1.0, "case_1.vtu", "case_1*.vtu"),
            "every file in one split .*case_1.vtu in data.meshes.test and data.meshes.validation",
        ),
        ((1.0, 0, 20), "files to train on .*20 files, of which data.meshes.test takes 20"),
        ((0, 0, 2), "files to train on"),
        ((1.0, 0, "@nowhere.txt"), "list of files at nowhere.txt"),
        ((1.0, -1, 1), "data.meshes.validation = -1 to take at most"),
        ((1, 0, 2), "data.meshes.train to be 1.0 for all files that are left, or a list of one name .*got the whole"),
        ((1, "case_1*.vtu", "case_2.vtu"), "single file of 20"),
    ],
)
def test_splits_that_cannot_be_made(parts, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        split_files(FILES, *parts, seed=0)


def test_finding_files(tmp_path):
    for name in ("case_10.vtu", "case_2.vtu", "case_1.vtu", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "odd[1].vtu").write_text("")
    pattern = str(tmp_path / "case_*.vtu")
    assert [path.name for path in find_files([pattern])] == ["case_1.vtu", "case_2.vtu", "case_10.vtu"]
    assert len(find_files([pattern, str(tmp_path / "case_2.vtu")])) == 3
    assert find_files([str(tmp_path / "odd[1].vtu")])[0].name == "odd[1].vtu"
    with pytest.raises(FileNotFoundError, match=r"named by 'files' \(got none.*end in .txt, .vtu"):
        find_files([str(tmp_path / "*.vtk")])
    with pytest.raises(FileNotFoundError, match="no folder"):
        find_files([str(tmp_path / "nowhere" / "*.vtk")])


def test_lists_of_names(tmp_path):
    files = [Path("runs/case[1].vtu"), Path("runs/case1.vtu"), Path("runs/größe.vtu")]
    names_of = tmp_path / "test.txt"
    names_of.write_bytes("\ufeffcase[1].vtu\r\n\r\ngröße.vtu".encode())
    found = split_files(files, 1.0, 0, f"@{names_of}", 0)
    assert found.test == (files[0], files[2]) and found.train == (files[1],)  # brackets are of the name
    names_of.write_bytes("case1.vtu".encode("utf-16"))
    with pytest.raises(ValueError, match=r"test\.txt: Expected a list of files in UTF-8, named by data\.meshes\.test"):
        split_files(files, 1.0, 0, f"@{names_of}", 0)
