"""The XML of an XDMF file, with includes and references resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pitgeo.mesh.names import decode

STEP = re.compile(r"(//|/|^)(\*|[\w.-]+)((?:\[[^]]*\])*)")


def read_document(path: Path) -> Element:
    """The root of a file with each ``xi:include`` and ``Reference`` resolved; names of files are absolute paths.

    Raises:
        ValueError: If it is no XML, or something that it refers to is not there.
    """
    root = _parse(path)
    _Resolver(path, root).resolve(root)
    return root


def find(root: Element, text: str) -> list[Element]:
    """The elements at a path, in the part of XPath that XDMF files use.

    Raises:
        ValueError: If the path holds something else.
    """
    path = text.strip()
    if "/" not in path[:1]:
        path = f"//{path}"
    found: list[Element] = []
    end = 0
    for step in STEP.finditer(path):
        if step.start() != end:
            break
        end = step.end()
        axis, tag, predicates = step.groups()
        if step.start() == 0:
            parents: Iterable[Element] = [_above(root), *(root.iter() if axis == "//" else ())]
        else:
            parents = [below for element in found for below in (element.iter() if axis == "//" else (element,))]
        found = []
        for parent in parents:
            chosen = [child for child in parent if tag in ("*", child.tag)]
            for predicate in re.findall(r"\[([^]]*)\]", predicates):
                chosen = _filtered(chosen, predicate.strip())
            found += [child for child in chosen if not any(child is other for other in found)]
    if end != len(path):
        raise ValueError(f"Expected a path of elements (got {text.strip()!r})")
    return found


def _above(root: Element) -> Element:
    above = Element("")
    above.append(root)
    return above


def _filtered(elements: list[Element], predicate: str) -> list[Element]:
    if re.fullmatch(r"(position\(\) *= *)?\d+", predicate):
        number = int(re.findall(r"\d+", predicate)[0])
        return elements[number - 1 : number] if number else []
    if predicate == "last()":
        return elements[-1:]
    if named := re.fullmatch(r"@([\w:.-]+) *= *(?:'([^']*)'|\"([^\"]*)\")", predicate):
        name, *values = named.groups()
        return [
            element for element in elements if element.get(name) == (values[0] if values[0] is not None else values[1])
        ]
    tags = re.findall(r"self::([\w.-]+)", predicate)
    if re.fullmatch(r"self::[\w.-]+( +or +self::[\w.-]+)*", predicate):
        return [element for element in elements if element.tag in tags]
    raise ValueError(f"Expected a path of elements (got the condition {predicate!r})")


def _parse(path: Path) -> Element:
    content = path.read_bytes()
    try:
        try:
            root = ElementTree.fromstring(content)
        except ElementTree.ParseError:
            if b"encoding" in content.partition(b"?>")[0]:
                raise
            root = ElementTree.fromstring(decode(content))
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: Expected an XDMF file in XML (got: {error}); is it whole? Write it again") from error
    for element in root.iter():
        element.tag = "include" if element.tag.endswith("}include") else element.tag.rpartition("}")[2]
        text = (element.text or "").strip()
        if element.tag == "DataItem" and element.get("Format") in ("HDF", "Binary") and text:
            element.text = str(path.resolve().parent / text)
    if root.tag != "Xdmf":
        raise ValueError(f"{path}: Expected an XDMF file (got an XML file of {root.tag!r}); write it again")
    return root


class _Resolver:
    def __init__(self, path: Path, root: Element) -> None:
        self.path, self.root = path, root
        self.open: list[Element] = []
        self.done: set[int] = set()

    def resolve(self, element: Element) -> None:
        """Resolve the includes and references of an element and of all elements below it."""
        if id(element) in self.done:
            return
        if any(element is other for other in self.open):
            raise ValueError(
                f"{self.path}: Expected grids that do not include themselves (got {element.tag} in itself)"
            )
        self.open.append(element)
        children: list[Element] = []
        for child in element:
            children += self._meant(child)
        element[:] = children
        for child in children:
            self.resolve(child)
        self.open.pop()
        self.done.add(id(element))

    def _meant(self, child: Element) -> Iterator[Element]:
        if child.tag == "include":
            root, text = self.root, child.get("xpointer", "")
            if href := child.get("href"):
                file = self.path.parent / href
                if not file.is_file():
                    raise ValueError(f"{self.path}: Expected a file at {file}, which it includes (got no such file)")
                root = read_document(file)
            yield from self._target(root, text)
        elif (reference := child.get("Reference")) is not None:
            (target,) = self._target(self.root, child.text or "" if reference == "XML" else reference)[:1]
            self.resolve(target)
            own = {name: value for name, value in child.attrib.items() if name != "Reference"}
            merged = Element(child.tag, {**target.attrib, **own})
            merged.text = target.text
            merged.extend(target)
            yield merged
        else:
            yield child

    def _target(self, root: Element, text: str) -> list[Element]:
        inner = re.sub(r"^xpointer\((.*)\)$", r"\1", text.strip())
        try:
            if numbers := re.fullmatch(r"element\(((?:/\d+)+)\)", inner):
                inner = "".join(f"/*[{number}]" for number in numbers.group(1).split("/")[1:])
            found = find(root, inner) if inner else [root]
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}; save it in ParaView as .vtu") from error
        if not found:
            raise ValueError(
                f"{self.path}: Expected an element {inner!r}, which is referred to (got none); is it whole?"
            )
        return found
