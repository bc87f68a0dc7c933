"""The largest value of a field, true and predicted, and the distance between their places."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pitgeo.graphs.trees import kd_tree

Values = NDArray[np.float64]


class Peak(NamedTuple):
    """The largest value of a sample.

    Args:
        truth: The largest true value.
        prediction: The largest predicted value.
        distance: Distance between their places; ``None`` if it is not defined.
        why: The reason if it is not defined.
    """

    truth: float
    prediction: float
    distance: float | None
    why: str


def find_peak(truth: Values, prediction: Values, pos: Values | None = None) -> Peak:
    """The largest values of a field. If several points have them, the smallest distance counts.

    Args:
        truth: True values ``[n]``.
        prediction: Predicted values ``[n]``.
        pos: Positions ``[n, D]``; ``None`` if they are not known.

    Example:
        >>> pos = np.array([[0.0], [1.0], [3.0]])
        >>> find_peak(np.array([1.0, 2.0, 5.0]), np.array([1.0, 4.5, 3.0]), pos)
        Peak(truth=5.0, prediction=4.5, distance=2.0, why='')
    """
    true, predicted = float(truth.max()), float(prediction.max())
    if pos is None:
        return Peak(true, predicted, None, "positions are not known")
    for values, name in ((truth, "truth"), (prediction, "prediction")):
        if float(values.min()) == float(values.max()):
            return Peak(true, predicted, None, f"the {name} is the same everywhere in a sample")
    distances = kd_tree(pos[truth == true]).query(pos[prediction == predicted])[0]
    return Peak(true, predicted, float(distances.min()), "")
