"""Proper orthogonal decomposition of fields, its coefficients interpolated between samples: the map, and a control."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from pitgeo.controls.control import Control
from pitgeo.controls.grams import gram, principal
from pitgeo.controls.inputs import FittedModule, SampleInputs
from pitgeo.controls.kernels import KERNELS, Kernel, Recipe, fit_lengths
from pitgeo.controls.selection import best, out_of_fold, recipes
from pitgeo.controls.training_set import TrainingSet
from pitgeo.data import PointData

log = logging.getLogger(__name__)

Interpolation = Literal["auto", "rbf", "gp"]
Logs = Literal["auto", "none", "all"]
Candidate = tuple[bool, Tensor, Recipe]
"""Whether logarithms are taken, the length of every number, and the interpolation."""

PROCESSES: tuple[tuple[Kernel, int], ...] = (("matern", 0), ("gaussian", 0), ("matern", 1), ("gaussian", 1))
"""Covariances of Gaussian processes, and degrees of their polynomials."""


class PODMap(FittedModule):
    r"""From input values on one mesh to fields on it, found in closed form.

    .. math:: \hat{y}_k(p) = \bar{y}_k(p) + \sum_{r=1}^{R_k} a_{kr}(z) \, \phi_{kr}(p)

    The :math:`\phi_{kr}` are the principal components of target channel :math:`k` over the training samples, and the
    coefficients :math:`a_{kr}` are interpolated (:class:`~pitgeo.controls.kernels.Recipe`) between those of the
    training samples, in the numbers :math:`z` that tell samples apart (:class:`~pitgeo.controls.inputs.SampleInputs`).
    What is not given is chosen by how well training samples are predicted that are left out. All that was found is in
    buffers.

    Args:
        in_channels: Input values of a point.
        rank: Components of every channel; ``None`` for as many as predict best.
        interpolation: ``"rbf"``: radial basis functions; ``"gp"``: a Gaussian process with a length for every number;
            ``"auto"``: what predicts best.
        log: Logarithms of the numbers of the mesh that are positive: ``"none"``, of ``"all"``, or ``"auto"``, what
            predicts best.

    Shapes:
        - **x** ``[S, N, C]``; **output** ``[S, M, K]``.

    Reference:
        Berkooz, Holmes and Lumley, The proper orthogonal decomposition in the analysis of turbulent flows, 1993; Xiao
        et al., Non-intrusive reduced-order modelling of the Navier-Stokes equations based on RBF interpolation, 2015;
        Guo and Hesthaven, Reduced order modeling for nonlinear structural analysis using Gaussian process regression,
        2018.

    Example:
        >>> import torch
        >>> place = torch.linspace(0, 1, 9).reshape(1, 9, 1)
        >>> load = torch.linspace(1, 2, 8).reshape(8, 1, 1)
        >>> x, y = load.expand(8, 9, 1), load**2 * place
        >>> pod = PODMap(1, interpolation="rbf")
        >>> pod.fit(x, y)
        >>> bool((pod(torch.full((1, 9, 1), 1.55)) - 1.55**2 * place).abs().max() < 0.02)
        True
    """

    recipe_values: Tensor
    lengths: Tensor
    places: Tensor
    coefficients: Tensor
    ranks: Tensor
    mean: Tensor
    basis: Tensor
    error: Tensor

    def __init__(
        self,
        in_channels: int,
        rank: int | None = None,
        interpolation: Interpolation = "auto",
        log: Logs = "auto",
    ) -> None:
        super().__init__()
        self.rank, self.interpolation, self.log = rank, interpolation, log
        self.inputs = SampleInputs(in_channels)
        self.register_buffer("recipe_values", torch.zeros(4, dtype=torch.float64))
        for name, shape in (("lengths", (0,)), ("places", (0, 0)), ("coefficients", (0, 0))):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("ranks", torch.zeros(0, dtype=torch.long))
        self.register_buffer("mean", torch.zeros(0, 0, dtype=torch.float64))
        self.register_buffer("basis", torch.zeros(0, 0))
        self.register_buffer("error", torch.zeros((), dtype=torch.float64))

    @property
    def is_fitted(self) -> bool:
        """Whether there is anything to predict with."""
        return self.mean.numel() > 0

    @property
    def recipe(self) -> Recipe:
        """How coefficients are interpolated."""
        kernel, degree, nugget, length = self.recipe_values.tolist()
        return Recipe(KERNELS[int(kernel)], int(degree), nugget, length)

    def fit(self, x: Tensor, y: Tensor) -> None:
        """Find everything on training samples.

        Args:
            x: Input values ``[S, N, C]``.
            y: Targets ``[S, M, K]``.

        Raises:
            ValueError: If the inputs are the same in all samples.
        """
        with torch.no_grad():
            self._fit(x, y)

    def left_out(self, x: Tensor, y: Tensor) -> Tensor:
        """Predictions ``[S, M, K]`` for the samples of :meth:`fit`, each from others by what was chosen on all."""
        with torch.no_grad():
            coefficients = self._true_coefficients(y)
            found = out_of_fold(self.recipe, self.places, coefficients)
            if found is None:
                raise ValueError(
                    f"Expected enough training samples to leave some out (got {len(x)}); take more, or another model"
                )
            return self._fields(found).to(y.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Values ``[S, M, K]`` for input values ``[S, N, C]``."""
        if not self.is_fitted:
            raise ValueError(
                "Expected a POD that was fitted to samples (got a new one); call fit, or load a checkpoint"
            )
        z = self.inputs(x) / self.lengths
        return self._fields(self.recipe.apply(z, self.places, self.coefficients)).to(x.dtype)

    def describe(self) -> str:
        """What was chosen, in a few words."""
        recipe, ranks = self.recipe, sorted({*self.ranks.tolist()})
        modes = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        how = {"none": "polynomials", "linear": "ridge regression"}.get(recipe.kernel, f"kernel {recipe.kernel}")
        logs = f", logarithms of {count} inputs" if (count := int(self.inputs.is_log.sum())) else ""
        return f"{modes} modes, {how} of degree {recipe.degree}{logs}"

    def _fit(self, x: Tensor, y: Tensor) -> None:
        self.inputs.find(x)
        if not bool((self.inputs.is_number | self.inputs.is_field).any()):
            raise ValueError(
                "Expected inputs that tell samples apart with a POD (got none that differ between samples); name some "
                "among the inputs of the data, or take a model that looks at the mesh, such as 'pit'"
            )
        self.mean = y.double().mean(0)
        pairs = [self._modes(y, channel) for channel in range(y.shape[2])]
        modes = [coefficients for coefficients, _ in pairs]
        sizes = torch.stack([y[:, :, k].double().square().sum(1).sqrt() for k in range(y.shape[2])], 1)
        usual = sizes.square().mean(0).sqrt()
        sizes = torch.where(sizes < 1e-3 * usual, usual, sizes).clamp(min=1e-30)  # some are at rest
        places = self._places(x)
        candidates = self._candidates(places, modes)
        found_at = [(places[logs] / lengths, recipe) for logs, lengths, recipe in candidates]
        number, score = best(found_at, modes, sizes, self.rank)
        logs, self.lengths, recipe = candidates[number]
        self.inputs.fit(x, logs)
        self.places = found_at[number][0]
        self.error = torch.tensor(score.error, dtype=torch.float64)
        self.ranks = torch.tensor([min(r, m.shape[1]) for r, m in zip(score.ranks, modes, strict=True)])
        basis = [
            (y[:, :, k].double() - self.mean[:, k]).t() @ vectors[:, :rank]
            for k, ((_, vectors), rank) in enumerate(zip(pairs, self.ranks.tolist(), strict=True))
        ]
        self.basis = torch.cat(basis, 1).float().contiguous()
        kept = torch.cat([part[:, :rank] for part, rank in zip(modes, self.ranks.tolist(), strict=True)], 1)
        found = recipe.solve(self.places, kept)
        if found is None:
            raise ValueError(
                f"Expected training samples that a POD can be interpolated between (got {len(x)}, some perhaps with "
                f"equal inputs); take more samples, or set model.pod.interpolation = 'gp'"
            )
        self.coefficients = found
        numbers = [KERNELS.index(recipe.kernel), recipe.degree, recipe.nugget, recipe.length]
        self.recipe_values = torch.tensor(numbers, dtype=torch.float64)

    def _modes(self, y: Tensor, channel: int) -> tuple[Tensor, Tensor]:
        return principal(gram(y[:, :, channel], self.mean[:, channel]))

    def _places(self, x: Tensor) -> dict[bool, Tensor]:
        """The numbers ``[S, P]`` of the samples, with and without logarithms, as far as that is to be tried."""
        choices = {"none": [False], "all": [True], "auto": [False, True]}[self.log]
        found = {}
        for logs in choices if self.inputs.can_have_logs(x) else [False]:
            self.inputs.fit(x, logs)
            found[logs] = self.inputs(x)
        return found

    def _candidates(self, places: Mapping[bool, Tensor], modes: Sequence[Tensor]) -> list[Candidate]:
        """What to choose among; a mean comes last."""
        found: list[Candidate] = []
        for logs, z in places.items():
            ones = torch.ones(z.shape[1], dtype=z.dtype)
            if self.interpolation != "gp":
                found += [(logs, ones, recipe) for recipe in recipes(z, self.inputs.has_fields)]
            if self.interpolation != "rbf" and z.shape[1] <= 32:
                energies = torch.cat(list(modes), 1)
                order = energies.square().sum(0).argsort(descending=True, stable=True)
                for kernel, degree in PROCESSES:
                    lengths = fit_lengths(z, energies[:, order], kernel, degree)
                    if lengths is not None:
                        found.append((logs, lengths[0], Recipe(kernel, degree, lengths[1])))
        logs, z = next(iter(places.items()))
        return [*found, (logs, torch.ones(z.shape[1], dtype=z.dtype), Recipe("none", 0, 1.0))]

    def _true_coefficients(self, y: Tensor) -> Tensor:
        parts = [
            (y[:, :, k].double() - self.mean[:, k]) @ basis
            for k, basis in enumerate(self.basis.double().split_with_sizes(self.ranks.tolist(), 1))
        ]
        return torch.cat(parts, 1)

    def _fields(self, coefficients: Tensor) -> Tensor:
        ranks = self.ranks.tolist()
        pairs = zip(
            coefficients.split_with_sizes(ranks, 1), self.basis.double().split_with_sizes(ranks, 1), strict=True
        )
        return torch.stack([part @ basis.t() for part, basis in pairs], -1) + self.mean


NAMES = {"rbf": "POD with radial basis functions", "gp": "POD with Gaussian processes"}


class POD(Control):
    """Principal components of the fields on one mesh, by an interpolation between the inputs of training samples.

    Where inputs are fields, these are principal components too. Of a series, it is the change of the state.

    Args:
        interpolation: ``"rbf"`` or ``"gp"``.
        has_fields: Whether inputs are fields.

    Example:
        >>> import torch
        >>> from pitgeo.controls import TrainingSet
        >>> from pitgeo.data import PointData
        >>> points = torch.rand(6, 2)
        >>> samples = [PointData(pos=points, x=torch.full((6, 1), q), y=q * points[:, :1]) for q in (1.0, 2.0, 3.0)]
        >>> training = TrainingSet.choose(samples)
        >>> control = POD()
        >>> control.fit(TrainingSet.choose(samples))
        >>> torch.allclose(control.predict(samples[1]), samples[1].y, atol=1e-3)
        True
    """

    def __init__(self, interpolation: Literal["rbf", "gp"] = "rbf", has_fields: bool = False) -> None:
        self.interpolation = interpolation
        self.name = "POD of inputs and targets" if has_fields else NAMES[interpolation]

    def fit(self, training: TrainingSet) -> None:
        """Find components and interpolation."""
        self.state = training.state
        self.model = None if training.state or training.horizon > 1 else "pod"
        self.map = PODMap(training.samples[0].x.shape[1], interpolation=self.interpolation)
        self.map.fit(training.x, training.y())

    def predict(self, sample: PointData) -> Tensor:
        """The interpolated field."""
        with torch.no_grad():
            values: Tensor = self.map(sample.x.unsqueeze(0))[0]
        return values + sample.x[:, -self.state :] if self.state else values
