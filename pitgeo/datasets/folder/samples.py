"""The samples of a set of mesh files, read from the cache when they are asked for."""

from __future__ import annotations

import copy
import functools
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import is_dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from tqdm import tqdm

from pitgeo.data import PointData
from pitgeo.data.fields import FieldTable
from pitgeo.data.fields.mesh_case import MeshCase, descriptors
from pitgeo.data.fields.mesh_sizes import MeshSizes
from pitgeo.data.samples import Samples, Transform
from pitgeo.datasets.folder.cache import VERSION, load, save
from pitgeo.datasets.folder.reading import Reading, assembled
from pitgeo.mesh import Mesh, read_mesh
from pitgeo.system.processes import as_needed

if TYPE_CHECKING:
    from typing_extensions import Self

log = logging.getLogger(__name__)


class MeshSamples(Samples):
    """One sample a mesh file.

    Samples are kept in memory up to a limit, and read from the cache beyond it.

    Args:
        readings: What is known of the files.
        table: Inputs and targets.
        numbers: Number of every sample in its data set; ``None`` for 0, 1, ...
        memory: Bytes to keep in memory.
        processes: How many processes transform.
    """

    keeps_samples = True
    table: FieldTable

    def __init__(
        self,
        readings: Sequence[Reading],
        table: FieldTable,
        numbers: Sequence[int] | None = None,
        memory: float = 4e9,
        processes: int = 1,
    ) -> None:
        self.readings = tuple(readings)
        self.table = table
        self.numbers = tuple(range(len(readings)) if numbers is None else numbers)
        self.memory, self.processes = memory, processes
        self.transform: Transform | None = None
        self._kept: dict[int, PointData] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self.readings)

    @overload
    def __getitem__(self, index: int) -> PointData: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> PointData | Self:
        if isinstance(index, slice):
            result = copy.copy(self)
            result.readings, result.numbers = self.readings[index], self.numbers[index]
            result._kept, result._bytes = {}, 0
            return result
        index = self._number(index)
        if index not in self._kept:
            sample = _prepared(self.table, self.transform, self.readings[index])
            sample.sample_id = self.numbers[index]
            size = sum(value.nbytes for _, value in sample if isinstance(value, torch.Tensor))
            if self._bytes + size > self.memory:
                return sample
            self._kept[index] = sample
            self._bytes += size
        return copy.copy(self._kept[index])

    def with_transform(self, transform: Transform, progress: bool = False) -> Self:
        """The same samples, transformed once and kept in the cache.

        Raises:
            ValueError: If the transform is not a dataclass, whose repr names the cache.
        """
        if not is_dataclass(type(transform)):
            raise ValueError(
                f"Expected 'transform' to be a dataclass, as those of pitgeo.data.transforms are, so that its repr "
                f"tells what it does and names the cache (got {transform!r})"
            )
        result = self[:]
        result.transform = transform
        prepare = functools.partial(_prepare, self.table, transform)
        with tqdm(total=len(self), desc="points and graphs", unit="sample", disable=not progress) as bar:
            for _ in as_needed(prepare, self.readings, self.processes):
                bar.update()
        return result

    def name(self, index: int) -> str:
        """The file of a sample."""
        return str(self.readings[index].path)

    def mesh(self, index: int) -> Mesh:
        """The mesh of a sample, with all that its file holds."""
        return read_mesh(self.readings[index].path)

    def ranges(self) -> list[tuple[float, float]]:
        """Smallest and largest value of every input number of all samples."""
        found = [reading.ranges(self.table) for reading in self.readings]
        low, high = np.min([low for low, _ in found], 0), np.max([high for _, high in found], 0)
        return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]

    def typical(self) -> list[float]:
        """Typical size of every target channel: the median over the samples that are not at rest; 0 without one."""
        found: list[float] = []
        for field in self.table.targets:
            sizes = [size for reading in self.readings for size in reading.sizes.get(field.name, ()) if size > 0]
            found += [median(sizes) / field.components**0.5 if sizes else 0.0] * field.channels
        return found

    def case(self, index: int) -> MeshCase:
        """A sample as a few numbers, from what is known of its file and the inputs in the cache."""
        reading = self.readings[self._number(index)]
        inputs = assembled(self.table, _content(reading))
        sizes = {"extent": reading.extent, "spacing": reading.spacing}
        parts = descriptors(self.table, inputs, reading.shape)
        return MeshCase(*reading.ranges(self.table), sizes, reading.normal, *parts)

    def mesh_sizes(self) -> MeshSizes:
        """How large and how fine the meshes are."""
        extents, spacings = ([getattr(one, name) for one in self.readings] for name in ("extent", "spacing"))
        has_normals = any(field.name == "normals" for field in self.table.geometry)
        normal = np.mean([one.normal for one in self.readings], 0).tolist() if has_normals else ()
        return MeshSizes((min(extents), max(extents)), (min(spacings), max(spacings)), tuple(normal))


def _content(reading: Reading) -> dict[str, Any]:
    """What the cache holds of a file."""
    try:
        return load(reading.cache)
    except OSError as error:
        raise ValueError(
            f"{reading.path}: Expected what was read of it in the cache, {reading.cache} (got: {error.strerror}); "
            f"leave the cache alone while a program runs, and start again"
        ) from error


def raw_sample(table: FieldTable, reading: Reading) -> PointData:
    """A sample as its file has it, targets included."""
    content = _content(reading)
    pos = {place: points.numpy() for place, points in content["pos"].items()}
    inputs, targets = assembled(table, content), content["targets"].numpy()
    targets = targets[1] if targets.ndim == 3 else targets  # of a series, the second state
    return table.sample(pos, inputs, targets, f"{reading.path}: ", origin=content["origin"])


def _prepared(table: FieldTable, transform: Transform | None, reading: Reading) -> PointData:
    if transform is None:
        return raw_sample(table, reading)
    path = _transformed_path(table, transform, reading)
    try:
        content: dict[str, Any] = load(path)
        return PointData(**content)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except Exception:
        log.warning("The cache %s cannot be read and is made again", path)
    raw = raw_sample(table, reading)
    try:
        sample = transform(raw)
    except ValueError as error:
        raise ValueError(f"{reading.path}: {error}") from error
    save(path, dict(sample.to_dict()))
    return sample


def _prepare(table: FieldTable, transform: Transform, reading: Reading) -> None:
    if not _transformed_path(table, transform, reading).exists():
        _prepared(table, transform, reading)


def _transformed_path(table: FieldTable, transform: Transform, reading: Reading) -> Path:
    digest = hashlib.sha256(repr((VERSION, table, transform)).encode()).hexdigest()[:12]
    return reading.cache.with_name(f"{reading.cache.stem}-{digest}.pt")
