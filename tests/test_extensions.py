from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import pitgeo
from pitgeo._extensions import EXTENSIONS, require_extensions

INSTALL = "pip install --no-build-isolation torch-scatter torch-cluster"


def import_pitgeo() -> None:
    """Run ``pitgeo/__init__.py`` once more, under another name."""
    spec = importlib.util.spec_from_file_location("pitgeo_again", pitgeo.__file__)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def put(name: str, source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a module of this name and source before the installed one."""
    (folder / f"{name}.py").write_text(source)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(folder)


def test_present() -> None:
    require_extensions()
    import_pitgeo()


@pytest.mark.parametrize("name", EXTENSIONS)
def test_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"got no {name}\\)") as raised:
        import_pitgeo()
    assert raised.type is ImportError
    assert f"    {INSTALL}\n" in str(raised.value)
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize("name", EXTENSIONS)
@pytest.mark.parametrize("error", ["OSError", "ImportError", "RuntimeError"])
def test_broken(name: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(name, f"raise {error}('undefined symbol: _ZN3c10')", tmp_path, monkeypatch)
    with pytest.raises(ImportError, match=f"got a broken {name}: undefined symbol: _ZN3c10") as raised:
        import_pitgeo()
    assert raised.type is ImportError
    assert f"    {INSTALL} --force-reinstall --no-cache-dir --no-deps" in str(raised.value)


def test_something_that_an_extension_needs_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("torch_cluster", "import no_such_module", tmp_path, monkeypatch)
    with pytest.raises(ImportError, match="got torch_cluster without no_such_module"):
        require_extensions()


def test_one_error_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EXTENSIONS:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="got no torch_scatter; no torch_cluster"):
        require_extensions()
