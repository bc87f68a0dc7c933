"""A surrogate of bars that bend: many loads at once, derivatives, and the best width."""

import numpy as np

from pitgeo import train_surrogate
from pitgeo.mesh import Mesh, write_mesh
from pitgeo.prediction import sensitivity
from pitgeo.workflows.designs import Varied
from pitgeo.workflows.optimise import optimise


def bar(load, side, width=1.0):
    """A strip of quadrilaterals that bends under a load; the formula stands for your solver."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 4, 21), np.linspace(0, width, 6)))
    first = np.concatenate([np.arange(20) + 21 * row for row in range(5)])
    cells = np.stack([first, first + 1, first + 22, first + 21], 1)
    bend = load * x**2 * (1 + side * y) / width
    return Mesh(
        np.stack([x, y], 1),
        (("quad", cells),),
        {"bend": bend},
        {},
        {"load": np.array([load]), "side": np.array([side])},
    )


random = np.random.default_rng(0)
meshes = [bar(random.uniform(1, 10), float(k % 2), random.uniform(0.5, 1.5)) for k in range(20)]
model = train_surrogate(meshes, ["bend"], "runs/bars", ["load", "side"], ["training.epochs=3"], progress=False)
write_mesh("bar.vtu", bar(2.0, 1.0))

many = model.predict_many(bar(2.0, 1.0), {"load": np.linspace(1, 10, 200)})
print(many["bend_prediction"].shape)  # (200, 126, 1)

slopes = sensitivity(model, bar(2.0, 1.0), "mean:bend", to=["load", "positions"])
print(slopes.numbers.keys(), slopes.mesh.point_data["positions_sensitivity"].shape)  # dict_keys(['load']) (126, 2)

best = optimise(model, lambda values: bar(2.0, 1.0, values["width"]), "peak:bend", [Varied.parse("width=0.5:1.5")])
print(best.values, best.notes)
