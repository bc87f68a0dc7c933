"""The thin Lightning module round a model: scalings, loss, optimiser."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from pitgeo.config.config import TrainingConfig
from pitgeo.config.losses import LOSSES
from pitgeo.data import PointData
from pitgeo.data.reference_quantities import sizes_at
from pitgeo.data.scaling import Scaling
from pitgeo.measures.relative_error import ErrorSizes
from pitgeo.nn import project_
from pitgeo.nn.dense import with_layouts
from pitgeo.training.forward import predicted
from pitgeo.training.metadata import (
    frame_of,
    groups_of,
    references_of,
    response_of,
    symmetries_of,
    variation_of,
    weights_of,
)
from pitgeo.training.nonfinite import NonFiniteError, check_loss, flaw
from pitgeo.training.optimizers import make_optimizer
from pitgeo.training.options import prepare_model
from pitgeo.training.output_points import averaged, draw_query_points, known, root_counts
from pitgeo.training.schedules import make_schedule

SHARES = tuple(step / 10 for step in range(11))
"""Shares of what a model adds to a control, one of which validation chooses."""


class OperatorModule(LightningModule):
    r"""A model with its scalings, as it is trained and stored.

    The loss is the mean, over samples and channels, of the relative error of the prediction in physical units; in
    training with ``query_points``, its estimate from that many output points of a sample. With ``"variation_l2"`` it is
    relative to the variation of the channel on the training set, :math:`v_k`, not to the target's own norm:

    .. math::
        e_{bk} = \frac{\lVert \hat{y}_{bk} - y_{bk} \rVert_2}{v_k \sqrt{M_b}}

    With ``"huber"`` it is the mean over points of Huber's function of the scaled error. ``training.field_weights``
    weigh the means over the components of every target.

    Args:
        model: Takes a batch of samples, gives values ``[M, K]`` at all their output points.
        inputs: Scaling of the input values; the coordinates are not scaled here.
        targets: Scaling of the targets; the model's output is unscaled with it.
        training: Loss, optimiser and schedule.
        steps: Steps of the whole run, which the schedule spans.
        metadata: What a checkpoint says about itself under the key ``"pitgeo"``; tensors and plain objects. Its
            configuration names the reference quantities.
        control: What the model corrects: takes the same samples, with their values in physical units, and gives values
            ``[M, K]`` that are added. What the model adds counts by ``share``, 1 in training; validation chooses it
            between 0 and 1, so that its samples are never predicted worse than by the control.
        scalars: Sizes ``[S]`` of the last output channels, which belong to a mesh as a whole: predictions are averaged
            over the output points, and errors are relative to at least this size.

    Raises:
        ValueError: If the model cannot do what the training options ask for.
    """

    sizes: Tensor
    share: Tensor

    def __init__(
        self,
        model: nn.Module,
        inputs: Scaling,
        targets: Scaling,
        training: TrainingConfig,
        steps: int = 1,
        metadata: dict[str, Any] | None = None,
        scalars: Tensor | None = None,
        control: nn.Module | None = None,
    ) -> None:
        super().__init__()
        prepare_model(model, training)
        if training.window and not (inputs.is_identity and targets.is_identity):
            raise ValueError(
                f"Expected scalings that change nothing with training.window = {training.window}, as predictions "
                f"become inputs (got others); take Scaling.identity"
            )
        self.model = model
        self.input_scaling = inputs
        self.target_scaling = targets
        self.training_config = training
        self.steps = steps
        self.metadata = metadata or {}
        self.references = references_of(self.metadata)
        self.frame = frame_of(training, self.metadata)
        self.response = response_of(self.metadata)
        self.groups = groups_of(self.metadata)
        self.symmetries = symmetries_of(training, self.metadata)
        self.register_buffer("sizes", torch.zeros(0) if scalars is None else scalars)
        self.variation = variation_of(training, self.metadata, self.symmetries)
        self.weights = weights_of(training, self.metadata)
        self.control = control
        if control is not None:
            self.register_buffer("share", torch.ones(()))
        self.validation_error: float | None = None
        self.validation_flaw = ""
        self._errors: list[Tensor] = []

    def forward(
        self, data: PointData, model: Callable[[PointData], Tensor] | None = None, rows: Tensor | None = None
    ) -> Tensor:
        """Values ``[M, K]``, or ``[B, M, K]`` on a shared mesh, at the output points, in physical units.

        Args:
            data: The samples, transformed.
            model: Another way to apply the model.
            rows: Numbers of the output points to have values at; ``None`` for all.
        """
        return predicted(self, data, model, rows)

    def on_before_batch_transfer(self, batch: PointData, dataloader_idx: int) -> PointData:
        """Turn training samples; find what depends on numbers of the batch while it is on the CPU.

        So no step waits for a GPU to tell them.
        """
        if self.training and self.symmetries is not None:
            batch = self.symmetries(batch)
        batch = with_layouts(batch)
        batch["error_sizes"] = self._error_sizes(batch, self._query_rows(batch) if self.training else None)
        return batch

    def transfer_batch_to_device(self, batch: PointData, device: torch.device, dataloader_idx: int) -> PointData:
        """To a GPU from pinned memory, without waiting for the copy."""
        if device.type != "cuda":
            return cast(PointData, batch.to(device))
        return cast(PointData, batch.pin_memory().to(device, non_blocking=True))

    def training_step(self, batch: PointData, batch_idx: int) -> Tensor:
        """The loss of a batch.

        Raises:
            NonFiniteError: If it is not finite.
        """
        loss = self._error(batch, self._query_rows(batch)).mean()
        if not loss.is_cuda:
            self._check_finite(loss, batch, self.global_step + 1)
        weight = batch.get("weight")  # of this device's share
        return loss if weight is None else loss * weight

    def on_train_batch_end(self, outputs: Any, batch: PointData, batch_idx: int) -> None:
        """Look at the loss of a GPU, now that the whole step is under way."""
        if outputs["loss"].is_cuda:
            self._check_finite(outputs["loss"], batch, self.global_step)

    def on_validation_epoch_start(self) -> None:
        """Forget the errors of the last epoch."""
        self._errors, self.validation_flaw = [], ""

    def validation_step(self, batch: PointData, batch_idx: int) -> None:
        """Keep the errors of a batch."""
        errors = (self._error(batch) if self.control is None else self._errors_of_shares(batch)).cpu()
        self._errors.append(errors[:0] if batch.get("weight") == 0 else errors)
        if not self.validation_flaw and not bool(torch.isfinite(errors).all()):
            self.validation_flaw = flaw(errors, batch, self.metadata, self.target_scaling)

    def on_validation_epoch_end(self) -> None:
        """The validation error: the mean over samples and channels, those of all devices."""
        errors = torch.cat(self._errors).double()
        columns = errors.flatten(0, 1) if self.control is not None else errors.reshape(-1, 1)
        sums = torch.cat([columns.sum(0), errors.new_tensor([len(columns)])]).to(self.device)
        *totals, count = cast(Tensor, self.trainer.strategy.reduce(sums, reduce_op="sum")).tolist()
        best = min(range(len(totals)), key=lambda number: totals[number])
        self.validation_error = self.trainer.strategy.broadcast(totals[best] / count)
        if self.control is not None:
            self.share.fill_(self.trainer.strategy.broadcast(SHARES[best]))

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Any,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """A step, then the projection of those parameters that are confined."""
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        project_(self.model)

    def configure_optimizers(self) -> Any:
        """Optimiser and learning-rate schedule of the configuration."""
        training = self.training_config
        optimizer = make_optimizer(self.model, training)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": make_schedule(training, optimizer, self.steps), "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what makes the checkpoint sufficient by itself.

        Raises:
            NonFiniteError: If a weight is not finite; nothing is written then.
        """
        for name, weight in self.model.named_parameters():
            if not bool(torch.isfinite(weight).all()):
                raise NonFiniteError(f"the weight {name!r} became NaN or infinite by step {self.global_step}")
        checkpoint["pitgeo"] = copy.deepcopy(self.metadata)

    def errors(self, batch: PointData) -> Tensor:
        """Relative errors ``[B, K]`` at all output points of a batch."""
        return self._error(batch)

    def base(self, data: PointData, rows: Tensor | None) -> Tensor | None:
        """What the model's values are added to: what was found for a training sample without it, or the control's."""
        if self.control is None:
            return None
        stored = data.get("base")
        if stored is None:
            with torch.set_grad_enabled(data.x.requires_grad or data.pos.requires_grad):  # it has nothing to train
                stored = self.control(data)
        base: Tensor = stored
        return base if rows is None else base.index_select(-2, rows)

    def _errors_of_shares(self, batch: PointData) -> Tensor:
        """Errors ``[B, K, shares]`` with each of :data:`SHARES`."""
        self.share.fill_(1.0)
        base, whole = self.base(batch, None), self(batch)
        if len(self.sizes):
            base = averaged(cast(Tensor, base), batch, len(self.sizes), None)
        parts = (base if share == 0.0 else torch.lerp(cast(Tensor, base), whole, share) for share in SHARES)
        return torch.stack([self._error(batch, None, cast(Tensor, part)) for part in parts], -1).nan_to_num(torch.inf)

    def _error(self, batch: PointData, rows: Tensor | None = None, values: Tensor | None = None) -> Tensor:
        sizes, target = self._error_sizes(batch, rows), batch.y
        values = self(batch, rows=rows) if values is None else values
        if sizes.threshold is not None:
            values, target = self._scaled(values, batch, rows), known(self._scaled(target, batch, None), batch)
        errors = sizes.errors(known(values, batch, rows), target)
        return errors if self.weights is None else errors * self.weights.to(errors)

    def _scaled(self, values: Tensor, batch: PointData, rows: Tensor | None) -> Tensor:
        """Values at the output points, or some of them, in the model's units."""
        pos, numbers = batch.points("output")
        if self.frame is not None:
            values = self.frame.targets(values, batch, rows, self.frame.rotations(batch, is_checked=False))
        wanted = sizes_at(self.references, batch, rows, is_checked=False)[1]
        some = None if rows is None else (rows, len(pos))
        return self.target_scaling.scale(values, batch.common_grid, numbers, wanted, some)

    def _error_sizes(self, batch: PointData, rows: Tensor | None) -> ErrorSizes:
        """What errors at some output points are relative to: found before the batch was moved, or now."""
        stored = batch.get("error_sizes")
        if isinstance(stored, ErrorSizes) and stored.rows is rows:
            return stored
        training, device = self.training_config, batch.y.device
        floor, typical = (None if sizes is None else sizes.to(device) for sizes in (self.floor, self.typical))
        is_huber, sizes = LOSSES[training.loss].is_huber, None
        if is_huber:
            sizes = root_counts(batch).square()
        elif self.variation is not None:
            sizes = self.variation.to(device).double() * root_counts(batch)
        numbers = None if batch.y.dim() == 3 else batch.points("output")[1]
        ids, norm = batch.get("sample_id"), training.norm
        found = ErrorSizes.of(batch.y, numbers, batch.samples, norm, ids, floor, self.groups, rows, typical, sizes)
        return replace(found, threshold=training.huber_threshold) if is_huber else found

    def _query_rows(self, batch: PointData) -> Tensor | None:
        """The output points that the loss of a training step is of; ``None`` for all."""
        if isinstance(stored := batch.get("error_sizes"), ErrorSizes):
            return stored.rows
        most = self.training_config.query_points
        return None if most is None else draw_query_points(batch, most)

    def _check_finite(self, loss: Tensor, batch: PointData, step: int) -> None:
        check_loss(loss, batch, f"step {step} of {self.steps} (epoch {self.current_epoch + 1})")

    @property
    def floor(self) -> Tensor | None:
        """What the size of every channel counts as at least; ``None`` without numbers of whole meshes."""
        if len(self.sizes) == 0:
            return None
        return torch.cat([self.sizes.new_zeros(self.target_scaling.mean.shape[-1] - len(self.sizes)), self.sizes])

    @property
    def typical(self) -> Tensor | None:
        """Typical size of every channel, to which errors of samples at rest are relative; ``None`` if none is known."""
        sizes = self.metadata.get("typical")
        return None if sizes is None else torch.tensor(sizes, dtype=torch.float64)  # on the CPU, as batches are
