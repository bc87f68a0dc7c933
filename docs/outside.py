"""Pages that lie outside of docs/ (those of the data sets, CONTRIBUTING, CHANGELOG...) as pages of the site."""

from __future__ import annotations

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = {path: DOCS / "data" / f"{path.parent.name}.md" for path in sorted(ROOT.glob("datasets/*/README.md"))}
PAGES |= {
    ROOT / f"{name}.md": DOCS / "project" / f"{name.lower()}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")
}
PAGES |= {ROOT / "benchmarks" / "speed" / "README.md": DOCS / "project" / "speed.md"}
PAGES |= {ROOT / "benchmarks" / "tried.md": DOCS / "project" / "tried.md"}
PAGES |= {ROOT / "README.md": DOCS / "index.md"}


def relinked(text: str, origin: Path, page: Path) -> str:
    """A page's text, its links to files as they are from where the page is on the site."""

    def link(found: re.Match[str]) -> str:
        name, mark, anchor = found[1].partition("#")
        if not name or "://" in name or name.startswith("mailto:"):
            return found[0]
        target = (origin.parent / name).resolve()
        return f"]({os.path.relpath(PAGES.get(target, target), page.parent)}{mark}{anchor})"

    return re.sub(r"\]\(([^)\s]+)\)", link, text)


def write() -> None:
    """Write the pages that have changed, and an index of the data sets."""
    for origin, page in PAGES.items():
        if page.name == "index.md" or not origin.exists():
            continue
        page.parent.mkdir(exist_ok=True)
        text = relinked(origin.read_text(encoding="utf-8"), origin, page)
        save(page, text)
    names = "\n".join(page.stem for page in PAGES.values() if page.parent.name == "data")
    save(DOCS / "data" / "index.md", f"# Data sets\n\n```{{toctree}}\n{names}\n```\n")


def save(page: Path, text: str) -> None:
    """Write a page, if it has changed."""
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
