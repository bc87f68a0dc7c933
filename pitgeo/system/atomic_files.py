"""Files that are either complete or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = ".part-"


@contextmanager
def atomic_file(path: Path, lasting: bool = True) -> Iterator[Path]:
    """A temporary path beside a file; what is written there takes the file's place when the block ends.

    The temporary name ends as the file's own name does. The content is flushed to the disk before the file is replaced.
    If the block raises, the temporary file is removed, so are folders made for it, and the file stays as it was.

    Args:
        path: The file; its folder is made if it is missing.
        lasting: Wait until the new name, too, would last through a power cut. What is made again may do without.

    Raises:
        OSError: If the folder or the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_file(Path(folder) / "a.txt") as part:
        ...         _ = part.write_text("whole")
        ...     [file.name for file in Path(folder).iterdir()]
        ['a.txt']
    """
    part = path.with_name(f"{_MARK}{os.getpid()}-{path.name}")
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        _sync(part)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):  # it was not made, or something else is in it
                folder.rmdir()
        raise
    if lasting:
        with suppress(OSError):  # not every system can
            _sync(path.parent)


def write_atomic(path: Path, content: bytes | memoryview) -> None:
    """Write a file whole or not at all.

    Raises:
        OSError: If it cannot be written; the message names the file, and what was there before stays.
    """
    try:
        with atomic_file(path) as part:
            part.write_bytes(content)
    except OSError as error:
        kept = "; the file that was there before is kept" if path.exists() else ""
        raise OSError(error.errno, f"{path} could not be written ({error.strerror or error}){kept}") from error


def remove_parts(folder: Path) -> None:
    """Delete the temporary files that processes left in a folder when they were killed while they wrote."""
    for part in folder.glob(f"{_MARK}*"):
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
