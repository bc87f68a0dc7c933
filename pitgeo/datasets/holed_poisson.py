"""Poisson's equation on a square with a square hole that moves, each solution on a deformed mesh of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from pitgeo.data import PointData
from pitgeo.datasets.dual_cells import dual_cells
from pitgeo.datasets.fields import check_finite
from pitgeo.datasets.listed_samples import ListedSamples
from pitgeo.datasets.raw import check_file, shuffled_numbers
from pitgeo.mesh import Mesh

POINTS, TRAIN, TEST = 1352, 96, 25
FILE = "holed_poisson.pt"
SHA256 = "1fda41d108aa9901e16081b01f74e2a496f7b6340ed733e7a2df01bd943d71d1"
SOURCE = "https://github.com/mathLab/PINA, file tutorials/tutorial22/holed_poisson.pt"


class HoledPoisson(ListedSamples):
    r"""Finite-element solutions of :math:`-\Delta u = 10` on the unit square without a square of side 0.3.

    The solution is 0 on the outer boundary and on the hole's, whose lower left corner takes 11 x 11 places. One mesh
    of 1352 nodes is deformed for each. Reads ``root/raw/holed_poisson.pt``, the file of PINA's tutorial 22
    (https://github.com/mathLab/PINA, ``tutorials/tutorial22/holed_poisson.pt``, licence MIT), SHA-256
    ``1fda41d108aa9901e16081b01f74e2a496f7b6340ed733e7a2df01bd943d71d1``. It cannot be generated here.

    Args:
        root: Folder that holds ``raw/``.
        split: ``"train"``: the first ``samples`` of ``torch.randperm(121)`` with seed 0; ``"test"``: the
            last ones.
        protocol: Inputs: ``"coordinates"`` alone, or ``"parameters"``: also the place of the hole, constant over a
            sample.
        samples: How many; ``None`` for 96 and 25.
        others: Samples of the other split, none of which may be among these.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If it is another file, is laid out otherwise, holds fewer samples, or values that are not finite.

    Reference:
        Pichi, Moya and Hesthaven, "A graph convolutional autoencoder approach to model order reduction for
        parametrized PDEs", 2024.
    """

    targets = ("u",)

    def __init__(
        self,
        root: str | Path = "datasets/holed_poisson",
        split: Literal["train", "test"] = "train",
        protocol: Literal["coordinates", "parameters"] = "coordinates",
        samples: int | None = None,
        others: int = 0,
    ) -> None:
        if protocol not in ("coordinates", "parameters"):
            raise ValueError(f"Expected 'protocol' to be 'coordinates' or 'parameters' (got {protocol!r})")
        self.inputs = input_fields(protocol)
        path = Path(root) / "raw" / FILE
        check_file(path, SHA256, SOURCE)
        raw = _read(path)
        count = {"train": TRAIN, "test": TEST}.get(split, 1) if samples is None else samples
        numbers = shuffled_numbers(path, len(raw["mu"]), split, count, others)
        self.triangles = _counter_clockwise(path, raw["x"], raw["y"], raw["triang"])
        self.raw_pos = [np.stack([raw["x"][:, number], raw["y"][:, number]], -1) for number in numbers]
        super().__init__(
            [
                PointData(
                    pos=_tensor(pos),
                    x=_tensor(np.tile(raw["mu"][number], (len(raw["u"]), 1))) if self.inputs else None,
                    y=_tensor(raw["u"][:, number, None]),
                    sample_id=int(number),
                )
                for number, pos in zip(numbers, self.raw_pos, strict=True)
            ]
        )

    def cut(self, part: slice) -> None:
        """Keep a part of what belongs to the samples beside them."""
        self.raw_pos = self.raw_pos[part]

    def mesh(self, index: int) -> Mesh:
        """A sample as a mesh of triangles, positions as they came."""
        sample = self.samples[index]
        fields = {"u": sample.y[:, 0].double().numpy()}
        if self.inputs:
            fields[self.inputs[0]] = sample.x.double().numpy()
        return Mesh(points=self._place(index), cells=(("triangle", self.triangles),), point_data=fields)

    def polygons(self, index: int) -> NDArray[np.float64]:
        """A polygon round every node, ``[N, K, 2]``; together they cover the domain."""
        return dual_cells(self._place(index), self.triangles)

    def _place(self, index: int) -> NDArray[np.float64]:
        return self.raw_pos[index].astype(np.float64)


def input_fields(protocol: str) -> tuple[str, ...]:
    """Names of the mesh fields that hold the input values of a protocol."""
    return ("hole",) if protocol == "parameters" else ()


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """The file's arrays, of shapes that fit together."""
    content = torch.load(path, weights_only=True)
    names = ("x", "y", "u", "triang", "mu")
    good = isinstance(content, dict) and all(isinstance(content.get(name), torch.Tensor) for name in names)
    if not good:
        got = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise ValueError(f"Expected {path} to hold the tensors {', '.join(names)} (got {got})")
    raw = {name: content[name].numpy() for name in names}
    shapes = {name: list(array.shape) for name, array in raw.items()}
    points, samples = shapes["u"] if len(shapes["u"]) == 2 else (POINTS, TRAIN + TEST)
    expected = {name: [points, samples] for name in ("x", "y", "u")} | {"mu": [samples, 2]}
    for name, shape in (*expected.items(), ("triang", [*shapes["triang"][:1], 3])):
        if shapes[name] != shape:
            raise ValueError(f"Expected {name!r} of {path} to have shape {shape} (got {shapes[name]})")
    for name in expected:
        check_finite(f"{name!r} of {path}", raw[name] if name == "mu" else raw[name].T)
    nodes = raw["triang"]
    if nodes.dtype.kind not in "iu" or not nodes.size or nodes.min() < 0 or nodes.max() >= points:
        got = f"from {nodes.min()} to {nodes.max()}" if nodes.size else "none"
        raise ValueError(
            f"Expected 'triang' of {path} to hold whole numbers from 0 to {points - 1} (got {nodes.dtype}, {got})"
        )
    return raw


def _counter_clockwise(path: Path, x: NDArray[Any], y: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.int64]:
    """The triangles, those that the file lists clockwise turned round."""
    areas = _areas(x, y, triangles)
    turned = np.where(areas[:, :1] < 0, triangles[:, [0, 2, 1]], triangles).astype(np.int64)
    bad = areas * np.sign(areas[:, :1]) <= 0
    if bad.any():
        triangle, sample = (int(number) for number in np.argwhere(bad)[0])
        raise ValueError(
            f"Expected the triangles of {path} to have an area, of one sign in all samples (got triangle {triangle} "
            f"flat or turned over in sample {sample}, the first of {int(bad.sum())})"
        )
    return turned


def _areas(x: NDArray[Any], y: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.float64]:
    """Twice the signed area of every triangle in every sample, ``[M, S]``."""
    place = np.stack([x, y]).astype(np.float64)[:, triangles]
    first, second = place[:, :, 1] - place[:, :, 0], place[:, :, 2] - place[:, :, 0]
    areas: NDArray[np.float64] = first[0] * second[1] - first[1] * second[0]
    return areas


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
