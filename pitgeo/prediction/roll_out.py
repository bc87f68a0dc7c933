"""Time series that a predictor continues: the states after the first one, in files and in errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitgeo.data.fields.reading import Floats
from pitgeo.measures.measures import Measures
from pitgeo.mesh import Mesh, write_series
from pitgeo.mesh.reading import read
from pitgeo.mesh.series import holds_series, open_series
from pitgeo.prediction.mesh_doubts import outside
from pitgeo.prediction.mesh_errors import add_mesh

if TYPE_CHECKING:
    from pitgeo.prediction.mesh_predictor import MeshPredictor


def write_roll_out(
    predictor: MeshPredictor,
    file: Path,
    output: Path,
    steps: int | None = None,
    parameters: Mapping[str, float] | None = None,
    measures: Measures | None = None,
) -> None:
    """Predict the states after a file's first one, and write all of them as a collection.

    Args:
        predictor: The model or ensemble.
        file: A time series, or a mesh with the first state.
        output: The collection to write, ``.pvd``; its meshes are written beside it.
        steps: Number of states; ``None`` for as many as the file has, or for one.
        parameters: Inputs of the mesh as a whole that the file does not hold.
        measures: Collects the errors of the steps that the file holds.

    Raises:
        ValueError: If the file cannot be read or lacks a field.
    """
    series = open_series(file) if holds_series(file) else None
    first = read(file) if series is None else series.mesh(0)
    count = steps or (1 if series is None else max(1, len(series) - 1))
    channels = len(predictor.table.target_labels)
    sample, truths = predictor.sample(first, parameters), list[Mapping[str, Floats]]()
    states = {ending: values.double().numpy() for ending, values in predictor.fields(sample, count).items()}
    known = 1 if series is None else len(series)
    times = [float(time) for time in ([0.0] if series is None else series.times[: count + 1])]
    other = predictor.doubts.of_times(times)
    predictor.doubts.say(first, [*(() if series is None else series.notes), *other], outside(other))
    step = times[-1] - times[-2] if len(times) > 1 else predictor.doubts.time_step or 1.0
    times += [times[-1] + step * (number + 1) for number in range(count + 1 - len(times))]

    def meshes() -> Iterator[Mesh]:
        for number in range(count + 1):
            mesh = first if series is None or number >= known else series.mesh(number)
            columns = slice(max(number - 1, 0) * channels, max(number, 1) * channels)
            state = {ending: values[:, columns] for ending, values in states.items()}
            if number == 0:  # the first state is known
                state = {ending: 0.0 * values for ending, values in state.items()}
                state["_prediction"] = predictor.table.narrow(predictor.table.read_targets(mesh, parameters), "targets")
            # later states on the first mesh have no truth: its fields belong to the first state
            truth = predictor.table.truth(mesh, parameters) if number < known else None
            truths.extend([truth] if number and truth is not None else [])
            yield predictor.with_fields(predictor.table.with_numbers(mesh, parameters), state, truth)

    write_series(output, meshes(), times)
    if measures is not None:
        add_mesh(measures, first, sample, states["_prediction"], truths)


def measure_series(predictor: MeshPredictor, file: Any, parameters: Mapping[str, float], measures: Measures) -> None:
    """Roll out a series, and measure all states but the first."""
    if isinstance(file, Mesh) or not holds_series(file):
        what = f"{file}: Expected a time series" if isinstance(file, Path) else "Expected files of time series"
        raise ValueError(f"{what} for a model of its steps (got a single mesh); name a .pvd or .xdmf")
    series = open_series(file)
    first, count = series.mesh(0), len(series) - 1
    if count:
        sample = predictor.sample(first, parameters)
        states = predictor.fields(sample, count)["_prediction"].double().numpy()
        truths = [predictor.table.truth(series.mesh(step + 1), parameters) for step in range(count)]
        add_mesh(measures, first, sample, states, truths)
