"""Options of ``data.name = "meshes"``: your own mesh files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pitgeo.data import PointData
from pitgeo.data.fields import PLACES, FieldTable
from pitgeo.data.fields.mesh_field import with_numbers
from pitgeo.data.samples import Samples
from pitgeo.datasets.data_options import DataOptions
from pitgeo.datasets.folder.cache import MOST_KINDS, open_series
from pitgeo.datasets.folder.manifest import Manifest, Part, find_files, split_files
from pitgeo.datasets.folder.opened import Opened, open_files
from pitgeo.datasets.folder.parameters import Parameters, pattern_names, read_parameters
from pitgeo.datasets.folder.reading import Reading
from pitgeo.datasets.folder.samples import MeshSamples
from pitgeo.datasets.folder.series import Case, group_series
from pitgeo.geometry import geometry_components
from pitgeo.mesh import Mesh
from pitgeo.mesh.named_files import named_files
from pitgeo.mesh.reading import read

Names = tuple[str, ...]


class MeshOptions(DataOptions):
    """Your own mesh files, one sample each.

    Args:
        files: One or more patterns, ``"cases/*.vtu"``.
        inputs: Fields to learn from, beside the coordinates: point data, cell data, field data of the file, or
            parameters; a name that is both point and cell data is given as ``"point:name"`` or ``"cell:name"``, a
            number of the whole mesh that belongs to one of its named sets as ``"number@set"``.
        targets: Fields to predict, found in the same way; numbers of the whole mesh (drag, lift) among them.
        geometry: Inputs that are computed from the mesh, see :data:`pitgeo.geometry.GEOMETRY`; ``"auto"`` for those
            that all meshes lend themselves to where they differ, see :func:`pitgeo.geometry.candidates`.
        categories: Those of the inputs that are whole numbers standing for kinds (materials, boundaries).
        series: Time series: ``"file"`` where every file holds one (``.pvd``, ``.xdmf``, ``.case``), or the name of
            numbered files with ``{step}``, ``"{case}_{step}.vtu"``, whose numbers are their times. The targets are then
            the state: a model is trained from one step to the next, beside the other inputs at the first step, and
            tested on series from their first state.
        steps: Steps to predict in a test of series; 0 for as many as the shortest test series has.
        parameters: Table of numbers a file, CSV with a column ``file`` or JSON; empty for none.
        name_pattern: File name with parameters in braces, ``"wing_{mach}_{angle}.vtu"``; empty for none.
        train: Files to train on: a number, a share, a pattern, a list of names, or ``"@list.txt"``; 1.0 for all
            that are left.
        validation: Files that choose the best checkpoint, given in the same way.
        test: Test files, given in the same way.
        seed: Seed of the random split.
        cache: Folder for what is read from the files, by content.
        processes: Processes that read and prepare files; 0 for one a core.
        memory: Samples are kept in memory up to as many GB, then read from the cache when they are needed.

    Example:
        >>> MeshOptions(files="cases/*.vtu", targets=("von_mises",), test=20).test
        20
    """

    files: str | Names = "cases/*.vtu"
    inputs: Names = ()
    targets: Names = ()
    geometry: Literal["auto"] | Names = "auto"
    categories: Names = ()
    series: str = ""
    steps: Annotated[int, Field(ge=0)] = 0
    parameters: str = ""
    name_pattern: str = ""
    train: int | float | str | Names = 1.0
    validation: int | float | str | Names = 0.1
    test: int | float | str | Names = 0.2
    seed: Annotated[int, Field(ge=0)] = 0
    cache: str = ".pitgeo-cache"
    processes: Annotated[int, Field(ge=0)] = 0
    memory: Annotated[float, Field(ge=0)] = 4.0

    @field_validator("inputs", "targets", "geometry", "categories", mode="before")
    @classmethod
    def _check_list(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str) and (info.field_name, value) != ("geometry", "auto"):
            raise ValueError(f"Expected a list of names, [{value!r}] (got the text {value!r}); put it in brackets")
        return tuple(value) if isinstance(value, list) else value  # strict: what comes from JSON is a list

    @field_validator("geometry")
    @classmethod
    def _check_geometry(cls, value: Literal["auto"] | Names) -> Literal["auto"] | Names:
        for name in () if value == "auto" else value:
            try:
                geometry_components(name, 2)
            except ValueError as error:
                raise ValueError(f"{error}; a field of the files belongs to data.meshes.inputs") from error
        return value

    @field_validator("name_pattern")
    @classmethod
    def _check_pattern(cls, value: str) -> str:
        if value:
            pattern_names(value)
        return value

    @model_validator(mode="after")
    def _check(self) -> MeshOptions:
        if self.steps and not self.series:
            raise ValueError(
                f"Expected data.meshes.steps = 0 without data.meshes.series (got {self.steps}); name the series, or "
                f"leave the steps out"
            )
        wrong = [name for name in self.categories if name not in self.inputs]
        if wrong:
            raise ValueError(f"Expected 'categories' to be among 'inputs' {list(self.inputs)} (got {wrong})")
        for key in ("inputs", "targets"):
            names = [_bare(name) for name in getattr(self, key)]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"Expected every name once in data.meshes.{key} (got {twice} more than once)")
        both = sorted({name for name in self.inputs for other in self.targets if _is_same(name, other)})
        if both:
            hint = "; in a series, the state is an input by itself" if self.series else ""
            raise ValueError(
                f"Expected every field in data.meshes.inputs or in data.meshes.targets (got {both} in both); leave it "
                f"out of one of them{hint}"
            )
        return self

    @property
    def patterns(self) -> Names:
        """Patterns of the files."""
        return (self.files,) if isinstance(self.files, str) else self.files

    @property
    def origin(self) -> str:
        """Where the data come from, for messages."""
        return f"from {', '.join(self.patterns)}"

    def is_ready(self) -> bool:
        """Always: files that are missing cannot be made."""
        return True

    def prepare(self, progress: bool = True) -> None:
        """Nothing to do."""

    def manifest(self) -> Manifest:
        """The files of each split.

        Raises:
            ValueError: If no target is named, or the splits cannot be made.
            FileNotFoundError: If there are no files.
        """
        if not self.targets:
            raise ValueError(
                "Expected data.meshes.targets to name at least one field to predict (got none); "
                "'pitgeo describe FILES' lists the fields"
            )
        files = list(self.cases())
        parts: dict[str, Part] = {"train": self.train, "validation": self.validation, "test": self.test}
        return split_files(files, **parts, seed=self.seed)

    def split_files(self) -> dict[str, list[str]]:
        """Names of the files of each split."""
        return self.manifest().plain()

    def with_split(self, split: Mapping[str, Sequence[str]]) -> MeshOptions:
        """The same options, with these files in each split, whatever came since."""
        return self.model_copy(update={part: tuple(names) for part, names in split.items()})

    def cases(self) -> dict[Path, Case]:
        """The files of every case, by the first of them."""
        return group_series(find_files(self.patterns, "data.meshes.files"), self.series)

    def counts(self) -> tuple[int, int, int]:
        """Files to train on, to choose the best checkpoint by, and to test on."""
        manifest = self.manifest()
        return len(manifest.train), len(manifest.validation), len(manifest.test)

    def file_parameters(self, files: Sequence[Path]) -> dict[Path, Parameters]:
        """The parameters of files, by the table and the pattern of the options."""
        return read_parameters(files, self.parameters, self.name_pattern, with_numbers((*self.inputs, *self.targets)))

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same points, held once; all files are read."""
        return not self.series and bool(self._open(False).is_shared)

    def template(self) -> PointData:
        """The first training sample; all files are read, since categories and planar vectors depend on all."""
        return self.training_parts()[0][0]

    def few_samples(self) -> Sequence[PointData]:
        """The first training sample, and of the others that whose size differs most from its size."""
        samples = self.training_parts()[0]
        if not isinstance(samples, MeshSamples) or len(samples) < 2:
            return samples[:2]
        sizes = [reading.cache.stat().st_size for reading in samples.readings]
        return [samples[0], samples[max(range(1, len(sizes)), key=lambda number: abs(sizes[number] - sizes[0]))]]

    def table(self, sample: PointData) -> FieldTable:
        """Inputs and targets of the samples."""
        return self._open(False).table

    def training_parts(self, progress: bool = False) -> tuple[Samples, Samples]:
        """The samples to train on, and those that choose the best checkpoint."""
        opened = self._open(progress)
        train, validation, _ = self.counts()
        if self.series:  # found out now, not after training
            opened.steps(opened.readings[train + validation :])
        return opened.samples(0, train), opened.samples(train, train + validation)

    def test_samples(self, progress: bool = False) -> Samples:
        """The test samples."""
        opened = self._open(progress)
        train, validation, test = self.counts()
        return opened.samples(train + validation, train + validation + test, is_test=True)

    def resolved(self, progress: bool = False) -> MeshOptions:
        """The same options with the geometry inputs that ``"auto"`` stands for; all files are read."""
        return self if self.geometry != "auto" else self._open(progress).options

    def _open(self, progress: bool) -> Opened:
        cases = self.cases()
        chosen = tuple(cases[path] for path in self.manifest().files)
        files = [file for case in chosen for path in case for file in (path, *named_files(path))]
        files += [Path(self.parameters)] if self.parameters else []
        stats = tuple((path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.exists())
        return open_files(self, chosen, stats, progress)

    def first_table(self, case: Case) -> tuple[FieldTable, Mesh]:
        """Inputs and targets as the first file has them, and its mesh."""
        parameters = self.file_parameters(case[:1])[case[0]]
        mesh = open_series(case).mesh(0) if self.series else read(case[0])
        geometry = () if self.geometry == "auto" else self.geometry
        table = FieldTable.infer(mesh, self.inputs, self.targets, geometry, parameters)
        return (table.one_step() if self.series else table), mesh

    def completed(self, table: FieldTable, training: Sequence[Reading], every: Sequence[Reading]) -> FieldTable:
        """The table with what only all files together tell: planar vectors, and kinds of categories."""
        names = {name for reading in every for name in reading.planar}
        table = table.planar([name for name in names if all(name in reading.planar for reading in every)])
        found: dict[str, list[int]] = {}
        for given in self.categories:
            name = _bare(given)
            kinds: set[int] = set()
            for reading in training:
                found_kinds = reading.kinds[name]
                if found_kinds is None:
                    raise ValueError(
                        f"{reading.path}: Expected whole numbers in {name!r}, at most {MOST_KINDS} different ones, as "
                        f"it is among data.meshes.categories (got others, or several components, or means of cells at "
                        f"points); leave it out there"
                    )
                kinds.update(found_kinds)
            found[name] = sorted(kinds)
        return table.with_categories(found)


def _bare(name: str) -> str:
    start, _, rest = name.partition(":")
    return rest if start in PLACES and rest else name


def _is_same(name: str, other: str) -> bool:
    """Whether two names mean one field, as far as can be told without a mesh."""
    return name == other or (_bare(name) == _bare(other) in (name, other))
