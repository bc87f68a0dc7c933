"""Two-dimensional Navier-Stokes in vorticity form on the periodic unit square, by a pseudo-spectral method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import fft

Floats = NDArray[np.floating[Any]]


class VorticitySolver:
    r"""March the vorticity in time with Fourier modes in space and an integrating factor for the viscosity.

    .. math::
        \partial_t \omega + u \cdot \nabla \omega = \nu \Delta \omega + f, \qquad
        u = (\partial_y \psi, -\partial_x \psi), \quad -\Delta \psi = \omega

    The first axis of a field is x, the second y. Its mean is not kept: on a periodic square it can only be zero.
    Modes up to a third of the grid size are kept, so products of two fields have no aliasing errors (2/3 rule). With
    a and b for the components of u, the nonlinear term takes two transforms each way:

    .. math::
        -u \cdot \nabla \omega = (\partial_y^2 - \partial_x^2) (a b) + \partial_x \partial_y (a^2 - b^2)

    In time it is the fourth-order Runge-Kutta method for :math:`e^{\nu |k|^2 t} \hat \omega_k`. In single precision the
    state itself and its decay are double all the same: only what is added in a step is single. Otherwise the factors
    :math:`e^{-\nu |k|^2 \tau}`, so close to 1, would change the viscosity felt by large scales by a tenth of a percent.

    Args:
        size: Points along each axis, an even number.
        viscosity: The kinematic viscosity.
        step: The time step; stable up to about 4 / (pi ``size``) over the largest |a| + |b|.
        forcing: What is added to the rate of change, ``[size, size]``; ``None`` for nothing.
        dtype: Number type of the transforms, float32 or float64.

    Raises:
        ValueError: If a number is out of range or the forcing has another shape.

    Reference:
        Canuto, Hussaini, Quarteroni and Zang, "Spectral methods", 2007 (2/3 rule, integrating factor); Basdevant,
        "Technical improvements for direct numerical simulation of homogeneous three-dimensional turbulence", 1983
        (the nonlinear term).
    """

    def __init__(
        self,
        size: int = 128,
        viscosity: float = 1e-4,
        step: float = 0.01,
        forcing: Floats | None = None,
        dtype: DTypeLike = np.float32,
    ) -> None:
        if size < 4 or size % 2:
            raise ValueError(f"Expected 'size' to be an even number from 4 on (got {size})")
        if not 0 <= viscosity < np.inf:
            raise ValueError(f"Expected 'viscosity' to be at least 0 (got {viscosity})")
        if not 0 < step < np.inf:
            raise ValueError(f"Expected 'step' to be positive (got {step})")
        real = np.dtype(dtype)
        if real not in (np.float32, np.float64):
            raise ValueError(f"Expected 'dtype' to be float32 or float64 (got {real})")
        self.size, self.viscosity, self.step = size, viscosity, step
        compl = np.result_type(real, np.complex64)
        self.modes = modes = (size - 1) // 3 + 1  # 0 to a third of the size, along the second axis

        index = fft.fftfreq(size, 1 / size)
        kept = (np.abs(index) < modes)[:, None] & np.ones(modes, bool)
        kept[0, 0] = False
        self._kept = kept
        kx, ky = 2 * np.pi * index[:, None], 2 * np.pi * np.arange(modes)
        square = kx**2 + ky**2
        to_stream = np.divide(1, square, out=np.zeros_like(square), where=kept)
        to_velocity = np.stack([1j * ky * to_stream, -1j * kx * to_stream])
        decay = np.exp(-viscosity * step / 2 * square) * kept
        self._to_velocity = to_velocity.astype(compl)
        self._from_product = (step * (kx**2 - ky**2) * kept).astype(real)  # of the spectrum of a b
        self._from_difference = (step * kx * ky * kept).astype(real)  # of (b + a)(b - a)
        self._decay, self._whole_decay = decay.astype(real), decay**2
        self._forcing = np.zeros_like(decay, compl)
        if forcing is not None:
            self._forcing = (step * self._spectrum(forcing, "forcing")).astype(compl)

        self._state = np.zeros((size, modes), np.complex128)
        self._start, self._decayed, self._stage, self._part = (np.empty((size, modes), compl) for _ in range(4))
        self._slopes = np.empty((4, size, modes), compl)
        self._velocity = np.empty((2, size, modes), compl)
        self._padded = np.zeros((2, size, size // 2 + 1), compl)
        self._products = np.empty((2, size, size), real)

    def snapshots(self, vorticity: Floats, count: int, interval: float = 1.0) -> Iterator[NDArray[np.float64]]:
        """The vorticity at ``interval``, ``2 interval``, ... ``count interval``, each ``[size, size]``.

        Args:
            vorticity: Where to start, ``[size, size]``.
            count: How many.
            interval: Time between two, a multiple of the time step.

        Raises:
            ValueError: If the interval is no multiple of the step, or the vorticity has another shape.
            ArithmeticError: If the solution grows without bounds: the time step is too long.
        """
        steps = round(interval / self.step)
        if steps < 1 or abs(steps * self.step - interval) > 1e-9 * interval:
            raise ValueError(f"Expected 'step' to divide {interval:g}, the time between snapshots (got {self.step})")
        self._state[...] = self._spectrum(vorticity, "vorticity")
        for number in range(count):
            with np.errstate(over="ignore", invalid="ignore"):  # found just below
                for _ in range(steps):
                    self._advance()
            if not np.isfinite(self._state).all():
                raise ArithmeticError(
                    f"Expected a finite solution at t = {(number + 1) * interval:g} (got NaN or infinity); the time "
                    f"step {self.step:g} is too long"
                )
            yield self._field(self._state)

    def nonlinear(self, vorticity: Floats) -> Floats:
        """The term ``-u . grad(omega)``, ``[size, size]``."""
        spectrum = self._spectrum(vorticity, "vorticity").astype(self._start.dtype)
        self._rate(spectrum, self._stage)
        return self._field((self._stage - self._forcing) / self.step)

    def velocity(self, vorticity: Floats) -> Floats:
        """The two components of the velocity, ``[2, size, size]``."""
        return self._field(self._to_velocity * self._spectrum(vorticity, "vorticity"))

    def _advance(self) -> None:
        """One time step of ``self._state``; a slope is a rate of change times the step."""
        state, start, decayed, stage = self._state, self._start, self._decayed, self._stage
        first, second, third, fourth = self._slopes
        start[...] = state
        np.multiply(start, self._decay, out=decayed)
        self._rate(start, first)
        first *= self._decay
        np.multiply(first, 0.5, out=stage)
        stage += decayed
        self._rate(stage, second)
        np.multiply(second, 0.5, out=stage)
        stage += decayed
        self._rate(stage, third)
        np.add(third, decayed, out=stage)
        stage *= self._decay
        self._rate(stage, fourth)
        second += third
        second *= 2
        first += second
        first *= self._decay
        first += fourth
        first *= 1 / 6
        state *= self._whole_decay
        state += first

    def _rate(self, spectrum: NDArray[Any], out: NDArray[Any]) -> None:
        """The time step times (nonlinear term + forcing)."""
        modes, padded, products = self.modes, self._padded, self._products
        np.multiply(self._to_velocity, spectrum, out=self._velocity)
        padded[..., :modes] = fft.ifft(self._velocity, axis=-2, overwrite_x=True)
        velocity = np.asarray(fft.irfft(padded, self.size, axis=-1))
        np.multiply(velocity[0], velocity[1], out=products[0])
        np.subtract(velocity[1], velocity[0], out=products[1])
        velocity[0] += velocity[1]
        products[1] *= velocity[0]
        spectra = fft.fft(fft.rfft(products, axis=-1)[..., :modes], axis=-2, overwrite_x=True)
        np.multiply(spectra[0], self._from_product, out=out)
        np.multiply(spectra[1], self._from_difference, out=self._part)
        out += self._part
        out += self._forcing

    def _spectrum(self, field: Floats, name: str) -> NDArray[np.complex128]:
        field = np.asarray(field, np.float64)
        if field.shape != (self.size, self.size):
            raise ValueError(f"Expected '{name}' to have shape {(self.size, self.size)} (got {field.shape})")
        return np.asarray(fft.rfft2(field)[:, : self.modes] * self._kept)

    def _field(self, spectrum: NDArray[Any]) -> NDArray[np.float64]:
        padding = [(0, 0)] * (spectrum.ndim - 1) + [(0, self.size // 2 + 1 - self.modes)]
        return np.asarray(fft.irfft2(np.pad(spectrum, padding), (self.size, self.size)))
