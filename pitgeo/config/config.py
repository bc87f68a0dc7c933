"""One TOML file describes a run; it becomes a typed, frozen :class:`RunConfig`, and every mistake is named."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from pitgeo.config.losses import LOSSES, LossName
from pitgeo.config.messages import messages
from pitgeo.config.scaling import ScalingConfig
from pitgeo.config.table import Table
from pitgeo.config.toml import ConfigError, put_override, read_toml, toml_text
from pitgeo.data.symmetries import Kind, Symmetry
from pitgeo.data.transforms import Compose, UnitBox
from pitgeo.datasets import DATASETS
from pitgeo.geometry.quantities import Quantity
from pitgeo.models.registry import MODELS
from pitgeo.nn.rollout import check_window

if TYPE_CHECKING:
    from typing_extensions import Self


class Choice(Table):
    """A name from a registry, and a table of options for every name in it."""

    name: str

    @property
    def options(self) -> Any:
        """The options of the chosen name."""
        return getattr(self, self.name)


class TrainingConfig(Table):
    """How the weights are found.

    ``loss`` is relative to the norm of each target, or, ``variation_l2``, to the variation of its channel on the
    training set: free of offsets, and defined for a target of zeros; ``huber`` is a function of the scaled error, from
    ``huber_threshold`` on in proportion to it (``docs/measures.md``). ``field_weights`` says how much each target
    counts: the loss is then their weighted mean, else that of all channels.
    ``batch_size`` counts the samples of one step on all devices together; ``warmup`` is the share of the steps in which
    the learning rate rises (not set: 0.3 for ``one_cycle``, else 0); ``clip`` bounds the norm of the gradient;
    ``muon`` moves the matrices between hidden layers, AdamW the rest (:mod:`pitgeo.training.optimizers`);
    ``weight_decay`` of ``adamw`` and ``muon`` spares length scales, biases and norms, that of ``adam`` penalizes all
    weights, as in the papers;
    ``devices`` counts those of one machine, ``nodes`` the machines, a process a device; ``start_from`` is a checkpoint
    of the same model, on perhaps other inputs and targets, to go on from. For big meshes: ``query_points`` bounds the
    output points of a sample that a step takes its loss from, drawn at random; ``checkpoint_activations`` computes
    activations again in the backward pass, to hold fewer. ``window``, for data that are rolled out, has a step of
    training predict so many steps of a series from true values, and ``batch_size`` counts windows; 0: all of
    them, as in the paper (:mod:`pitgeo.training.loader`). With ``deterministic``, torch uses deterministic algorithms
    alone, or raises where it has none. ``logger`` names where numbers go beside ``metrics.csv``
    (:mod:`pitgeo.training.loggers`). ``augment`` names symmetries of the problem, by which training samples are turned
    at random; ``augment_as`` says what fields are whose number of components does not tell
    (:mod:`pitgeo.data.symmetries`).
    """

    epochs: PositiveInt = 100
    batch_size: PositiveInt = 8
    loss: LossName = "relative_l2"
    huber_threshold: Annotated[float, Field(gt=0)] = 1.0
    field_weights: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    schedule: Literal["cosine", "one_cycle", "constant"] = "cosine"
    warmup: Annotated[float, Field(ge=0, lt=1)] | None = None
    clip: Annotated[float, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    device: Literal["auto", "cpu", "gpu"] = "auto"
    devices: PositiveInt = 1
    nodes: PositiveInt = 1
    precision: Literal["32", "bf16"] = "32"
    start_from: str = ""
    query_points: PositiveInt | None = None
    checkpoint_activations: bool = False
    window: Annotated[int, Field(ge=0)] = 0
    deterministic: bool = False
    logger: tuple[Literal["tensorboard", "mlflow", "wandb"], ...] = ("tensorboard",)
    augment: tuple[Symmetry, ...] = ()
    augment_as: dict[str, Kind] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_used(self) -> Self:
        if self.huber_threshold != 1.0 and not LOSSES[self.loss].is_huber:
            raise ValueError(f"Expected training.loss = 'huber' with training.huber_threshold (got {self.loss!r})")
        return self

    @property
    def norm(self) -> Literal[1, 2]:
        """The norm of the loss, and of the validation error."""
        return LOSSES[self.loss].norm


class EvaluationConfig(Table):
    """What is reported beside the errors of the targets.

    ``quantities`` are numbers of the targets on each mesh, ``"force:pressure@wall"``
    (:func:`pitgeo.geometry.integrals.compute`); ``sets`` are named sets, at whose points and cells errors are taken.
    """

    quantities: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    @field_validator("quantities", "sets")
    @classmethod
    def _check(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for text in value if info.field_name == "quantities" else ():
            Quantity.parse(text)
        if twice := sorted({text for text in value if value.count(text) > 1}):
            raise ValueError(f"Expected every name once (got {twice} more than once)")
        return value


class RunConfig(Table):
    """Everything that makes a run.

    ``data`` and ``model`` name an entry of :data:`pitgeo.datasets.DATASETS` and :data:`pitgeo.models.MODELS`; every
    entry has a table of its own, so that changing the name cannot trip over the other's keys.

    Example:
        >>> config = parse_config({"data": {"name": "elasticity"}, "model": {"name": "pit", "pit": {"layers": 2}}})
        >>> config.model.options.layers, config.training.loss
        (2, 'relative_l2')
    """

    data: Choice
    model: Choice
    scaling: ScalingConfig = ScalingConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _check(self) -> RunConfig:
        if self.scaling.box == "unit" and any(getattr(self.model.options, "period", ())):
            raise ValueError("Expected scaling.box = 'none' with a period, which is a length of the domain as it is")
        scalings = (self.scaling.inputs, self.scaling.targets)
        if "point" in scalings and not getattr(self.data.options, "is_regular", True):
            raise ValueError(
                f"Expected scaling.inputs and scaling.targets of 'none' or 'channel' with a grading, which moves the "
                f"points (got {scalings[0]!r} and {scalings[1]!r})"
            )
        is_scaled = scalings != ("none", "none") or bool(self.scaling.transforms)
        rollout = getattr(self.data.options, "rollout", 1)
        if rollout > 1 and is_scaled:
            raise ValueError(
                "Expected scaling.inputs and scaling.targets = 'none' and nothing else in [scaling], where predictions "
                "become inputs"
            )
        if rollout > 1 and self.training.field_weights:
            raise ValueError("Expected no training.field_weights where predictions become inputs; leave it out")
        if self.training.augment_as and not (self.training.augment or self.scaling.frame):
            raise ValueError("Expected training.augment or scaling.frame with training.augment_as (got neither)")
        own = {f"scaling.{key}": value for key, value in self.scaling.transforms.items()}
        own["training.augment"] = self.training.augment
        for key, value in own.items() if getattr(self.model.options, "is_closed", False) else ():
            if value:
                raise ValueError(
                    f"Expected no {key} with model.name = {self.model.name!r}, which is fitted to the samples as they "
                    f"are (got {', '.join(value)}); leave it out"
                )
        window = self.training.window
        if window and rollout == 1:
            raise ValueError(
                f"Expected no training.window where predictions do not become inputs, as with data.name = "
                f"{self.data.name!r} (got {window}); leave it out"
            )
        if window and not LOSSES[self.training.loss].has_windows:
            fit = " or ".join(repr(name) for name, loss in LOSSES.items() if loss.has_windows)
            raise ValueError(f"Expected training.loss = {fit} with training.window (got {self.training.loss!r})")
        if window:
            check_window(rollout, window)
        return self

    def transform(self, box_scale: float | None) -> Compose:
        """What turns a raw sample into what the model takes: latent mesh, graphs, unit box (if it has a scale).

        Points are chosen and searched before they are moved: moving them rounds them, and ties would be lost.
        """
        steps: Compose = self.model.options.transform()
        return steps if box_scale is None else Compose((*steps.transforms, UnitBox(box_scale)))

    def with_data(self, options: Any) -> Self:
        """The same configuration with other options of its data."""
        data = self.data.model_copy(update={self.data.name: options})
        return self.model_copy(update={"data": data})

    def plain(self) -> dict[str, Any]:
        """The configuration as plain tables, numbers and strings."""
        return self.model_dump(mode="json")


def schema(
    datasets: Mapping[str, type[BaseModel]] = DATASETS, models: Mapping[str, type[BaseModel]] = MODELS
) -> type[RunConfig]:
    """The :class:`RunConfig` of these registries (by default, those of pitgeo, with what was added to them)."""
    return _schema(tuple(datasets.items()), tuple(models.items()))


def load_config(path: str | Path, overrides: Sequence[str] = (), run: type[RunConfig] | None = None) -> RunConfig:
    """Read a run's TOML file.

    Args:
        path: The file.
        overrides: ``"key=value"`` each, the key dotted (``"training.epochs=5"``), the value in TOML or a bare string.
        run: The schema to check against; ``None`` for :func:`schema`.

    Raises:
        ConfigError: If the file is missing or is not TOML, a key is unknown or missing, or a value does not fit.

    Example:
        >>> load_config("configs/elasticity_quick.toml", ["training.epochs=2"]).training.epochs
        2
    """
    return parse_config(read_toml(Path(path)), overrides, source=str(path), run=run)


def parse_config(
    table: Mapping[str, Any],
    overrides: Sequence[str] = (),
    source: str = "configuration",
    run: type[RunConfig] | None = None,
    option: str = "'overrides'",
) -> RunConfig:
    """Check a configuration given as plain tables, say from a checkpoint; see :func:`load_config`.

    Messages call an override by ``option``, the argument that it was given by.
    """
    run = run or schema()
    plain = json.loads(json.dumps(table, default=str))
    sources = {}
    for override in overrides:
        sources[put_override(plain, override, option)] = f"{option} {override}"
    try:
        # JSON's strict mode: no string becomes a number, yet lists become tuples.
        return run.model_validate_json(json.dumps(plain, default=str), strict=True)
    except ValidationError as error:
        raise ConfigError("; ".join(messages(error, run, source, sources))) from None


def to_toml(config: RunConfig) -> str:
    """The configuration as TOML text; reading it again gives an equal one."""
    return toml_text(config.plain())


def difference(first: Mapping[str, Any], second: Mapping[str, Any], free: Collection[str] = ()) -> list[str]:
    """Dotted keys in which two plain configurations differ; ``free`` has those that may, or their last parts."""
    flat = [dict(_flatten(table)) for table in (first, second)]
    changed = (key for key in flat[0].keys() | flat[1].keys() if flat[0].get(key) != flat[1].get(key))
    return sorted(key for key in changed if key not in free and key.rpartition(".")[2] not in free)


MACHINE = (
    *("training.device", "training.checkpoint_activations", "training.devices", "training.nodes"),
    *("training.logger", "root"),
)
"""Keys, or last parts of keys, that depend on the machine: they may differ between runs that belong together."""


_Registry = tuple[tuple[str, type[BaseModel]], ...]


@lru_cache
def _schema(datasets: _Registry, models: _Registry) -> type[RunConfig]:
    return create_model(
        "RunConfig",
        __base__=RunConfig,
        data=(_choice("DataConfig", datasets), ...),
        model=(_choice("ModelConfig", models), ...),
    )


def _choice(title: str, registry: _Registry) -> type[Choice]:
    tables: dict[str, Any] = {name: (options, Field(default_factory=options)) for name, options in registry}
    names: Any = Literal[tuple(name for name, _ in registry)]
    return create_model(title, __base__=Choice, name=(names, ...), **tables)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
