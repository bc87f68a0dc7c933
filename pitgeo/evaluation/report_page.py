"""The frame of a report: its style, sections and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Any

from pitgeo.evaluation import measure_table

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>$title</title>
<style>
:root { color-scheme: light dark; --text: #222; --quiet: #6a6a6a; --line: #e3e3e3; --paper: #fff; --box: #f5f5f5; }
@media (prefers-color-scheme: dark) {
:root { --text: #e4e4e4; --quiet: #a5a5a5; --line: #3c3c3c; --paper: #191919; --box: #242424; }
}
body { font: 14px/1.4 system-ui, sans-serif; color: var(--text); background: var(--paper); max-width: 88rem;
margin: 0 auto; padding: 0.8rem 1rem 2rem; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 0.9rem 0 0.3rem; border-bottom: 1px solid var(--line); }
p { margin: 0.3rem 0; }
p.when, figcaption, .note { color: var(--quiet); font-size: 0.9em; }
ul { margin: 0.3rem 0; padding-left: 1.2rem; }
div.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.12rem 0.9rem 0.12rem 0; border-bottom: 1px solid var(--line);
vertical-align: top; overflow-wrap: normal; }
th { font-weight: 600; }
td:first-child { min-width: 6rem; max-width: 16rem; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 0.3rem 0; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 3px; }
pre { background: var(--box); padding: 0.6rem; margin: 0.3rem 0; overflow-x: auto; font-size: 0.85em;
line-height: 1.3; }
pre.settings { columns: 22rem; white-space: pre-wrap; }
details { margin: 0.5rem 0; border-bottom: 1px solid var(--line); padding-bottom: 0.3rem; }
summary { cursor: pointer; }
@media (min-width: 1000px) {
div.first { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.5rem; }
div.first figure img { max-height: calc(100vh - 9rem); width: auto; }
}
</style>
</head>
<body>
<h1>$title</h1>
<p class="when">$when</p>
$sections
</body>
</html>
""")


def section(title: str, content: str) -> str:
    """A section with a heading; empty without content."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}\n</section>" if content else ""


def folded(title: str, content: str) -> str:
    """A section that a click unfolds; empty without content."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{content}\n</details>" if content else ""


def note(text: str) -> str:
    """A paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def items(texts: Iterable[Any]) -> str:
    """A list; empty without texts."""
    lines = "".join(f"<li>{escape(str(text))}</li>" for text in texts)
    return f"<ul>\n{lines}\n</ul>" if lines else ""


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], most: int = measure_table.MOST) -> str:
    """A table with numbers to four digits, right-aligned; ``None`` is an empty cell; a long table has a gap."""
    rows = list(rows)
    if not rows:
        return ""
    width = max(map(len, rows))
    if len(rows) > most:
        rest = f"... {len(rows) - most} more rows in evaluation.json ..."
        rows[most // 2 : -(most // 2)] = [(rest, *[None] * (width - 1))]
    kinds = [any(isinstance(row[at], float) for row in rows) for at in range(width)]
    numbers = [' class="number"' if kind else "" for kind in kinds]
    first = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(head, numbers, strict=False))
    body = "\n".join(
        f"<tr>{''.join(f'<td{kind}>{_cell(value)}</td>' for value, kind in zip(row, numbers, strict=True))}</tr>"
        for row in rows
    )
    top = f"<thead><tr>{first}</tr></thead>" if head else ""
    return f'<div class="table"><table>\n{top}<tbody>\n{body}\n</tbody>\n</table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:#.4g}"
    return "" if value is None else escape(str(value))
