"""From meshes or arrays in memory to a trained model, in one call."""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pitgeo.config.config import parse_config
from pitgeo.describe.defaults import DEFAULTS
from pitgeo.mesh import summary, write_mesh
from pitgeo.mesh.in_memory import as_mesh, sample_meshes
from pitgeo.prediction.predictor import Predictor, load
from pitgeo.training import require_one_process
from pitgeo.workflows.run import train
from pitgeo.workflows.run_folder import check_free

log = logging.getLogger(__name__)

__all__ = ["DEFAULTS", "as_mesh", "train_surrogate"]


def train_surrogate(
    samples: Iterable[Any],
    targets: Sequence[str],
    output: str | Path,
    inputs: Sequence[str] = (),
    settings: Sequence[str] = (),
    progress: bool = True,
) -> Predictor:
    """Train on samples in memory; they are kept as mesh files beside the run, so that it can be resumed and repeated.

    Args:
        samples: Meshes of pitgeo, of meshio or of PyVista, PyG's ``Data`` with ``pos``, or dictionaries of arrays with
            ``points``; see :func:`as_mesh`.
        targets: Names of the fields to predict.
        output: Folder of the run.
        inputs: Names of the fields to learn from, beside the coordinates.
        settings: Changes to the configuration, ``"training.epochs=50"``.
        progress: Show bars on the standard error stream.

    Returns:
        The trained model, which predicts on meshes and samples.

    Raises:
        ValueError: If a sample is not as :func:`as_mesh` says, a list of names is a single text, a field is missing,
            the folder holds another run, or several devices are asked for.

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
    for key, names in {"targets": targets, "inputs": inputs, "settings": settings}.items():
        if isinstance(names, str):
            raise ValueError(f"Expected {key!r} to be a list, [{names!r}] (got the text {names!r}); put it in brackets")
    output = Path(output)
    folder = output.with_name(f"{output.name}-meshes")
    meshes = sample_meshes(samples)
    for line in summary(((f"sample {number}", mesh.notes) for number, mesh in enumerate(meshes)), len(meshes)):
        log.info("%s", line)
    given = {"files": f"{glob.escape(str(folder))}/*.vtu", "inputs": list(inputs), "targets": list(targets)}
    given = {**DEFAULTS["data"]["meshes"], **given, "cache": str(folder / "cache")}
    config = parse_config(
        {**DEFAULTS, "data": {"name": "meshes", "meshes": given}}, settings, "settings", option="settings"
    )
    advice = "write them to files, and train with a configuration as configs/meshes.toml"
    require_one_process(config.training, "to train on meshes in memory", advice)
    check_free(output, "choose another folder as 'output', or delete this one")
    for earlier in folder.glob("sample_*.vtu"):
        earlier.unlink()
    for number, mesh in enumerate(meshes):
        write_mesh(folder / f"sample_{number:05d}.vtu", mesh)
    return load(train(config, output, progress=progress).checkpoint)
