"""The Position-induced Transformer (Chen and Wu, ICML 2024) in plain torch: one file to read, or to port.

Dense matrices, one sample at a time. With ``moments`` it is pitgeo's default network, without them the paper's. Its
parameters have pitgeo's names, so ``load_state_dict`` takes those of ``pitgeo.PiT``; the tests compare outputs and
gradients of both. In shapes: N sources, M targets, D axes, H heads, C values of a head, K of them with moments.

    python examples/pit_reference.py    # learns to smooth fields, about a minute
"""

import math
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

POSITIVE: dict[str, Any] = {  # the trained number of a head -> lambda > 0
    "square": torch.square,
    "tan": lambda raw: raw.clamp(0, math.pi / 2 * (1 - 1e-6)).tan(),  # clamp the parameter after every step, too
    "sine_tan": lambda raw: (math.pi / 4 * (1 - 1e-7) * (1 + raw.sin())).tan(),
}


def steps(targets: Tensor, sources: Tensor, period: tuple[float, ...] = ()) -> Tensor:
    """Steps [M, N, D] from each target to each source; along an axis with a period (not 0), to its nearest image."""
    step = sources - targets.unsqueeze(1)
    length = step.new_tensor(period or [0.0] * step.shape[-1])
    return step - length * (step / length.clamp(min=1e-30)).round()


def farthest_points(pos: Tensor, number: int) -> Tensor:
    """Latent points [number, D]: the point farthest from the mean, then always the one farthest from all chosen."""
    chosen = [pos[(pos - pos.mean(0)).square().sum(1).argmax()]]
    while len(chosen) < number:
        chosen.append(pos[torch.cdist(pos, torch.stack(chosen)).min(1).values.argmax()])
    return torch.stack(chosen)


class PositionAttention(nn.Module):
    """y_i^h = sum_j softmax_j(-lambda_h |p_j - p_i|^2 / divisor) W^h x_j, over the quantile of the nearest sources.

    Without a quantile it is global. With moments, matrices times sum_j alpha_ij (p_j - p_i) / length_h v_j are added.
    """

    def __init__(
        self, c: int, heads: int, quantile: float | None = None, moments: int = 0, apart: bool = False,
        period: tuple[float, ...] = (), divisor: float = 1.0, form: str = "square",
    ) -> None:  # fmt: skip
        super().__init__()
        self.heads, self.quantile, self.apart, self.form = heads, quantile, apart, form
        self.period, self.divisor, self.moments = period, divisor, cast(Any, None)
        self.value = nn.Linear(c, c, bias=False)
        self.scale = nn.ParameterDict({"raw": torch.rand(heads)})
        if moments:
            parts = sum(2 if length else 1 for length in period or [0] * moments)
            self.k = max(1, c // heads // max(2, parts))
            weight = nn.init.kaiming_normal_(torch.empty(c, (1 + apart) * moments * heads * self.k))
            if apart:
                weight[:, weight.shape[1] // 2 :] = 0
            self.moments = nn.ParameterDict({"weight": weight})

    def forward(self, x: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        """Values [N, c] at the sources to values [M, c] at the targets."""
        step = steps(targets, sources, self.period)
        squared = step.square().sum(-1)  # [M, N]
        lam = POSITIVE[self.form](self.scale["raw"])  # [H]
        logits = -lam.view(-1, 1, 1) * squared / self.divisor
        if self.quantile is not None:  # the floor(q (N - 1)) + 1 nearest sources, and all that tie with the last
            rank, distance = math.floor(self.quantile * (len(sources) - 1) + 1e-9), squared.detach().sqrt()
            rounding = 2 * torch.finfo(x.dtype).eps * torch.cat([targets, sources]).abs().max()
            logits = logits.masked_fill(distance > distance.sort(1).values[:, rank : rank + 1] + rounding, -torch.inf)
        weights = logits.softmax(-1)  # [H, M, N]: they never see the values
        value = self.value(x).unflatten(-1, (self.heads, -1))  # [N, H, C]
        out = torch.einsum("hmn,nhc->mhc", weights, value).flatten(1)
        return out if self.moments is None else out + self._firsts(weights, value, step, (self.divisor / lam).sqrt())

    def _firsts(self, weights: Tensor, value: Tensor, step: Tensor, length: Tensor) -> Tensor:
        for axis, period in enumerate(self.period):  # with a period a sine, since steps jump half a period away
            wave, here = 2 * math.pi / period if period else 0.0, torch.arange(step.shape[-1]) == axis
            step = torch.where(here, torch.sin(wave * step) / wave, step) if period else step
        chosen = value[..., : self.k]
        firsts = torch.einsum("hmn,mna,nhk->mahk", weights, step, chosen) / length.view(-1, 1)
        if self.apart:  # in the encoder: moments about the mean of the neighbours, and apart where that mean lies
            offset = torch.einsum("hmn,mna->mah", weights, step) / length
            constant = offset.unsqueeze(-1) * torch.einsum("hmn,nhk->mhk", weights, chosen).unsqueeze(1)
            firsts = torch.cat([firsts - constant, constant], 1)
        return linear(firsts.flatten(1), self.moments["weight"])


class Layer(nn.Module):
    """GELU(Att(U)), or a block: GELU(MLP(GELU(Att(U))) + Linear(U))."""

    def __init__(self, attention: PositionAttention, c: int, block: bool) -> None:
        super().__init__()
        self.attention, self.block = attention, block
        if block:
            self.mlp, self.linear = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.Linear(c, c)), nn.Linear(c, c)

    def forward(self, x: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        """From sources to targets; a block stays on one point set."""
        hidden = gelu(self.attention(x, sources, targets))
        return gelu(self.mlp(hidden) + self.linear(x)) if self.block else hidden


class PiT(nn.Module):
    """Input points -> latent points (encoder), among them (processor), -> output points (decoder).

    ``quantiles`` are those of encoder, decoder, and perhaps of one more block among the output points. ``blocks`` makes
    encoder and decoder whole blocks, on one point set. Positions lie in a box of side 1, values have deviation 1.
    """

    def __init__(
        self, c_in: int, c_out: int, c: int = 64, heads: int = 4, quantiles: tuple[float, ...] = (0.02, 0.02),
        layers: int = 4, moments: int = 2, blocks: bool = False, **metric: Any,
    ) -> None:  # fmt: skip
        super().__init__()

        def layer(quantile: float | None, block: bool, apart: bool = False) -> Layer:
            return Layer(PositionAttention(c, heads, quantile, moments, apart, **metric), c, block)

        self.lift = nn.Sequential(nn.Linear(c_in, c), nn.GELU())
        self.encoder = layer(quantiles[0], blocks, apart=bool(moments))
        self.processor = nn.ModuleList(layer(None, True) for _ in range(layers))
        self.decoder = layer(quantiles[1], blocks)
        self.output = layer(quantiles[2], True) if len(quantiles) == 3 else None
        self.head = nn.Sequential(nn.Linear(c, c), nn.GELU(), nn.Linear(c, c_out))

    def forward(self, x: Tensor, pos: Tensor, latent: Tensor, out: Tensor) -> Tensor:
        """From values at ``pos`` [N, D], by way of ``latent`` [L, D], to values at ``out`` [M, D]."""
        hidden = self.encoder(self.lift(torch.cat([pos, x], -1)), pos, latent)
        for block in self.processor:
            hidden = block(hidden, latent, latent)
        hidden = self.decoder(hidden, latent, out)
        return cast(Tensor, self.head(hidden if self.output is None else self.output(hidden, out, out)))


if __name__ == "__main__":
    model, waves = PiT(3, 1, quantiles=(0.05, 0.05)), math.pi * torch.cartesian_prod(*[torch.arange(1, 4.0)] * 2)
    for part in (part for part in model.modules() if isinstance(part, PositionAttention)):
        part.scale["raw"].data = torch.logspace(math.log10(20), 0, part.heads)  # lengths from 0.05 to 1
    optimizer = torch.optim.Adam(model.parameters())
    for number in range(2001):
        pos = torch.rand(150 if number < 2000 else 600, 2)
        field = torch.randn(9) * torch.sin(pos @ waves.T)
        x, y = field.sum(1, keepdim=True), field @ torch.exp(-waves.square().sum(1, keepdim=True) / 100)
        error = (model(x, pos, farthest_points(pos, 50), pos) - y).norm() / y.norm()
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 + math.cos(math.pi * number / 2000))
        optimizer.zero_grad(), error.backward(), optimizer.step()
        if number % 250 == 0:
            print(f"{number} steps, {len(pos)} points: relative l2 error {error:.3f}")
