"""Making many samples in parts that survive an interruption, and putting files in place whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import savemat
from tqdm import tqdm

from pitgeo.system.atomic_files import atomic_file, remove_parts, write_atomic
from pitgeo.system.processes import as_finished, cores

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]
Content = NDArray[Any] | Arrays | str | Path
MANIFEST = "generated.json"


def check_numbers(samples: int, seed: int, processes: int | None, most: int | None = None) -> None:
    """Raise a ``ValueError`` unless the numbers that every generator takes are in range."""
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0), ("processes", processes, 1)):
        if value is not None and value < least:
            raise ValueError(f"Expected '{name}' to be at least {least} (got {value})")
    if most is not None and samples > most:
        raise ValueError(f"Expected 'samples' to be at most {most}, as a MAT file of version 5 (got {samples})")


def make_files(
    output: Path,
    settings: Mapping[str, Any],
    solver: Callable[[int], Arrays],
    contents: Callable[[Arrays], Mapping[str, Content]],
    files: Sequence[str],
    chunk: int,
    processes: int | None = None,
    progress: bool = True,
) -> None:
    """Make samples and write their files, unless that is done already; go on where it was interrupted.

    Args:
        output: Folder to write to.
        settings: What made the samples, their number among it under ``"samples"``.
        solver: Makes one sample from its number, see :func:`compute`.
        contents: From the arrays of all samples to what each file holds, see :func:`publish`.
        files: Names of the files.
        chunk: Samples a part.
        processes: How many processes.
        progress: Whether to show a progress bar.

    Raises:
        FileExistsError: If the folder holds original files, or some made with other settings.
    """
    samples = int(settings["samples"])
    if is_generated(output, list(files), settings):
        log.info("Nothing to do: %s has at least %d samples with these settings", output, samples)
    else:
        arrays = compute(solver, samples, parts_folder(output, settings), chunk, processes, progress)
        publish(output, contents(arrays), settings)
        log.info("Wrote %d samples to %s", samples, output)
    discard_parts(output, settings)


def parts_folder(output: Path, settings: Mapping[str, Any]) -> Path:
    """Folder of the parts made with these settings; the number of samples does not count."""
    key = json.dumps({name: value for name, value in settings.items() if name != "samples"}, sort_keys=True)
    return output / "parts" / hashlib.sha256(key.encode()).hexdigest()[:16]


def is_generated(output: Path, names: list[str], settings: Mapping[str, Any]) -> bool:
    """Whether the files are there already, made with these settings and at least as many samples.

    Raises:
        FileExistsError: If there are files that must not be replaced: made with other settings, or not generated.
    """
    present = [name for name in names if (output / name).exists()]
    path = output / MANIFEST
    if not present:
        return False
    if not path.exists():
        raise FileExistsError(
            f"Expected {output} to hold no files that were not generated (got {', '.join(present)} without "
            f"{MANIFEST}, so they may be downloaded originals); choose another output folder"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        made, hashes, complete = manifest["settings"], manifest["files"], manifest["complete"]
        same = {**made, "samples": 0} == {**settings, "samples": 0}
        enough = made["samples"] >= settings["samples"] if complete else made["samples"] == settings["samples"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileExistsError(
            f"Expected {path} to be a manifest of generated files (got {error!r}); delete the folder, or choose "
            f"another output folder"
        ) from error
    changed = [name for name in present if hashes.get(name) != _hash(output / name)]
    if changed:
        raise FileExistsError(
            f"Expected {output} to hold no files that were not generated (got {', '.join(changed)}, different from "
            f"those listed in {MANIFEST}); choose another output folder"
        )
    if not same or not enough:
        raise FileExistsError(
            f"Expected the files in {output} to be made with {dict(settings)} (got {made}); delete them, or choose "
            f"another output folder"
        )
    if complete and len(present) == len(names):
        return True
    if made["samples"] != settings["samples"]:  # some files are missing, and the others have more samples
        raise FileExistsError(
            f"Expected all of {', '.join(names)} in {output} (got {', '.join(present)}, with {made['samples']} "
            f"samples); ask for as many, delete them, or choose another output folder"
        )
    return False


def compute(
    solver: Callable[[int], Arrays],
    samples: int,
    folder: Path,
    chunk: int,
    processes: int | None = None,
    progress: bool = True,
) -> Arrays:
    """Arrays of samples 0 to ``samples``, stacked along a new first axis.

    Finished parts are kept in ``folder``, and those that are there already are not made again.

    Args:
        solver: Makes one sample from its number; a module's function, or a partial of one, so that it can be sent to
            other processes.
        samples: How many.
        folder: Where to keep the parts.
        chunk: Samples a part.
        processes: How many processes; 1 to work in this one, ``None`` for as many as there are cores.
        progress: Whether to show a progress bar.

    Raises:
        ChildProcessError: If a process ends before its work does; finished parts stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ranges = [(start, min(start + chunk, samples)) for start in range(0, samples, chunk)]
    missing = [span for span in ranges if _read(folder, *span) is None]
    ready = samples - sum(stop - start for start, stop in missing)
    if ready:
        log.info("Going on after %d of %d samples, found in %s", ready, samples, folder)
    with tqdm(total=samples, initial=ready, disable=not progress, unit="sample", smoothing=0.05) as bar:
        make = functools.partial(_make, solver, folder)
        try:
            for count in as_finished(make, missing, cores() if processes is None else processes):
                bar.update(count)
        except ChildProcessError as error:
            raise ChildProcessError(f"{error}; it goes on after the {bar.n} samples that are finished") from error
    parts = []
    for span in ranges:
        part = _read(folder, *span)
        if part is None:
            raise OSError(f"Expected {_name(folder, *span)} to be complete (got a broken file); run this again")
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def publish(output: Path, contents: Mapping[str, Content], settings: Mapping[str, Any]) -> None:
    """Write the files and their manifest, each under its final name only once it is whole.

    Args:
        output: Folder to write to.
        contents: An array (``.npy``), a dictionary of arrays (``.npz``; ``.mat`` for MAT version 5), a text, or the
            path of a file to copy, for each file name.
        settings: What the manifest says about how the files were made.
    """
    remove_parts(output)
    hashes = {}
    with ExitStack() as stack:
        for name, content in contents.items():
            part = stack.enter_context(atomic_file(output / name))
            _write(part, content, name.endswith(".mat"))
            hashes[name] = _hash(part)
        # The manifest comes first: files that an interruption leaves without the others do not look like originals.
        manifest = {"settings": dict(settings), "complete": False, "files": hashes}
        _write_manifest(output, manifest)
    _write_manifest(output, {**manifest, "complete": True})


def discard_parts(output: Path, settings: Mapping[str, Any]) -> None:
    """Delete the parts made with these settings; those of other settings stay."""
    folder = parts_folder(output, settings)
    if folder.exists():
        shutil.rmtree(folder)
    if folder.parent.exists() and not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def _make(solver: Callable[[int], Arrays], folder: Path, span: tuple[int, int]) -> int:
    start, stop = span
    rows = [solver(number) for number in range(start, stop)]
    with atomic_file(_name(folder, start, stop)) as part:
        _write(part, {name: np.stack([row[name] for row in rows]) for name in rows[0]}, False)
    return stop - start


def _read(folder: Path, start: int, stop: int) -> Arrays | None:
    path = _name(folder, start, stop)
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream) as file:  # np.load leaves a broken file open
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        log.warning("The part %s cannot be read and is made again", path)
        return None
    return arrays if arrays and all(len(array) == stop - start for array in arrays.values()) else None


def _name(folder: Path, start: int, stop: int) -> Path:
    return folder / f"{start:06d}-{stop:06d}.npz"


def _write(path: Path, content: Content, is_matlab: bool) -> None:
    if isinstance(content, Path):
        shutil.copyfile(content, path)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        with path.open("wb") as file:  # numpy and scipy change the endings of names
            if not isinstance(content, dict):
                np.save(file, content)
            elif is_matlab:
                savemat(file, content)  # type: ignore[arg-type]
            else:
                np.savez(file, **content)  # type: ignore[arg-type]


def _write_manifest(output: Path, manifest: Mapping[str, Any]) -> None:
    write_atomic(output / MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
