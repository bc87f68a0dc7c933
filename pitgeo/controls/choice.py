"""Which controls a data set can be compared with."""

from __future__ import annotations

from pitgeo.controls.control import Control
from pitgeo.controls.local import LocalRegression
from pitgeo.controls.pod import POD
from pitgeo.controls.simple import MeanField, NearestCase, Persistence
from pitgeo.controls.training_set import TrainingSet


def controls_for(training: TrainingSet) -> list[Control]:
    """The controls, not yet fitted, that apply to a training set.

    These are the mean field and the nearest case; persistence, of time series; a POD, where all samples share a mesh
    and differ in their inputs (with radial basis functions and with Gaussian processes, if these are numbers of the
    mesh); and a local regression, where meshes differ.

    Example:
        >>> import torch
        >>> from pitgeo.data import PointData
        >>> samples = [PointData(pos=torch.rand(n, 2), x=torch.rand(n, 1), y=torch.rand(n, 1)) for n in (3, 4)]
        >>> [control.name.split(" (")[0] for control in controls_for(TrainingSet.choose(samples))]
        ['the mean training field', 'the nearest training case', 'a local regression']
    """
    found: list[Control] = [MeanField()]
    if training.state or training.horizon > 1:
        found.append(Persistence())
    found.append(NearestCase())
    if not training.is_shared:
        return [*found, LocalRegression()]
    differing = training.differing_channels
    if not bool(differing.any()):
        return found
    has_fields = bool((differing & ~training.number_channels).any())
    found.append(POD("rbf", has_fields))
    return found if has_fields else [*found, POD("gp")]
