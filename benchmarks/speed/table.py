"""Everything that is timed, by name."""

from benchmarks.speed.big_mesh import big_mesh
from benchmarks.speed.networks import Network, darcy2d, elasticity, growing, naca
from benchmarks.speed.quick import quick
from benchmarks.speed.search import boundary, farthest, neighbors
from benchmarks.speed.works import Work, local_layer, training

NETWORKS: dict[str, Network] = {
    "elasticity": elasticity(256, 2),
    "elasticity_wide": elasticity(512, 8),
    "elasticity_near": elasticity(256, 2, largest=100),
    "darcy2d_85": darcy2d(85),
    "darcy2d_211": darcy2d(211),
    "naca": naca(),
}
"""The paper's networks; their training steps are compared with dense ones, and can be profiled."""

GROWING = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of points of the meshes of ``growth_...`` and, but for the first, ``boundary_...``."""

WORKS: dict[str, Work] = {
    "elasticity": training(NETWORKS["elasticity"], compiled=True),
    "elasticity_wide": training(NETWORKS["elasticity_wide"], compiled=True),
    "elasticity_near": training(NETWORKS["elasticity_near"]),
    **{name: training(NETWORKS[name], ("recomputed",)) for name in ("darcy2d_85", "darcy2d_211", "naca")},
    **{name: quick(name) for name in ("elasticity_quick", "darcy2d_quick", "naca_quick", "holed_poisson", "plates")},
    "layer": local_layer(),
    "big_mesh": big_mesh(),
    "farthest": farthest(200_000, 2_048),
    "search_few": neighbors(1_000_000, 1_000_000, 8),
    "search_encoder": neighbors(2_048, 200_000, 4_000),
    "search_decoder": neighbors(200_000, 4_096, 82),
    **{f"growth_{points}": training(growing(points), ()) for points in GROWING},
    **{f"boundary_{points}": boundary(points) for points in GROWING[1:]},
}
"""Every work by name."""
