"""Decoding of names and texts from files; all texts are decoded here."""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pitgeo.mesh.notes import Note

T = TypeVar("T")

WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}
"""What the bytes 0x80 to 0x9f stand for. In Latin-1 they are control characters, which nobody writes in a name, in
Windows' cp1252 quotes, dashes and the euro; all other bytes are the same in both. Five have no meaning in either."""

XML = (".vtu", ".vtp", ".vts", ".vtr", ".vti")
"""Endings of files of VTK in XML."""

DECODED = Note("decoded", "the file is no UTF-8, and read as Latin-1 (cp1252)")


def decode(content: bytes) -> str:
    """Decode a text as UTF-8, or as Latin-1 with the characters of cp1252 if it is no UTF-8.

    Example:
        >>> decode("größe".encode("latin-1")), decode("größe".encode())
        ('größe', 'größe')
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").translate(WINDOWS)


def read_text(path: Path, notes: list[Note] | None = None) -> str:
    """The text of a file, with a note if it is no UTF-8, and ends of lines as Python has them."""
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if notes is not None and _utf8(content) is None:
        notes.append(DECODED)
    return decode(content).replace("\r\n", "\n").replace("\r", "\n")


def tidy_xml(path: Path, folder: Path) -> Path:
    """A copy in UTF-8 of a VTK file in another encoding; the file itself if it is UTF-8."""
    if not is_misencoded(path):
        return path
    head, mark, rest = _xml(path)
    copy = folder / path.name
    copy.write_bytes(decode(head).encode() + mark + rest)
    return copy


def is_misencoded(path: Path) -> bool:
    """Whether an XML file of VTK declares no encoding but UTF-8, and is no UTF-8."""
    head, _, _ = _xml(path)
    if head.isascii():
        return False
    is_declared = re.match(rb"""\s*<\?xml[^>]*\bencoding\s*=\s*["'](?!utf-?8["'])""", head, re.IGNORECASE)
    return not is_declared and not head.startswith((b"\xff\xfe", b"\xfe\xff")) and _utf8(head) is None


def _xml(path: Path) -> tuple[bytes, bytes, bytes]:
    content = path.read_bytes() if path.suffix.lower() in XML else b""
    return content.partition(b"<AppendedData")


def unquoted(fields: Mapping[str, T], notes: list[Note]) -> dict[str, T]:
    """Fields of a legacy VTK file by names without percent-encoding."""
    names = each_once(map(urllib.parse.unquote_to_bytes, fields), "field", notes)
    return dict(zip(names, fields.values(), strict=True))


def ended(content: bytes) -> bytes:
    """The bytes of a name in a field of fixed width: up to the first zero, without the blanks round them."""
    return content.split(b"\0", 1)[0].strip(b" ")


def each_once(names: Iterable[str | bytes], what: str, notes: list[Note]) -> list[str]:
    r"""A unique, printable text for each name.

    Bytes are decoded, characters that files and lines cannot hold become ``_``, a name that is empty is called
    ``unnamed``, and of several that are the same then, all but the first are numbered.

    Args:
        names: The names as a file has them.
        what: What they are names of, for notes.
        notes: Gets a note of every name that is another than in the file.

    Example:
        >>> notes = []
        >>> each_once([b"T", b"gr\xf6\xdfe", "a\x07", "T", ""], "point field", notes)
        ['T', 'größe', 'a_', 'T (2)', 'unnamed']
        >>> notes[1].text
        "the point field 'a\\x07' is called 'a_'"
    """
    given = list(names)
    plain = [_plain(name) for name in given]
    taken, result = set(plain), []
    seen: set[str] = set()
    for name, text in zip(given, plain, strict=True):
        number, other = 1, text
        while other in seen or (number > 1 and other in taken):
            number += 1
            other = f"{text} ({number})"
        seen.add(other)
        result.append(other)
        if other != (_utf8(name) if isinstance(name, bytes) else name):
            why = ", since another has that name" if number > 1 else ""
            notes.append(Note("renamed", f"the {what} {name!r} is called {other!r}{why}"))
    return result


def plain_keys(fields: Mapping[str, T], what: str, notes: list[Note]) -> dict[str, T]:
    """The same fields by names from :func:`each_once`."""
    return dict(zip(each_once(fields, what, notes), fields.values(), strict=True))


def _plain(name: str | bytes) -> str:
    if isinstance(name, str):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:  # of a library that keeps bytes as lone surrogates
            name = decode(name.encode("utf-8", "surrogateescape" if _is_escaped(name) else "replace"))
    else:
        name = decode(name)
    return "".join("_" if _is_bad(character) else character for character in name) or "unnamed"


def _is_escaped(name: str) -> bool:
    return all("\udc80" <= character <= "\udcff" for character in name if "\ud800" <= character <= "\udfff")


def _is_bad(character: str) -> bool:
    """Whether a character is not allowed in XML, breaks a line, or controls a terminal."""
    return unicodedata.category(character) == "Cc" or character in "\ufffe\uffff\u2028\u2029"


def _utf8(name: bytes) -> str | None:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return None
