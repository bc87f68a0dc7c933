"""What data sets may offer, and what they need not."""

import pytest
import torch

from pitgeo.data import PointData
from pitgeo.data.samples import Samples


class Least(Samples):
    """As little as a data set can be."""

    def __init__(self, samples):
        self.all = list(samples)

    def __len__(self):
        return len(self.all)

    def __getitem__(self, index):
        return Least(self.all[index]) if isinstance(index, slice) else self.all[index]

    def with_transform(self, transform, progress=False):
        return Least(map(transform, self.all))


def test_a_data_set_has_nothing_that_it_does_not_say():
    samples = Least(PointData(pos=torch.rand(4, 2), y=torch.rand(4, 1), sample_id=number) for number in range(3))
    for ability in (samples.name, samples.mesh, samples.polygons, samples.case):
        assert ability(0) is None
    assert samples.ranges() is samples.typical() is samples.mesh_sizes() is samples.table is samples.window is None
    assert samples.targets == samples.drawn == () and samples.steps == 0
    assert not samples.physical and not samples.keeps_samples
    assert [int(sample.sample_id) for sample in samples] == [0, 1, 2] and len(samples[1:]) == 2


def test_an_iteration_ends_where_numbers_beyond_the_last_are_taken():
    class Endless(Least):
        def __getitem__(self, index):
            return super().__getitem__(index if isinstance(index, slice) else index % len(self))

    assert len(list(Endless([PointData(pos=torch.rand(4, 2))] * 3))) == 3


@pytest.mark.parametrize("missing", ["__len__", "__getitem__", "with_transform"])
def test_what_a_data_set_must_supply(missing):
    methods = {name: getattr(Least, name) for name in ("__len__", "__getitem__", "with_transform") if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Lacking", (Samples,), methods)()
