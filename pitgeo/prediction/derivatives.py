r"""Derivatives of a predicted quantity with respect to numbers, input fields and node positions.

For a quantity :math:`Q` of the predicted fields :math:`u(a, x)`, with inputs :math:`a` and positions :math:`x`,

.. math::
    \frac{dQ}{da} = \frac{\partial Q}{\partial u} \frac{\partial u}{\partial a}, \qquad
    \frac{dQ}{dx} = \frac{\partial Q}{\partial u} \frac{\partial u}{\partial x} + \frac{\partial Q}{\partial x} ,

by automatic differentiation through the whole network, attention weights and geometry inputs among it. Which points are
latent, and which points each point attends to, are held: they change in steps, and have no derivative.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from pitgeo.data import PointData
from pitgeo.data.fields.numbers import Number, numbers
from pitgeo.data.fields.reading import Floats, whole_mesh_value
from pitgeo.data.transforms import AttentionGraphs, LatentMesh
from pitgeo.data.transforms.unit_box import POSITIONS as POSITIONS_OF
from pitgeo.data.transforms.unit_box import UnitBox, box_center
from pitgeo.geometry.boundary import boundary_of, set_pieces
from pitgeo.geometry.integration import gauss_points
from pitgeo.geometry.nearest import distances, nearest_on
from pitgeo.geometry.regions import surface_of
from pitgeo.graphs.trees import kd_tree
from pitgeo.mesh import Mesh
from pitgeo.mesh.cell_types import corners
from pitgeo.prediction.guards import check_states
from pitgeo.prediction.named_quantity import NamedQuantity
from pitgeo.prediction.study import MeshStudy

if TYPE_CHECKING:
    from pitgeo.data.fields import FieldTable
    from pitgeo.prediction.predictor import Predictor

POSITIONS = "positions"

Quantity = Callable[[Mapping[str, Tensor], Tensor], Tensor]
"""From the predicted fields, ``[n, components]`` by target, and the points ``[N, D]``, to one number."""


@dataclass(frozen=True)
class Sensitivity:
    """A quantity and its derivatives.

    Args:
        value: The quantity.
        numbers: Its derivative with respect to every number of the mesh.
        mesh: The mesh with a field ``<name>_sensitivity`` for every input field, and ``positions_sensitivity``: how the
            quantity changes when a node moves, per unit of length. Where the mesh has a surface,
            ``positions_sensitivity_normal`` is the part along its outward normal, 0 inside.
    """

    value: float
    numbers: Mapping[str, float]
    mesh: Mesh


def sensitivity(
    predictor: Predictor,
    mesh: Mesh,
    quantity: str | Quantity,
    to: Sequence[str],
    parameters: Mapping[str, float] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Sensitivity:
    """The derivatives of a quantity of the prediction on a mesh.

    Args:
        predictor: The trained model.
        mesh: The mesh with the input fields.
        quantity: What to differentiate: its name, as of :func:`pitgeo.integrals.compute` (``"peak:von_mises"``), or a
            function of the predicted fields and the points.
        to: Numbers of the mesh (``"load"``, ``"wind_x"``), input fields at points or cells, and ``"positions"``.
        parameters: Inputs of the mesh as a whole that the mesh does not hold.
        dtype: Precision of the network.

    Raises:
        ValueError: If a name is none of these, a category, or the model's inputs have no derivative by positions; or
            for an ensemble, or a model of time series.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from pitgeo import train_surrogate
        >>> clouds = [np.random.default_rng(seed).random((40, 2)) for seed in range(5)]
        >>> cases = [{"points": points, "load": 1.0, "height": points[:, 0]} for points in clouds]
        >>> settings = ["training.epochs=1", "model.pit.channels=8"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = train_surrogate(cases, ["height"], folder + "/run", ["load"], settings, progress=False)
        >>> from pitgeo.mesh.in_memory import as_mesh
        >>> found = sensitivity(model, as_mesh(cases[0]), "peak:height", ["load", "positions"])
        >>> sorted(found.numbers), found.mesh.point_data["positions_sensitivity"].shape
        (['load'], (40, 2))
    """
    if hasattr(predictor, "members"):
        raise ValueError(
            f"Expected one trained model for derivatives (got the ensemble {predictor.path}); load the checkpoint of "
            f"a member"
        )
    check_states(predictor)
    table = predictor.table
    if isinstance(quantity, str):
        quantity = NamedQuantity(table, mesh, quantity)
    known = numbers(table)
    fields = [field.name for field in table.inputs if field.place == table.input_place and not field.is_geometry]
    _check_names(table, to, [*known, *fields, POSITIONS], mesh.where)
    study = MeshStudy(
        table, mesh, {name: [_own(table, mesh, number, parameters)] for name, number in known.items()}, parameters
    )
    case = predictor.doubts.case(study.mesh, study.inputs)
    predictor.doubts.say(study.mesh, predictor.doubts.of_case(case))
    predictor.check_logs(study.sample)
    predictor.check_numbers(study.sample, mesh.where)
    values = torch.from_numpy(study.values).requires_grad_()
    leaves = {name: study.sample.x[:, table.channels(name)].double().requires_grad_() for name in fields if name in to}
    points = torch.from_numpy(mesh.points).requires_grad_()
    module = copy.deepcopy(predictor.module).to(dtype) if dtype == torch.float64 else predictor.module
    with torch.enable_grad():
        x = study.input_values(values)[0].clone()
        for name, leaf in leaves.items():
            x[:, table.channels(name)] = leaf
        data = predictor.transform(study.sample)
        if POSITIONS in to:
            data, x = moving(predictor, study, data, x, points)
        data.x = x
        output = module(_cast(data, dtype).to(module.device)).cpu()
        predicted = cast("Mapping[str, Tensor]", table.split(mesh, output))  # it slices, as of arrays
        found = quantity(predicted, points)
        if found.dim() != 0:
            raise ValueError(f"Expected a quantity to be one number (got shape {list(found.shape)})")
        wanted = [values, *leaves.values(), points]
        slopes = torch.autograd.grad(found, wanted, allow_unused=True, materialize_grads=True)
    of_numbers = dict(zip(known, slopes[0][0].tolist(), strict=True))
    for name, slope in zip(leaves, slopes[1:-1], strict=True):
        add = mesh.with_point_data if table.input_place == "point" else mesh.with_cell_data
        mesh = add(f"{name}_sensitivity", slope.squeeze(1).numpy(), "replace")
    if POSITIONS in to:
        explicit = quantity.slope_by_points(predicted) if isinstance(quantity, NamedQuantity) else 0.0
        moves = slopes[-1].numpy() + explicit
        mesh = mesh.with_point_data(f"{POSITIONS}_sensitivity", moves, "replace")
        if (normals := _normals(mesh)) is not None:
            mesh = mesh.with_point_data(f"{POSITIONS}_sensitivity_normal", (moves * normals).sum(1), "replace")
    return Sensitivity(float(found.detach()), {name: of_numbers[name] for name in to if name in known}, mesh)


def moving(
    predictor: Predictor, study: MeshStudy, data: PointData, x: Tensor, points: Tensor
) -> tuple[PointData, Tensor]:
    """A transformed sample, and its input values, that move with the nodes of its mesh.

    Args:
        predictor: The trained model.
        study: The mesh.
        data: The transformed sample.
        x: The input values ``[N, C]``.
        points: The nodes ``[N, D]``.

    Raises:
        ValueError: If something that the model takes changes with the positions in a way that is not known here.
    """
    table, mesh, result = predictor.table, study.mesh, copy.copy(data)
    steps = predictor.transform.transforms
    others = [type(step).__name__ for step in steps if not isinstance(step, (LatentMesh, AttentionGraphs, UnitBox))]
    if others or "quadrature" in data or "grid" in data:
        what = ", ".join(others) or ("quadrature weights" if "quadrature" in data else "a grid")
        raise ValueError(
            f"Expected a model that takes nothing from the positions but latent points, graphs and coordinates, for "
            f"the derivative by positions (got {what}); leave 'positions' out, or train a PiT without it"
        )
    moved = points - points.new_tensor(table.offset) if table.offset else points
    places = {"point": lambda: moved, "cell": lambda: _centroids(mesh, moved)}
    box = next((step for step in steps if isinstance(step, UnitBox)), None)
    pos = places[table.input_place]()
    center, scale = (box_center(pos), box.scale) if box else (0.0, 1.0)

    def boxed(positions: Tensor) -> Tensor:
        return (positions - center) * scale

    if "pos_latent" in data:
        gap, chosen = kd_tree(data.pos.numpy()).query(data.pos_latent.numpy())
        if gap.any():
            raise ValueError(
                "Expected latent points that are input points, for the derivative by positions (got others); leave "
                "'positions' out, or train with model.pit.latent.method = 'farthest'"
            )
        result["pos_latent"] = boxed(pos[torch.from_numpy(np.asarray(chosen, np.int64))])
    if "pos_out" in data:
        result["pos_out"] = boxed(torch.cat([places[place]() for place in table.output_places]))
    result.pos = boxed(pos)
    x = x.clone()
    for field in table.geometry:
        if field.name == "coordinates":
            values = pos
        elif field.name.startswith("boundary_distance"):
            within = field.name.partition(":")[2]
            pieces = set_pieces(mesh, within) if within else boundary_of(mesh)
            near = nearest_on(pos.detach().numpy(), moved.detach().numpy(), pieces)
            values = distances(pos, moved, *near)[:, None]
        else:
            raise ValueError(
                f"Expected no geometry input {field.name!r}, whose derivative by positions is not known (got a model "
                f"that takes it); leave 'positions' out, or train without it"
            )
        x[:, table.channels(field.name)] = values
    return result, x


def _normals(mesh: Mesh) -> Floats | None:
    """Unit normals of the surface at its nodes ``[N, D]``, zero at others; ``None`` for a mesh without a surface."""
    try:
        region = surface_of(mesh, None)
    except ValueError:
        return None
    normals = np.zeros_like(mesh.points)
    for part in region.parts:
        for at in gauss_points(mesh.points, part.kind, part.nodes):
            own = at.normals.sum(1) * part.signs[at.rows, None]
            np.add.at(normals, part.nodes[at.rows], own[:, None, :])
    sizes = np.linalg.norm(normals, axis=1, keepdims=True)
    unit: Floats = np.divide(normals, sizes, out=np.zeros_like(normals), where=sizes > 0)
    return unit


def _centroids(mesh: Mesh, points: Tensor) -> Tensor:
    """The mean of every cell's corners, as :func:`pitgeo.mesh.centroids` has it."""
    parts = [nodes[:, : corners(kind, nodes.shape[1])] for kind, nodes in mesh.cells]
    return torch.cat([points[torch.from_numpy(part)].mean(1) for part in parts])


def _cast(data: PointData, dtype: torch.dtype) -> PointData:
    """A copy whose positions and values have a precision."""
    result = copy.copy(data)
    for name in (*POSITIONS_OF, "x"):
        if name in result:
            result[name] = result[name].to(dtype)
    return result


def _own(table: FieldTable, mesh: Mesh, number: Number, parameters: Mapping[str, float] | None) -> float:
    """The value of a number of a mesh."""
    held = np.asarray(whole_mesh_value(mesh, number.source, parameters or {}), np.float64).reshape(-1)
    if number.component >= len(held) or not np.isfinite(held[number.component]):
        table.read(mesh, parameters)  # says what is wrong
    return float(held[number.component])


def _check_names(table: FieldTable, to: Sequence[str], known: Sequence[str], where: str) -> None:
    """Refuse what has no derivative."""
    if isinstance(to, str):
        raise ValueError(f"{where}Expected 'to' to be a list, [{to!r}] (got the text {to!r}); put it in brackets")
    kinds = [field.source for field in table.inputs if field.categories is not None]
    for name in to:
        if name in kinds or name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near and name not in kinds else ""
            names = ", ".join(name for name in known if name not in kinds)
            raise ValueError(
                f"{where}Expected inputs that have derivatives, {names} "
                f"(got {name!r}{', a category' if name in kinds else ''}){hint}"
            )
    if not to:
        raise ValueError(f"{where}Expected at least one input to differentiate by (got none)")
