"""Mesh files: the only module that imports meshio.

What comes out of a file is native-endian, of the mesh's true dimension, and complete; what cannot be read rightly is
refused with one clear error.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import urllib.parse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import meshio
import numpy as np
from numpy.typing import NDArray

__all__ = ["Mesh", "point_fields", "read_mesh", "write_mesh"]

# Formats whose meshio writers keep points, cells, point data and cell data; others drop some without a word.
WRITABLE = {".vtu": "vtu", ".vtk": "vtk", ".xdmf": "xdmf", ".xmf": "xdmf"}


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh with fields on it.

    Args:
        points: Positions ``[N, D]``, float64, D the true dimension: a planar mesh stored in 3D has D = 2.
        cells: Pairs of a meshio cell type and its connectivity ``[cells, nodes]``.
        point_data: Fields ``[N]`` or ``[N, components]`` by name.
        cell_data: For each name one array a block of cells.
        field_data: Facts of the whole mesh by name.
        plane: The third coordinate of a planar mesh, put back when it is written.
        path: The file it came from, for messages.

    Raises:
        ValueError: If a shape does not fit, or a position is not finite.
    """

    points: NDArray[np.float64]
    cells: tuple[tuple[str, NDArray[np.int64]], ...] = ()
    point_data: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    cell_data: Mapping[str, tuple[NDArray[Any], ...]] = field(default_factory=dict)
    field_data: Mapping[str, Any] = field(default_factory=dict)
    plane: float = 0.0
    path: Path | None = None

    def __post_init__(self) -> None:
        where = f"{self.path}: " if self.path else ""
        if self.points.ndim != 2 or self.points.shape[1] not in (1, 2, 3) or not len(self.points):
            raise ValueError(
                f"{where}Expected points of shape [N, 1], [N, 2] or [N, 3] with N at least 1 "
                f"(got {list(self.points.shape)}); the file holds no mesh that can be read"
            )
        bad = ~np.isfinite(self.points).all(1)
        if bad.any():
            raise ValueError(
                f"{where}Expected finite positions (got {self.points[bad.argmax()].tolist()} at point {bad.argmax()})"
            )
        for name, values in self.point_data.items():
            if len(values) != len(self.points):
                raise ValueError(f"{where}Expected {len(self.points)} values in {name!r} (got {len(values)})")
        for kind, nodes in self.cells:
            if nodes.size and (nodes.min() < 0 or nodes.max() >= len(self.points)):
                raise ValueError(f"{where}Expected the nodes of {kind} cells to be points (got number {nodes.max()})")

    def with_point_data(
        self, name: str, values: NDArray[Any], existing: Literal["refuse", "replace"] = "refuse"
    ) -> Mesh:
        """A copy with one more field.

        Raises:
            ValueError: If the name is taken and not to be replaced, or the number of values is wrong.
        """
        if name in self.point_data and existing == "refuse":
            raise ValueError(f"Expected a new name for the field (got {name!r}, which is there already)")
        return replace(self, point_data={**self.point_data, name: np.asarray(values)})


def read_mesh(path: str | Path) -> Mesh:
    """Read a mesh file of any format meshio reads.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it cannot be read, holds no points, or would be misread; the message says what to do.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a mesh file at {path} (got no such file)")
    if path.suffix.lower() == ".su2":
        _check_su2(path)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio's readers fail in every way there is, some by leaving Python
        reason = (said.getvalue() or str(error) or type(error).__name__).strip().splitlines()[-1]
        raise ValueError(
            f"{path}: Expected a mesh file that meshio reads (got: {reason}); open it in ParaView, or with "
            f"pyvista.read, and save it as .vtu"
        ) from None
    points = _native(np.asarray(raw.points), np.float64)
    plane = 0.0
    if points.ndim == 2 and points.shape[1] == 3 and len(points) and (points[:, 2] == points[0, 2]).all():
        plane = float(points[0, 2])
        points = points[:, :2]
        if plane == 0.0 and (points[:, 1] == 0).all() and any(block.type.startswith("line") for block in raw.cells):
            points = points[:, :1]
    return Mesh(
        points=np.ascontiguousarray(points),
        cells=tuple((block.type, _native(np.asarray(block.data), np.int64)) for block in raw.cells if len(block.data)),
        point_data={_name(name): _native(np.asarray(values)) for name, values in raw.point_data.items()},
        cell_data={
            _name(name): tuple(
                _native(np.asarray(values)) for values, block in zip(blocks, raw.cells, strict=True) if len(block.data)
            )
            for name, blocks in raw.cell_data.items()
        },
        field_data=dict(raw.field_data),
        plane=plane,
        path=path,
    )


def write_mesh(path: str | Path, mesh: Mesh) -> None:
    """Write a mesh whole or not at all, as the ending of the name says.

    Raises:
        ValueError: If meshio's writer of that format would lose fields, or cannot hold one.
    """
    path = Path(path)
    kind = WRITABLE.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path}: Expected a format that keeps every field, one of {', '.join(WRITABLE)} (got {path.suffix!r}); "
            f"write to {path.with_suffix('.vtu').name} instead"
        )
    points = np.zeros((len(mesh.points), 3))
    points[:, : mesh.points.shape[1]] = mesh.points
    if mesh.points.shape[1] == 2:
        points[:, 2] = mesh.plane
    out = meshio.Mesh(
        points,
        [(name, nodes.copy()) for name, nodes in mesh.cells] or [("vertex", np.arange(len(points))[:, None])],
        point_data={name: _padded(values) for name, values in mesh.point_data.items()},
        cell_data={name: [_padded(values) for values in blocks] for name, blocks in mesh.cell_data.items()},
        field_data=dict(mesh.field_data),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".part-{os.getpid()}-{path.name}")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out.write(part, file_format=kind, **({"data_format": "XML"} if kind == "xdmf" else {}))
        os.replace(part, path)
    except (meshio.WriteError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: Expected fields that the format can hold (got: {error})") from error
    finally:
        part.unlink(missing_ok=True)


def point_fields(mesh: Mesh, names: Sequence[str]) -> NDArray[np.float64]:
    """Named point fields side by side, ``[N, channels]``; a vector gives as many channels as it has components.

    Raises:
        ValueError: If a field is missing, is not numeric, or holds a value that is not finite.
    """
    where = f"{mesh.path}: " if mesh.path else ""
    columns = []
    for name in names:
        if name not in mesh.point_data:
            near = difflib.get_close_matches(name, list(mesh.point_data), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            have = ", ".join(repr(other) for other in mesh.point_data) or "none"
            raise ValueError(f"{where}Expected a point field {name!r} (got {have}){hint}")
        values = np.asarray(mesh.point_data[name])
        if values.dtype.kind not in "fiub":
            raise ValueError(f"{where}Expected numbers in the point field {name!r} (got {values.dtype})")
        values = values.reshape(len(values), -1).astype(np.float64)
        bad = ~np.isfinite(values).all(1)
        if bad.any():
            raise ValueError(
                f"{where}Expected finite values in the point field {name!r} (got {values[bad.argmax()].tolist()} at "
                f"point {bad.argmax()}, the first of {bad.sum()})"
            )
        columns.append(values)
    return np.concatenate(columns, 1) if columns else np.zeros((len(mesh.points), 0))


def _native(values: NDArray[Any], kind: Any = None) -> NDArray[Any]:
    """A copy in the machine's own byte order."""
    return values.astype(values.dtype.newbyteorder("=") if kind is None else kind)


def _name(name: str) -> str:
    """VTK escapes blanks and the like in the names of fields."""
    return urllib.parse.unquote(name)


def _padded(values: NDArray[Any]) -> NDArray[Any]:
    """VTK wants vectors of three components."""
    if values.ndim == 2 and values.shape[1] == 2:
        return np.concatenate([values, np.zeros_like(values[:, :1])], 1)
    return values.copy()


def _check_su2(path: Path) -> None:
    """SU2 files may end every row with an index; meshio then reads wrong coordinates without a word."""
    dimension, rows = None, 0
    for line in path.read_text(errors="replace").splitlines():
        words = line.split("%")[0].replace("=", " = ").split()
        if words[:1] == ["NDIME"]:
            dimension = int(words[2]) if len(words) > 2 and words[2].isdigit() else None
        elif rows and words:
            if dimension is not None and len(words) != dimension:
                raise ValueError(
                    f"{path}: Expected {dimension} coordinates in every row of points (got {len(words)} numbers: "
                    f"{' '.join(words)}); the last one looks like an index, which meshio would misread: remove it, or "
                    f"save the mesh as .vtu"
                )
            return
        elif words[:1] == ["NPOIN"]:
            rows = 1
