"""The Elasticity benchmark: stress round a random void in a hyper-elastic plate."""

from __future__ import annotations

import hashlib
import logging
import zipfile
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import InMemoryDataset
from tqdm import tqdm

from pitgeo.data import PointData
from pitgeo.data.samples import Samples, Transform
from pitgeo.datasets.raw import open_npy
from pitgeo.mesh import Mesh
from pitgeo.system.atomic_files import atomic_file

log = logging.getLogger(__name__)

POINTS, RADII = 972, 42
FILES = {
    "XY": "Random_UnitCell_XY_10.npy",
    "sigma": "Random_UnitCell_sigma_10.npy",
    "rr": "Random_UnitCell_rr_10.npy",
}
MESH_FILE = "Random_UnitCell_mesh_10.npz"
_CACHE_VERSION = 2


class Elasticity(InMemoryDataset, Samples):  # type: ignore[misc]
    """Von Mises stress at the 972 Gauss points of a plate with a void, clamped below and pulled above.

    Reads the original files of Geo-FNO from ``root/raw``, or those of ``datasets/elasticity/generate.py``, which have
    the same names and layout. The positions are Gauss points, not mesh nodes. Transformed samples are cached in
    ``root/processed`` under a hash of the raw files (their sizes and times), the options and the transform.

    Args:
        root: Folder that holds ``raw/``.
        split: ``"train"``: the first ``samples`` of the file; ``"test"``: the last ones.
        protocol: ``"radii"``: the inputs are the coordinates and the 42 radii of the void as ``5 r - 1``, constant
            over a sample (PiT); ``"coordinates"``: the coordinates alone (Transolver and later papers).
        samples: How many; ``None`` for the benchmark's 1000 and 200.
        pre_transform: Applied once a sample, then cached; a dataclass, whose repr names the cache.
        progress: Whether to show a progress bar while samples are transformed.

    Raises:
        FileNotFoundError: If a raw file is missing.
        ValueError: If a raw file is truncated, has another shape, holds fewer samples, or values that are not finite.

    Reference:
        Li, Huang, Liu and Anandkumar, "Fourier neural operator with learned deformations for PDEs on general
        geometries", 2022; Chen and Wu, ICML 2024, appendix A.5.
    """

    targets = ("von_mises",)

    def __init__(
        self,
        root: str | Path = "datasets/elasticity",
        split: Literal["train", "test"] = "train",
        protocol: Literal["radii", "coordinates"] = "radii",
        samples: int | None = None,
        pre_transform: Transform | None = None,
        progress: bool = False,
    ) -> None:
        if split not in ("train", "test"):
            raise ValueError(f"Expected 'split' to be 'train' or 'test' (got {split!r})")
        if protocol not in ("radii", "coordinates"):
            raise ValueError(f"Expected 'protocol' to be 'radii' or 'coordinates' (got {protocol!r})")
        self.split: Literal["train", "test"] = split
        self.protocol: Literal["radii", "coordinates"] = protocol
        self.size = samples if samples is not None else {"train": 1000, "test": 200}[split]
        if self.size < 1:
            raise ValueError(f"Expected 'samples' to be at least 1 (got {samples})")
        self.folder = Path(root) / "raw"
        self.progress = progress
        self._digest = self._hash(pre_transform)
        super().__init__(str(root), pre_transform=pre_transform, log=False)
        try:
            self._load()
        except Exception:  # a broken cache, whatever broke it: never read, always made again
            log.warning("The cache %s cannot be read and is made again", self.processed_paths[0])
            self.process()
            self._load()

    @staticmethod
    def total(root: str | Path) -> int:
        """How many samples the raw files hold."""
        return _total(_open(Path(root) / "raw" / FILES["XY"]))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Name of the mesh field that holds the input values; none with the protocol ``"coordinates"``."""
        return input_fields(self.protocol)

    @property
    def processed_dir(self) -> str:
        """The cache of just these samples, transformed in just this way."""
        return str(Path(self.root) / "processed" / self._digest)

    @property
    def processed_file_names(self) -> list[str]:
        """The cache file."""
        return ["samples.pt"]

    def with_transform(self, transform: Transform, progress: bool = False) -> Elasticity:
        """The same samples with another cached transform."""
        result = Elasticity(self.root, self.split, self.protocol, self.size, transform, progress)
        result._indices = self._indices
        return result

    def _process(self) -> None:
        """PyG would write files on the transform beside the cache; its name says all."""
        if not Path(self.processed_paths[0]).exists():
            self.process()

    def process(self) -> None:
        """Read the raw files, transform, and write the cache."""
        raw = self._read()
        total = raw["XY"].shape[2]
        if total < self.size:
            raise ValueError(
                f"Expected at least {self.size} samples in {self.folder / FILES['XY']} (got {total}); ask for fewer, "
                f"or generate more with datasets/elasticity/generate.py"
            )
        start = 0 if self.split == "train" else total - self.size
        samples = []
        numbers = range(start, start + self.size)
        for number in tqdm(numbers, desc="points and graphs", unit="sample", disable=not self.progress):
            data = PointData(
                pos=_tensor(raw["XY"][:, :, number]),
                x=_tensor(_shape_field(raw["rr"][:, number])) if self.protocol == "radii" else None,
                y=_tensor(raw["sigma"][:, number, None]),
                sample_id=number,
            )
            samples.append(data if self.pre_transform is None else self.pre_transform(data))
        with atomic_file(Path(self.processed_paths[0])) as part:
            self.save(samples, str(part))

    def _load(self) -> None:
        with torch.serialization.safe_globals([PointData]):  # PyG stores the class beside the tensors
            self.load(self.processed_paths[0], data_cls=PointData)

    def polygons(self, index: int) -> NDArray[np.float64] | None:
        """One quadrilateral of the finite-element mesh per Gauss point, ``[972, 4, 2]``; ``None`` for originals."""
        mesh, sample = self._mesh_file(), self[index]
        if mesh is None:
            return None
        corners = mesh["corners"][:, :, int(sample.sample_id)][mesh["subcells"]].astype(np.float64)
        points = self._raw_sample("XY", int(sample.sample_id))
        if not ((corners.min(1) - 1e-3 <= points) & (points <= corners.max(1) + 1e-3)).all():
            log.warning("%s is not the mesh of the other files and is passed over", self.folder / MESH_FILE)
            return None
        return cast("NDArray[np.float64]", corners)

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh whose points are the Gauss points, linked by quadrilaterals; positions as they came.

        The original files have no mesh: points alone.
        """
        number, mesh = int(self[index].sample_id), self._mesh_file()
        cells = () if mesh is None or self.polygons(index) is None else (("quad", mesh["cells"]),)
        fields = {"von_mises": self._raw_sample("sigma", number)}
        if self.protocol == "radii":
            fields["shape"] = _shape_field(self._raw_sample("rr", number))
        return Mesh(points=self._raw_sample("XY", number), cells=cells, point_data=fields)

    def _raw_sample(self, name: str, number: int) -> NDArray[np.float64]:
        return np.asarray(_open(self.folder / FILES[name])[..., number], np.float64)

    def _mesh_file(self) -> dict[str, NDArray[Any]] | None:
        if not (self.folder / MESH_FILE).exists():
            return None
        if not hasattr(self, "_mesh_arrays"):
            try:
                with np.load(self.folder / MESH_FILE) as file:
                    self._mesh_arrays = {name: file[name] for name in ("cells", "corners", "subcells")}
            except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
                raise ValueError(
                    f"Expected {self.folder / MESH_FILE} to be a complete mesh file (got: {error}); generate it again"
                ) from error
        return self._mesh_arrays

    def _read(self) -> dict[str, NDArray[np.floating[Any]]]:
        raw = {name: _open(self.folder / file) for name, file in FILES.items()}
        total = _total(raw["XY"])
        for name, shape in (("XY", (POINTS, 2, total)), ("sigma", (POINTS, total)), ("rr", (RADII, total))):
            path = self.folder / FILES[name]
            if raw[name].shape != shape:
                raise ValueError(f"Expected {path} to hold an array of shape {shape} (got {raw[name].shape})")
            bad = ~np.isfinite(raw[name]).all(axis=tuple(range(raw[name].ndim - 1)))
            if bad.any():
                raise ValueError(
                    f"Expected {path} to be finite (got NaN or infinity in sample {int(bad.argmax())}, the first of "
                    f"{int(bad.sum())})"
                )
        return raw

    def _hash(self, transform: Transform | None) -> str:
        if transform is not None and not is_dataclass(transform):
            raise ValueError(
                f"Expected 'pre_transform' to be a dataclass, as those of pitgeo.data.transforms are, so that its repr "
                f"tells what it does and names the cache (got {transform!r})"
            )
        parts = [_CACHE_VERSION, self.split, self.protocol, self.size, repr(transform)]
        for file in FILES.values():
            path = self.folder / file
            _open(path)
            stat = path.stat()
            parts += [file, stat.st_size, stat.st_mtime_ns]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def input_fields(protocol: str) -> tuple[str, ...]:
    """Names of the mesh fields that hold the input values of a protocol."""
    return ("shape",) if protocol == "radii" else ()


def _shape_field(radii: NDArray[Any]) -> NDArray[Any]:
    """The void's radii as inputs, the same at every point, ``[972, 42]``."""
    return np.tile(5 * radii - 1, (POINTS, 1))


def _total(positions: NDArray[Any]) -> int:
    return positions.shape[-1] if positions.ndim else 0


def _open(path: Path) -> NDArray[Any]:
    return open_npy(path, "elasticity")


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
