"""Case files of EnSight: the files of the geometry and the variables, and the times."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from pitgeo.mesh.ensight.sets import Entry, FileSet, Lines, TimeSet, file_sets, joined, reals, time_sets, whole_number
from pitgeo.mesh.names import read_text
from pitgeo.mesh.notes import Note
from pitgeo.mesh.text_numbers import is_real

COMPONENTS = {"scalar": 1, "vector": 3, "tensor symm": 6, "tensor asym": 9}
"""Numbers of a value, by the kind of the variable."""

SECTIONS = ("FORMAT", "GEOMETRY", "VARIABLE", "TIME", "FILE", "MATERIAL", "SCRIPTS", "BLOCK_CONTINUATION")
_VARIABLE = re.compile(rf"({'|'.join(COMPONENTS)}) per (node|element)")
_LEFT_OUT = re.compile(r"complex .*|.* per measured .*|measured|vector_glyphs")
_NEITHER = ("match", "boundary", "boundaries")
_CHANGES = "change_coords_only"


@dataclass
class Case:
    """The content of a case file.

    Args:
        is_gold: Whether the format is EnSight Gold, else EnSight 6.
        geometry: The files of the geometry.
        variables: Those of the variables.
        constants: Values, one a time if there is a set of times, by name.
        times: All times, increasing; one, 0, if there are none.
        notes: What is left out.
    """

    is_gold: bool
    geometry: Entry
    variables: list[Entry] = field(default_factory=list)
    constants: dict[str, tuple[TimeSet | None, list[float]]] = field(default_factory=dict)
    times: list[float] = field(default_factory=lambda: [0.0])
    notes: list[Note] = field(default_factory=list)


def read_case(path: Path) -> Case:
    """Read a case file.

    Raises:
        ValueError: If it is none, or says something that is not followed.
    """
    notes: list[Note] = []
    sections = _sections(read_text(path, notes))
    kinds = [" ".join(value.lower().split()) for key, value in sections["FORMAT"] if key == "type"]
    if kinds not in (["ensight gold"], ["ensight"]):
        raise ValueError(
            f"Expected one line 'type: ensight gold' in the section FORMAT (got {' and '.join(kinds) or 'none'}); "
            f"save it as EnSight Gold, or as .vtu"
        )
    times = time_sets(sections["TIME"], path.parent)
    files = file_sets(sections["FILE"])
    found = _Entries(path.parent, times, files, notes)
    for key, value in sections["GEOMETRY"]:
        found.add_geometry(key, value)
    if found.geometry is None:
        raise ValueError("Expected a line 'model: file' in the section GEOMETRY (got none); is the file whole?")
    case = Case(kinds == ["ensight gold"], found.geometry, notes=notes)
    for key, value in joined(sections["VARIABLE"]):
        found.add_variable(key, value, case)
    for place in ("node", "element"):
        own = [entry for entry in case.variables if entry.place == place]
        for name in dict.fromkeys(entry.name for entry in own):
            if sum(entry.name == name for entry in own) > 1:
                raise ValueError(f"Expected variables of a {place} of different names (got two called {name!r})")
    sets = [entry.times for entry in (case.geometry, *case.variables)] + [each for each, _ in case.constants.values()]
    found_times = [each.times for each in sets if each]
    case.times = sorted({time for own in found_times if len(own) > 1 for time in own})
    if not case.times:  # what has a single time stays as it is
        case.times = [max((own[0] for own in found_times), default=0.0)]
    if sections["MATERIAL"]:
        notes.append(Note("left out", "the materials of the case are left out"))
    return case


def _sections(text: str) -> dict[str, Lines]:
    """The lines of every section, without comments."""
    found: dict[str, Lines] = {name: [] for name in SECTIONS}
    current = ""
    for line in text.split("\n"):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line in SECTIONS:
            current = line
        elif not current or re.fullmatch(r"[A-Z_]+", line):
            raise ValueError(f"Expected sections of a case of EnSight, {', '.join(SECTIONS)} (got {line[:60]!r})")
        else:
            key, colon, value = line.partition(":")
            found[current].append((" ".join(key.lower().split()), value.strip()) if colon else ("", line))
    return found


class _Entries:
    """Reads lines that name files."""

    def __init__(self, folder: Path, times: dict[int, TimeSet], files: dict[int, FileSet], notes: list[Note]) -> None:
        self.folder, self.times, self.files, self.notes = folder, times, files, notes
        self.geometry: Entry | None = None

    def add_geometry(self, key: str, value: str) -> None:
        """Take a line of the section GEOMETRY."""
        if _LEFT_OUT.fullmatch(key):
            self.notes.append(Note("left out", f"{key}: {value} of the case is left out"))
        elif key not in (*_NEITHER, "model") or (key == "model" and self.geometry):
            raise ValueError(f"Expected one model in the section GEOMETRY (got {f'{key}: {value}'[:60]!r} too)")
        elif key == "model":
            value, change, step = value.partition(_CHANGES)
            words = _words(value)
            sets = self._sets(words, 1)
            connected = whole_number(step, _CHANGES) if change and step.strip() else None
            file = self._file(words, 0, *sets)
            self.geometry = Entry(self.folder, "the geometry", file, *sets, connected=connected)

    def add_variable(self, key: str, value: str, case: Case) -> None:
        """Take a line of the section VARIABLE."""
        found = _VARIABLE.fullmatch(key)
        words = _words(value)
        if found:
            sets = self._sets(words, 2)
            if len(words) < 2:
                raise ValueError(f"Expected a name and a file behind {key!r} (got {value[:60]!r})")
            file = self._file(words, 1, *sets)
            name = " ".join(words)
            kind, place = found.groups()
            case.variables.append(
                Entry(self.folder, f"{name!r}", file, *sets, name=name, components=COMPONENTS[kind], place=place)
            )
        elif key in ("constant per case", "constant per case file"):
            self._add_constant(key, words, case)
        elif _LEFT_OUT.fullmatch(key):
            self.notes.append(Note("left out", f"the variable {key}: {value} is left out"))
        else:
            raise ValueError(f"Expected a variable, as 'scalar per node: name file' (got {f'{key}: {value}'[:60]!r})")

    def _add_constant(self, key: str, words: list[str], case: Case) -> None:
        times, _ = self._sets(words, 2)
        rest = words[1:]
        while rest and key == "constant per case" and not is_real(rest[0]):  # a name of several words
            words[0] += f" {rest.pop(0)}"
        name = words[0] if words else ""
        if key.endswith("file"):
            file = self.folder / " ".join(rest)
            if not file.is_file():
                raise ValueError(f"Expected the file {file.name!r} of the constant {name!r} (got no such file)")
            rest = read_text(file).split()
        values = reals(" ".join(rest), f"constant {name!r}")
        if times is None and len(values) > 1 and len(self.times) == 1:
            times = next(iter(self.times.values()))
        if len(values) != (len(times.times) if times else 1):
            raise ValueError(
                f"Expected {len(times.times) if times else 1} values of the constant {name!r} (got {len(values)})"
            )
        if name in case.constants:
            raise ValueError(f"Expected constants of different names (got two called {name!r})")
        case.constants[name] = times, values

    def _sets(self, words: list[str], least: int) -> tuple[TimeSet | None, FileSet]:
        """Remove the leading numbers of a time set and a file set from the words, and return these sets."""
        numbers: list[int] = []
        while len(numbers) < 2 and len(words) > least and re.fullmatch(r"\d{1,9}", words[0]):
            numbers.append(int(words.pop(0)))
        known: list[tuple[str, list[int]]] = [("time", sorted(self.times)), ("file", sorted(self.files))]
        for number, (what, own) in zip(numbers, known, strict=False):
            if own and number not in own:
                raise ValueError(f"Expected the {what} set {number} in the case (got {own})")
        times = self.times.get(numbers[0]) if numbers else None
        if times is None and len(self.times) == 1 and any("*" in word for word in words):
            times = next(iter(self.times.values()))
        return times, self.files.get(numbers[1], ()) if len(numbers) > 1 else ()

    def _file(self, words: list[str], least: int, times: TimeSet | None, pieces: FileSet) -> str:
        """Remove the name of the file, which may have several words, from the end, and return it."""
        if not words:
            raise ValueError("Expected the name of a file in the section GEOMETRY (got none)")
        for start in range(len(words) - 1, least - 1, -1):
            file = " ".join(words[start:])
            try:
                Entry(self.folder, "", file, times, pieces).at(0)
            except ValueError:
                continue
            break
        else:
            start = len(words) - 1
        file = " ".join(words[start:])
        del words[start:]
        return file


def _words(text: str) -> list[str]:
    return [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', text)]
