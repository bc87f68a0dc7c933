"""Which files a data set holds, and which of them are trained on, chosen by, or tested on."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pitgeo.system.patterns import matches, with_folders

KEY = "data.meshes"
"""Where the options are, for messages."""

Part = int | float | str | tuple[str, ...]
"""A number of files, a share of all, a pattern, a list of names or patterns, or a text file of such (``@list.txt``)."""


@dataclass(frozen=True)
class Manifest:
    """The files of each split, in the order of their names."""

    train: tuple[Path, ...]
    validation: tuple[Path, ...]
    test: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """All files, those to train on first."""
        return (*self.train, *self.validation, *self.test)

    def plain(self) -> dict[str, list[str]]:
        """Names for a JSON file."""
        return {split: [str(path) for path in getattr(self, split)] for split in ("train", "validation", "test")}


def find_files(patterns: Sequence[str], key: str = "files") -> tuple[Path, ...]:
    """The files of one or more patterns, each once, ordered by name.

    Raises:
        FileNotFoundError: If a pattern matches nothing.
        ValueError: If there is no pattern.
    """
    if not patterns:
        raise ValueError(f"Expected {key!r} to name mesh files, as in 'cases/*.vtu' (got an empty list)")
    found: dict[Path, None] = {}
    for pattern in patterns:
        literal = Path(pattern)
        hits = [literal] if literal.is_file() else matches(pattern)
        files = [path for path in hits if path.is_file()]
        if not files:
            what = "folders" if hits else "none" if glob.has_magic(pattern) else "no such file"
            near = f"; take {hits[0] / '*'}{next(iter(_endings(hits[0])), '')}" if hits else _near(pattern)
            raise FileNotFoundError(
                f"Expected mesh files at {pattern!r}, named by {key!r} (got {what}; looked in {Path.cwd()}){near}"
            )
        found.update(dict.fromkeys(files))
    return tuple(sorted(found, key=_natural))


def split_files(files: Sequence[Path], train: Part, validation: Part, test: Part, seed: int) -> Manifest:
    """Share the files out; numbers and shares are drawn at random, patterns and lists are taken at their word.

    What neither test nor validation takes is trained on, unless ``train`` says which (or how many).

    Args:
        files: All files.
        train: Part to train on; 1.0 for all that is left. 1 is refused: it looks like 1.0, but would be one file.
        validation: Part that chooses the best checkpoint.
        test: Part to test on.
        seed: Of the random order, which does not depend on the folder the files are in.

    Raises:
        ValueError: If a part takes more files than there are, matches none, or two parts share a file.
    """
    named = {
        key: _named(files, part, key) for key, part in (("test", test), ("validation", validation), ("train", train))
    }
    taken: dict[Path, str] = {}
    for key, paths in named.items():
        for path in paths or ():
            if path in taken:
                raise ValueError(
                    f"Expected every file in one split (got {path} in {KEY}.{taken[path]} and {KEY}.{key}); leave "
                    f"it out of one of them"
                )
            taken[path] = key
    left = [path for path in files if path not in taken]
    order = [left[number] for number in np.random.default_rng(seed).permutation(len(left))]
    parts: dict[str, tuple[Path, ...]] = {}
    for key, part in (("test", test), ("validation", validation), ("train", train)):
        if (paths := named[key]) is not None:
            parts[key] = tuple(paths)
            continue
        count = _count(part, len(files), len(order), key)
        parts[key], order = tuple(sorted(order[:count], key=_natural)), order[count:]
    if not parts["train"]:
        raise ValueError(
            f"Expected files to train on (got {_files(len(files))}, of which {KEY}.test takes {len(parts['test'])}, "
            f"{KEY}.validation {len(parts['validation'])} and {KEY}.train {train!r} of the rest); take fewer for test "
            f"and validation, or add files"
        )
    return Manifest(parts["train"], parts["validation"], parts["test"])


def _named(files: Sequence[Path], part: Part, key: str) -> list[Path] | None:
    """The files of a pattern or list; ``None`` for a number or a share."""
    if isinstance(part, (int, float)):
        return None
    entries = [part] if isinstance(part, str) else list(part)
    patterns: list[str] = []
    for entry in entries:
        if entry.startswith("@"):
            path = Path(entry[1:])
            if not path.is_file():
                raise FileNotFoundError(
                    f"Expected a list of files at {path}, named by {KEY}.{key} (got no such file); "
                    f"write one, or name the files themselves"
                )
            try:
                text = path.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError:
                raise ValueError(
                    f"{path}: Expected a list of files in UTF-8, named by {KEY}.{key} (got other bytes); save it so"
                ) from None
            lines = [line.strip() for line in text.split("\n") if line.strip()]
            if not lines:
                raise ValueError(f"{path}: Expected names of files, named by {KEY}.{key} (got none); write one a line")
            patterns += lines
        else:
            patterns.append(entry)
    found: dict[Path, None] = {}
    for pattern in patterns:
        hits = (  # a name itself first: brackets may be part of it
            [path for path in files if pattern == str(path)]
            or [path for path in files if pattern == path.name]
            or [path for path in files if _is_like(path, pattern)]
        )
        if not hits:
            raise ValueError(
                f"Expected {pattern!r}, named by {KEY}.{key}, to match some of the {_files(len(files))} (got none; "
                f"the first is {files[0]}); names are compared with and without their folder"
            )
        found.update(dict.fromkeys(hits))
    return sorted(found, key=_natural)


def _is_like(path: Path, pattern: str) -> bool:
    return fnmatch.fnmatch(path.name, pattern) or fnmatch.fnmatch(str(path), with_folders(pattern))


def _count(part: Part, total: int, left: int, key: str) -> int:
    if isinstance(part, float):
        if not 0 <= part <= 1:
            raise ValueError(
                f"Expected {KEY}.{key} to be a share between 0 and 1, or a whole number (got {part}); take less"
            )
        count = left if part == 1 else max(1, round(part * total)) if part else 0
    elif part == 1 and key == "train":  # 1.0 is all of them
        raise ValueError(
            f"Expected {KEY}.train to be 1.0 for all files that are left, or a list of one name for one file (got the "
            f"whole number 1, which would be a single file of {total}); write which"
        )
    else:
        count = int(part)  # type: ignore[arg-type]
    if count < 0 or count > left:
        raise ValueError(
            f"Expected {KEY}.{key} = {part} to take at most {left} of {_files(total)}, those left over (got "
            f"{count}); take fewer, or add files"
        )
    return count


_LETTERS = re.compile(r"([0-9]+)|(.)", re.DOTALL)


def _natural(path: Path) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Orders ``case_2`` before ``case_10``."""
    parts = [(int(digits), "") if digits else (-1, letter) for digits, letter in _LETTERS.findall(path.name + "\0")]
    return str(path.parent), tuple(parts)


def _near(pattern: str) -> str:
    folder = next(path for path in Path(pattern).parents if path.is_dir() or not glob.has_magic(str(path)))
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    kinds = sorted(_endings(folder)[:8])
    return f"; files in {folder} end in {', '.join(kinds)}" if kinds else f"; {folder} holds no files"


def _endings(folder: Path) -> list[str]:
    """Endings of the files in a folder, the most frequent ones first."""
    found = Counter(path.suffix for path in folder.iterdir() if path.is_file() and path.suffix)
    return [ending for ending, _ in found.most_common()]


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"
