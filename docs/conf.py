"""The site: pages in Markdown, the API reference from the docstrings, a gallery that runs. ``make docs`` builds it."""

import logging
import os
import socket
import sys
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import outside  # noqa: E402
import reference  # noqa: E402

import pitgeo  # noqa: E402

project, author, project_copyright = "pitgeo", "The pitgeo authors", "the pitgeo authors"
version = release = pitgeo.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # formulas need no network; nor does the search
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["**/sg_execution_times.rst", "sg_execution_times.rst"]
html_theme, html_title = "furo", f"pitgeo {release}"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all run
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "download_all_examples": False,
}


def is_reachable(url: str) -> bool:
    """Whether a page's host answers; without a network the site is built without links to other projects."""
    try:
        with socket.create_connection((url.split("/")[2], 443), timeout=2):
            return True
    except OSError:
        return False


PROJECTS = {  # meshio has no inventory
    "python": "https://docs.python.org/3",
    "torch": "https://docs.pytorch.org/docs/stable",
    "torch_geometric": "https://pytorch-geometric.readthedocs.io/en/latest",
    "pyvista": "https://docs.pyvista.org",
}
intersphinx_mapping = {name: (url, None) for name, url in PROJECTS.items() if is_reachable(url)}
linkcheck_ignore = [] if intersphinx_mapping else [r"https?://"]

logging.getLogger("pitgeo").propagate = False  # logs of the gallery's runs are no part of the build's
reference.write(DOCS / "api")
outside.write()


def setup(app: Sphinx) -> None:
    """Links to pages outside of this folder lead to their copies."""

    def read(_: Sphinx, name: str, source: list[str]) -> None:
        page = DOCS / f"{name}.md"
        if page.exists() and page not in outside.PAGES.values():
            source[0] = outside.relinked(source[0], page, page)

    app.connect("source-read", read)
