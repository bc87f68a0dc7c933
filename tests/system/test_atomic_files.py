"""Files that are written whole or not at all."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pitgeo.system.atomic_files import atomic_file, remove_parts, write_atomic


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_block_that_raises_leaves_the_folder_as_it_was(before, tmp_path):
    path = tmp_path / "mesh.vtu"
    if before:
        path.write_bytes(before)
    with pytest.raises(ArithmeticError), atomic_file(path) as part:
        part.write_bytes(b"half")
        assert part.parent == tmp_path and part.suffix == ".vtu"
        assert path.exists() == bool(before)
        raise ArithmeticError
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([before] if before else [])


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    path = tmp_path / "a" / "b" / "name with blanks.txt"
    for content in (b"first", b"", b"last"):
        write_atomic(path, content)
        assert path.read_bytes() == content and list(path.parent.iterdir()) == [path]
    with atomic_file(path) as part:
        assert path.read_bytes() == b"last"
        part.write_bytes(b"new")
    assert path.read_bytes() == b"new" and list(path.parent.iterdir()) == [path]


def test_content_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "fsync", lambda number, real=os.fsync: calls.append("sync") or real(number))
    monkeypatch.setattr(os, "replace", lambda *paths, real=os.replace: calls.append("replace") or real(*paths))
    write_atomic(tmp_path / "a.txt", b"content")
    assert calls == ["sync", "replace", "sync"]


def test_folders_made_for_a_file_that_fails_are_removed(tmp_path):
    (tmp_path / "before").mkdir()
    for path in (tmp_path / "before" / "a.txt", tmp_path / "a" / "b" / "c.txt"):
        with pytest.raises(ArithmeticError), atomic_file(path) as part:
            part.touch()
            raise ArithmeticError
    with pytest.raises(ArithmeticError), atomic_file(tmp_path / "d" / "c.txt"):
        (tmp_path / "d" / "other").touch()
        raise ArithmeticError
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == ["before", "d", "d/other"]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_full_disk_is_named_and_leaves_the_old_file(is_there, tmp_path):
    path = tmp_path / "a.bin"
    if is_there:
        path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match=r"a\.bin could not be written \(.*\)") as caught:
            write_atomic(path, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value).endswith("; the file that was there before is kept") == is_there
    assert list(tmp_path.iterdir()) == [path] * is_there
    assert not is_there or path.read_bytes() == b"old"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"a\.txt could not be written \(.*\)$"):
        write_atomic(tmp_path / "file" / "a.txt", b"content")


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    lines = [
        "import os, pathlib, signal, sys",
        "from pitgeo.system.atomic_files import atomic_file",
        "with atomic_file(pathlib.Path(sys.argv[1])) as part:",
        "    part.write_text('half')",
        "    os.kill(os.getpid(), signal.SIGKILL)",
    ]
    path = tmp_path / "best.ckpt"
    write_atomic(path, b"whole")
    subprocess.run([sys.executable, "-c", "\n".join(lines), str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2 and path.read_bytes() == b"whole"
    remove_parts(tmp_path)
    assert list(tmp_path.iterdir()) == [Path(path)]
