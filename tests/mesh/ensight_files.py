"""EnSight Gold files, written by the format's description alone: in text, C Binary or Fortran Binary."""

import numpy as np

FORMS = ("text", "<", ">", "Fortran<", "Fortran>")


class Words(list):
    """What a file holds, one after the other: texts, whole numbers and numbers."""

    def text(self, *texts):
        self.extend(("text", text) for text in texts)
        return self

    def wholes(self, values, columns=1):
        self.append(("i4", np.asarray(values).ravel(), columns))
        return self

    def reals(self, values, columns=1):
        """Numbers; each row of a table is a record of Fortran."""
        for row in np.atleast_2d(np.asarray(values, float)):
            self.append(("f4", row, columns))
        return self

    def content(self, form):
        return b"".join(_item(form, *item) for item in self)


def _item(form, kind, value, columns=1):
    if form == "text":
        if kind == "text":
            return f"{value}\n".encode()
        words = [f"{number:10d}" if kind == "i4" else f"{number:12.5e}" for number in value.tolist()]
        rows = ["".join(words[start : start + columns]) for start in range(0, len(words), columns)]
        return "".join(row + "\n" for row in rows).encode()
    order = form[-1]
    content = value.encode().ljust(80, b" ") if kind == "text" else value.astype(order + kind).tobytes()
    if form.startswith("Fortran"):
        mark = np.array(len(content), order + "i4").tobytes()
        return mark + content + mark
    return content


def head(form):
    """The first text of a geometry file."""
    return Words().text(*{"t": [], "F": ["Fortran Binary"]}.get(form[0], ["C Binary"]))


def geometry(parts, ids="off", extents=False):
    """A geometry file without its first text.

    Args:
        parts: Number, name, points ``[N, 3]`` and pairs of a type of elements and nodes from 0 of each.
        ids: What is said of the numbers of nodes and elements.
        extents: Whether it says how large the box is.
    """
    out = Words().text("one", "two", f"node id {ids}", f"element id {ids}")
    if extents:
        out.text("extents").reals([0, 1, 0, 1, 0, 1], 2)
    has_ids = ids in ("given", "ignore")
    for number, name, points, elements in parts:
        points = np.asarray(points, float)
        out.text("part").wholes([number]).text(name, "coordinates").wholes([len(points)])
        if has_ids:
            out.wholes(100 + np.arange(len(points)))
        out.reals(points.T)
        for kind, nodes in elements:
            out.text(kind).wholes([len(nodes)])
            if has_ids:
                out.wholes(500 + np.arange(len(nodes)))
            if kind.endswith("nsided"):
                out.wholes([len(row) for row in nodes])
                for row in nodes:
                    out.wholes(np.asarray(row) + 1, len(row))
            else:
                out.wholes(np.asarray(nodes) + 1, np.shape(nodes)[1])
    return out


def variable(parts, head="values"):
    """A variable file.

    Args:
        parts: Number, and pairs of a keyword and values ``[N]`` or ``[N, components]``, of each.
        head: Its description.
    """
    out = Words().text(head)
    for number, sections in parts:
        out.text("part").wholes([number])
        for word, values in sections:
            out.text(word).reals(np.asarray(values, float).T)
    return out


def in_times(steps):
    """A file of several times."""
    out = Words()
    for step in steps:
        out.text("BEGIN TIME STEP")
        out.extend(step)
        out.text("END TIME STEP")
    return out


def write(folder, form, files, lines=(), more=""):
    """A case; ``files["run.geo"]`` is its geometry.

    Args:
        folder: Where.
        form: One of :data:`FORMS`.
        files: Words by name.
        lines: Those of the section VARIABLE.
        more: Other sections.
    """
    for name, words in files.items():
        start = head(form).content(form) if ".geo" in name else b""
        (folder / name).write_bytes(start + words.content(form))
    path = folder / "run.case"
    variables = "".join(f"{line}\n" for line in ("VARIABLE", *lines)) if lines else ""
    model = "" if "GEOMETRY" in more else "GEOMETRY\nmodel: run.geo\n"
    path.write_text(f"# a case\nFORMAT\ntype: ensight gold\n\n{model}{variables}{more}")
    return path
