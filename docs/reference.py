"""The pages of the API reference, one a package: each public name once, where its package's ``__all__`` has it."""

from __future__ import annotations

import ast
import functools
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = (  # of modules whose package does not list them, those that pages use
    "pitgeo.graphs.metric",
    "pitgeo.graphs.neighborhood",
    "pitgeo.graphs.quadrature",
    "pitgeo.models.dense_points",
    "pitgeo.models.model_options",
    "pitgeo.nn.moments",
    "pitgeo.workflows.choose",
    "pitgeo.workflows.designs",
    "pitgeo.workflows.optimise",
    "pitgeo.workflows.run",
    "pitgeo.workflows.sweep",
)
INTERNAL = ("pitgeo.cli", "pitgeo.config.toml", "pitgeo.evaluation.plots.meshes", "pitgeo.training")


@functools.cache
def public_modules() -> dict[str, list[str]]:
    """The modules that have an ``__all__``, with its names, short paths first; then :data:`MODULES`."""
    found = {}
    for file in sorted((ROOT / "pitgeo").rglob("*.py"), key=lambda path: (len(path.parts), path)):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            parts = file.relative_to(ROOT).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            if name not in INTERNAL:
                found[name] = list(importlib.import_module(name).__all__)
    return found | {name: public_names(name) for name in MODULES}


def public_names(module: str) -> list[str]:
    """Classes and functions that a module without ``__all__`` defines."""
    names = vars(importlib.import_module(module)).items()
    return [name for name, value in names if name[0] != "_" and getattr(value, "__module__", None) == module]


@functools.cache
def homes() -> dict[str, list[str]]:
    """The names that each module's page has: every object once. Those of ``pitgeo`` itself are on other pages."""
    seen: set[int] = set()
    found: dict[str, list[str]] = {}
    for module, names in public_modules().items():
        loaded = importlib.import_module(module)
        if module != "pitgeo":
            new = [name for name in names if id(getattr(loaded, name)) not in seen]
            seen.update(id(getattr(loaded, name)) for name in new)
            if new:
                found[module] = new
    return found


def pages() -> dict[str, str]:
    """The text of every page, in reStructuredText, by its name; ``index`` lists them and the names of ``pitgeo``."""
    found, place = {}, {}
    for module, names in homes().items():
        loaded = importlib.import_module(module)
        place.update({id(getattr(loaded, name)): f"{module}.{name}" for name in names})
        left_out = [name for name in public_modules()[module] if name not in names]
        options = "   :members:\n   :undoc-members:\n"
        options += f"   :exclude-members: {', '.join(left_out)}\n" if left_out else ""
        found[module] = f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n{options}"
    top = importlib.import_module("pitgeo")
    links = "\n".join(f"- :py:obj:`~{place[id(getattr(top, name))]}`" for name in sorted(top.__all__))
    tree = "\n".join(f"   {module}" for module in sorted(found))
    found["index"] = (
        "API reference\n=============\n\nFrom ``pitgeo`` itself:\n\n"
        f"{links}\n\nBy package:\n\n.. toctree::\n   :maxdepth: 1\n\n{tree}\n"
    )
    return found


def write(folder: Path) -> None:
    """Write the pages that have changed, and remove those of modules that are gone."""
    folder.mkdir(exist_ok=True)
    texts = {f"{name}.rst": text for name, text in pages().items()}
    for old in folder.glob("*.rst"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
