"""The compiled extensions pitgeo needs: check that they work, and say how to build them where they don't."""

from __future__ import annotations

import importlib

EXTENSIONS = ("torch_scatter", "torch_cluster")
INSTALL = "pip install --no-build-isolation torch-scatter torch-cluster"
REBUILD = f"{INSTALL} --force-reinstall --no-cache-dir --no-deps"


def require_extensions() -> None:
    """Import torch-scatter and torch-cluster.

    Raises:
        ImportError: If one is missing, or was built for another torch; says what to run.
    """
    errors: list[Exception] = []
    found = []
    for name in EXTENSIONS:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            errors.append(error)
            found.append(f"no {name}" if error.name == name else f"{name} without {error.name}")
        except (ImportError, OSError, RuntimeError) as error:  # undefined symbols, another CUDA
            errors.append(error)
            found.append(f"a broken {name}: {error}")
    if errors:
        raise ImportError(
            f"Expected torch-scatter and torch-cluster to be installed for this torch (got {'; '.join(found)}); "
            f"install torch, then run\n"
            f"    {INSTALL}\n"
            f"or, if torch has changed since they were built,\n"
            f"    {REBUILD}"
        ) from errors[0]
