"""Numbers in texts that people give."""

from __future__ import annotations

import math


def finite(text: str) -> float | None:
    """The finite number that a text is; ``None`` if it is none.

    Example:
        >>> finite("2e8"), finite("nan"), finite("two")
        (200000000.0, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
