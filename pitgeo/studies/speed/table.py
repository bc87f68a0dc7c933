"""All that is timed, by name."""

from pitgeo.studies.speed.big_mesh import big_mesh
from pitgeo.studies.speed.networks import darcy2d, elasticity, growing, naca
from pitgeo.studies.speed.works import Work, local_layer, training

GROWING = (1_000, 10_000, 100_000, 1_000_000)
"""Points of the meshes of ``growth_...``."""

WORKS: dict[str, Work] = {
    "elasticity": training(elasticity(256, 2), compiled=True),
    "elasticity_wide": training(elasticity(512, 8), compiled=True),
    "elasticity_near": training(elasticity(256, 2, largest=100)),
    "darcy2d_85": training(darcy2d(85), ("recomputed",)),
    "darcy2d_211": training(darcy2d(211), ("recomputed",)),
    "naca": training(naca(), ("recomputed",)),
    "layer": local_layer(),
    "big_mesh": big_mesh(),
    **{f"growth_{points}": training(growing(points), ()) for points in GROWING},
}
"""Every work by name."""
