"""From meshes or arrays in memory to a trained model, in one call."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from pitgeo.config import parse_config
from pitgeo.mesh import Mesh, from_meshio, write_mesh
from pitgeo.predict import Predictor, load
from pitgeo.run import train
from pitgeo.run_folder import check_free
from pitgeo.training import require_one_process

__all__ = ["DEFAULTS", "as_mesh", "train_surrogate"]

DEFAULTS: dict[str, Any] = {
    "data": {"name": "meshes", "meshes": {"validation": 0.1, "test": 0.2}},
    "model": {
        "name": "pit",
        "pit": {
            "body": "moments",
            "channels": 64,
            "heads": 4,
            "layers": 4,
            "encoder_quantile": 0.02,
            "decoder_quantile": 0.03,
            "latent": {"method": "farthest", "number": 256},
        },
    },
    "scaling": {"box": "unit", "inputs": "channel", "targets": "channel"},
    "training": {
        "epochs": 100,
        "batch_size": 4,
        "loss": "relative_l2",
        "optimizer": "muon",
        "learning_rate": 1e-2,
        "weight_decay": 1e-5,
        "schedule": "one_cycle",
        "clip": 1.0,
        "seed": 0,
    },
}
"""The options of ``configs/meshes.toml``."""


def train_surrogate(
    samples: Sequence[Any],
    targets: Sequence[str],
    output: str | Path,
    inputs: Sequence[str] = (),
    settings: Sequence[str] = (),
    progress: bool = True,
) -> Predictor:
    """Train on samples in memory; they are kept as mesh files beside the run, so that it can be resumed and repeated.

    Args:
        samples: Meshes of pitgeo or of meshio, PyG's ``Data`` with ``pos``, or dictionaries of arrays with ``points``;
            see :func:`as_mesh`.
        targets: Names of the fields to predict.
        output: Folder of the run.
        inputs: Names of the fields to learn from, beside the coordinates.
        settings: Changes to the configuration, ``"training.epochs=50"``.
        progress: Show bars on the standard error stream.

    Returns:
        The trained model, which predicts on meshes and samples.

    Raises:
        ValueError: If a sample is of no known kind, a field is missing, the folder holds another run, or several
            devices are asked for.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> random = np.random.default_rng(0)
        >>> clouds = [random.random((40, 2)) for _ in range(5)]
        >>> samples = [{"points": points, "height": points[:, 0] + 1} for points in clouds]
        >>> settings = ["training.epochs=1", "model.pit.channels=8"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = train_surrogate(samples, ["height"], folder + "/run", settings=settings, progress=False)
        >>> sorted(model.predict_mesh(as_mesh(samples[0])).point_data)
        ['height', 'height_error', 'height_prediction']
    """
    output = Path(output)
    folder = output.with_name(f"{output.name}-meshes")
    meshes = [as_mesh(sample) for sample in samples]
    given = {"files": f"{glob.escape(str(folder))}/*.vtu", "inputs": list(inputs), "targets": list(targets)}
    given = {**DEFAULTS["data"]["meshes"], **given, "cache": str(folder / "cache")}
    config = parse_config({**DEFAULTS, "data": {"name": "meshes", "meshes": given}}, settings, "settings")
    advice = "write them to files, and train with a configuration as configs/meshes.toml"
    require_one_process(config.training, "to train on meshes in memory", advice)
    check_free(output)
    for earlier in folder.glob("sample_*.vtu"):
        earlier.unlink()
    for number, mesh in enumerate(meshes):
        write_mesh(folder / f"sample_{number:05d}.vtu", mesh)
    return load(train(config, output, progress=progress).checkpoint)


def as_mesh(sample: Any) -> Mesh:
    """A mesh of pitgeo from what people have in memory.

    Args:
        sample: A :class:`pitgeo.mesh.Mesh`; a mesh of meshio; PyG's ``Data`` with ``pos`` ``[N, D]``; or a dictionary
            of arrays with ``points`` ``[N, D]``, and perhaps ``cells``, pairs of meshio's type and ``[cells, nodes]``.
            Other arrays ``[N]`` or ``[N, K]`` become fields of points under their names, ``face`` ``[3, F]`` triangles.

    Raises:
        ValueError: If it is none of these.
    """
    if isinstance(sample, Mesh):
        return sample
    if isinstance(sample, Data):
        return _from_data(sample)
    if isinstance(sample, Mapping):
        if "points" not in sample:
            raise ValueError(f"Expected a dictionary with 'points' (got the keys {list(sample)})")
        fields = {name: np.asarray(values) for name, values in sample.items() if name not in ("points", "cells")}
        return _mesh(np.asarray(sample["points"]), sample.get("cells", ()), fields)
    if all(hasattr(sample, name) for name in ("points", "cells", "point_data", "cell_data")):  # meshio's
        return from_meshio(sample)
    raise ValueError(
        f"Expected a mesh of pitgeo or meshio, PyG's Data, or a dictionary of arrays (got {type(sample).__name__})"
    )


def _from_data(data: Data) -> Mesh:
    if data.pos is None:
        raise ValueError("Expected a sample with positions 'pos' (got none)")
    count = len(data.pos)
    fields = {
        name: values.detach().cpu().numpy()
        for name, values in data
        if isinstance(values, torch.Tensor) and name != "pos" and values.dim() in (1, 2) and len(values) == count
    }
    face = data.get("face")
    cells = () if face is None else (("triangle", face.t().cpu().numpy()),)
    return _mesh(data.pos.detach().cpu().numpy(), cells, fields)


def _mesh(points: np.ndarray[Any, Any], cells: Any, fields: Mapping[str, np.ndarray[Any, Any]]) -> Mesh:
    pairs = tuple((str(kind), np.asarray(nodes, np.int64)) for kind, nodes in cells)
    return Mesh(points=points.astype(np.float64), cells=pairs, point_data=dict(fields))
