"""The arrays of a VTK file in XML, by the format's description alone."""

import base64
import re
import zlib
from xml.etree import ElementTree

import numpy as np

TYPES = {
    f"{kind}{8 * size}": f"<{letter}{size}" for kind, letter in (("Int", "i"), ("UInt", "u")) for size in (1, 2, 4, 8)
}
TYPES |= {"Float32": "<f4", "Float64": "<f8", "String": "u1"}


def arrays(path):
    """Every array by its section and name: ``("PointData", "p")``."""
    content = path.read_bytes()
    found = re.search(rb"<AppendedData encoding=\"(\w+)\">\s*_(.*)</AppendedData>", content, re.DOTALL)
    encoding, appended = found.groups() if found else (b"base64", b"")
    root = ElementTree.fromstring(content[: found.start()] + content[found.end() :] if found else content)
    header = np.dtype(TYPES[root.get("header_type", "UInt32")])
    result = {}
    for section in root.iter():
        for item in (*section.findall("DataArray"), *section.findall("Array")):
            dtype = np.dtype(TYPES[item.get("type")])
            if item.get("format") == "ascii":
                values = np.array(item.text.split()).astype(np.int64 if item.tag == "Array" else dtype).astype(dtype)
            else:
                inline = item.get("format") == "binary"
                data = item.text.strip().encode() if inline else appended[int(item.get("offset")) :]
                values = np.frombuffer(
                    _bytes(data, inline or encoding == b"base64", header, root.get("compressor")), dtype
                )
            if item.tag == "Array":  # texts, each ended by a zero
                values = np.array(
                    [text.decode(errors="surrogateescape") for text in values.tobytes().split(b"\0")[:-1]]
                )
            width = int(item.get("NumberOfComponents", 1))
            result[section.tag, item.get("Name")] = values.reshape(-1, width) if width > 1 else values
    return result


def _bytes(data, is_base64, header, compressor):
    def take(start, count):
        """Bytes and what follows them; base64 begins anew after the header."""
        if not is_base64:
            return data[start : start + count], start + count
        letters = -(-count // 3) * 4
        return base64.b64decode(data[start : start + letters])[:count], start + letters

    if compressor is None:
        (size,) = np.frombuffer(take(0, header.itemsize)[0], header)
        whole = header.itemsize + int(size)
        return take(0, whole)[0][header.itemsize :]
    blocks = int(np.frombuffer(take(0, header.itemsize)[0], header)[0])
    head, start = take(0, (3 + blocks) * header.itemsize)
    sizes = np.frombuffer(head, header)[3:].astype(int)
    body, _ = take(start, sizes.sum())
    ends = np.cumsum(sizes)
    return b"".join(zlib.decompress(body[end - size : end]) for size, end in zip(sizes, ends, strict=True))
