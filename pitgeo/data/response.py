"""What is known of a model's targets: that they are linear in some numbers of a mesh, or follow from other targets."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from pitgeo.data.fields import FieldTable
from pitgeo.data.formula import Formula
from pitgeo.data.mesh_numbers import at_points, means, numbers_of, sample_numbers
from pitgeo.data.point_data import PointData

MOST = 4.0
"""A size is predicted as at most so many standard deviations, of its logarithm, from the mean one."""


class Response(nn.Module):
    r"""From a model's output channels to the targets, where these are linear in loads, or follow from other targets.

    Targets that are linear in the components :math:`q_j` of some numbers of the mesh are superposed from the responses
    to each, of which the model predicts a field :math:`A_j` and, as a mean over the points, a size :math:`m_j`:

    .. math::
        y = \sigma \sum_j \frac{q_j}{\bar q_j} \, e^{s\, m_j} A_j

    The numbers are no inputs of the model, so a prediction is exactly linear in them. :math:`\bar q_j` is their root
    mean square over the training samples. :math:`\log \sigma` and :math:`s` are mean and standard deviation, over
    these, of the logarithm of a target's root mean square for a load of size 1: sizes may differ by decades between
    meshes. The scaling of such a target has no shift.

    Other targets are formulas of the predicted ones, point by point: ``{"von_mises": "von_mises(stress)"}``. The model
    has no channels for these; the loss counts them like all targets.

    Args:
        linear_in: The numbers: inputs of the whole mesh. All targets that are no formulas are linear in them.
        derived: Formulas of targets by their names, of other targets and of numbers of the whole mesh that are inputs.
        table: Inputs and targets.

    Attributes:
        loads: :math:`\bar q_j`, ``[J]``.
        spread: :math:`s` of every target that is no formula, ``[F]``.

    Raises:
        ValueError: If a name is not known, a formula does not fit its target, or no target is left to predict.
    """

    loads: Tensor
    spread: Tensor

    def __init__(self, linear_in: Sequence[str], derived: Mapping[str, str], table: FieldTable) -> None:
        super().__init__()
        numbers = numbers_of(table)
        owners = {field.name: numbers[field.source] for field in table.inputs if field.source in numbers}
        if wrong := [name for name in linear_in if name not in owners]:
            raise ValueError(
                f"Expected scaling.linear_in to name numbers of the whole mesh that are inputs, "
                f"{', '.join(owners) or 'of which there is none'} (got {wrong[0]!r}); name it in data.meshes.inputs"
            )
        self.formulas = {name: Formula(text) for name, text in derived.items()}
        ends = [0]
        for target in table.targets:
            ends.append(ends[-1] + target.channels)
        names = [target.name for target in table.targets]
        self.channels = {name: list(range(*pair)) for name, pair in zip(names, pairwise(ends), strict=True)}
        self.numbers = numbers
        for name, formula in self.formulas.items():
            self._check(name, formula, table)
        self.own = [name for name in names if name not in self.formulas]
        if not self.own:
            raise ValueError(f"Expected a target that is not in scaling.derived (got formulas for all, {names})")
        self.is_local = any(field.within for field in table.inputs)
        self.load_channels = [channel for name in linear_in for channel in owners[name]]
        self.own_channels = [channel for name in self.own for channel in self.channels[name]]
        self.register_buffer("loads", torch.ones(len(self.load_channels)))
        self.register_buffer("spread", torch.zeros(len(self.own) if linear_in else 0))

    @property
    def out_channels(self) -> int:
        """Output channels of the model: fields and sizes for every load, or the targets that are no formulas."""
        count = len(self.load_channels)
        return len(self.own_channels) if count == 0 else count * (len(self.own_channels) + len(self.own))

    def fit(self, samples: Iterable[tuple[Tensor, Tensor, Tensor | None]]) -> tuple[Tensor, Tensor]:
        r"""Find the sizes of loads and responses on the training samples.

        Args:
            samples: Of every sample the input values and targets, divided by their references, in their frame, and
                where each target is known (``None`` for everywhere).

        Returns:
            Mean and standard deviation ``[K]`` of the scaling of linear targets; NaN for others.
        """
        pairs = list(samples)
        q = torch.stack([x[0, self.load_channels].double() for x, _, _ in pairs])
        mean = torch.full((len(pairs[0][1][0]),), torch.nan)
        std = mean.clone()
        if not self.load_channels:
            return mean, std
        sizes = q.square().mean(0).sqrt()
        self.loads.copy_(torch.where(sizes > 0, sizes, 1.0))
        q = torch.linalg.vector_norm(q / self.loads.double(), dim=-1)
        for number, name in enumerate(self.own):
            part = self.channels[name]
            logs = []
            for load, (_, y, mask) in zip(q, pairs, strict=True):
                values = y[:, part] if mask is None else y[mask[:, part[0]]][:, part]
                size = values.double().square().mean().sqrt() / load
                if bool(torch.isfinite(size)) and size > 0:  # a mesh at rest has none
                    logs.append(size.log())
            found = torch.stack(logs) if logs else q.new_zeros(1)
            mean[part], std[part] = 0.0, float(found.mean().exp())
            self.spread[number] = float(found.std(correction=0))
        return mean, std

    def loads_of(self, data: PointData, sizes: Tensor | None) -> Tensor:
        """The loads of every sample in units of their typical size, ``[B, J]``.

        Args:
            data: The samples, in their frame.
            sizes: What their input values are divided by; ``None`` for nothing.
        """
        found = copy.copy(data)
        found.x = data.x if sizes is None else data.x / sizes
        return sample_numbers(found, self.is_local)[:, self.load_channels] / self.loads

    def without_loads(self, x: Tensor) -> Tensor:
        """Scaled input values with zeros in place of the loads."""
        if not self.load_channels:
            return x
        kept = torch.ones(x.shape[-1], dtype=torch.bool, device=x.device)
        kept[self.load_channels] = False
        return torch.where(kept, x, 0.0)

    def superposed(self, values: Tensor, loads: Tensor, data: PointData, rows: Tensor | None) -> Tensor:
        """The targets in the model's units ``[m, K]`` or ``[B, m, K]``; zeros where they are formulas.

        Args:
            values: The model's output.
            loads: What :meth:`loads_of` gave.
            data: The samples.
            rows: Numbers of the output points of the values; ``None`` for all.
        """
        count = len(self.load_channels)
        if count:
            counts = [len(self.channels[name]) for name in self.own]
            fields, sizes = values.split([count * sum(counts), count * len(counts)], -1)
            sizes = MOST * torch.tanh(means(sizes, data, rows) / MOST)
            fields = fields.unflatten(-1, (count, -1))
            sizes = (self.spread * sizes.unflatten(-1, (count, -1))).exp()
            weights = at_points(loads, data, "output", rows)[..., None] * sizes
            wide = weights.repeat_interleave(torch.tensor(counts, device=weights.device), -1, output_size=sum(counts))
            values = (wide * fields).sum(-2)
        result = values.new_zeros((*values.shape[:-1], sum(map(len, self.channels.values()))))
        return result.index_copy(-1, torch.tensor(self.own_channels, device=values.device), values)

    def completed(self, values: Tensor, data: PointData, rows: Tensor | None) -> Tensor:
        """Targets in physical units, with those that are formulas.

        Args:
            values: The targets.
            data: The samples, as they were given.
            rows: Numbers of the output points of the values; ``None`` for all.
        """
        if not self.formulas:
            return values
        own = at_points(sample_numbers(data, self.is_local), data, "output", rows)
        known = {name: own[..., places] for name, places in self.numbers.items()}
        known |= {name: values[..., self.channels[name]] for name in self.own}
        result = values.clone()
        for name, formula in self.formulas.items():
            found = formula({key: known[key] for key in formula.names})
            result[..., self.channels[name][0]] = found
        return result

    def _check(self, name: str, formula: Formula, table: FieldTable) -> None:
        key = f"scaling.derived.{name}"
        others = {one: part for one, part in self.channels.items() if one not in self.formulas}
        fields = {field.name: field for field in table.targets}
        if name not in fields:
            raise ValueError(f"Expected scaling.derived to name targets, among {sorted(fields)} (got {name!r})")
        if fields[name].channels != 1 or fields[name].place == "mesh":
            raise ValueError(f"Expected {key} to be for a field of one component (got {fields[name].labels})")
        wide = {**self.numbers, **others}
        if missing := sorted(formula.names - wide.keys()):
            raise ValueError(
                f"Expected {key} to be made of other targets, {', '.join(others) or 'of which there is none'}, and "
                f"numbers of the whole mesh that are inputs (got {missing[0]!r} in {formula.text!r})"
            )
        if apart := sorted(one for one in formula.names & fields.keys() if fields[one].place != fields[name].place):
            raise ValueError(
                f"Expected {key} to be made of targets of {fields[name].place}s, as {name!r} is one (got "
                f"{apart[0]!r} of a {fields[apart[0]].place})"
            )
        for function, one in formula.calls:
            if function == "von_mises" and len(wide[one]) != 6:
                raise ValueError(
                    f"Expected the six components xx, yy, zz, xy, yz, xz of a stress in {key} (got {one!r} of "
                    f"{len(wide[one])} components)"
                )
        if many := sorted(one for one in formula.scalars if len(wide[one]) > 1):
            raise ValueError(
                f"Expected {key} to be made of single numbers (got {many[0]!r} of {len(wide[many[0]])} components in "
                f"{formula.text!r}); write norm({many[0]}) or von_mises({many[0]})"
            )
