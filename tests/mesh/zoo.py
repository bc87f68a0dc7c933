"""Small meshes of every kind."""

import numpy as np

from pitgeo.mesh import Mesh


def plane(count=9):
    return np.random.default_rng(0).random((count, 2))


def solid(count=20):
    return np.random.default_rng(0).random((count, 3))


def cells(*blocks):
    return tuple((kind, np.array(nodes)) for kind, nodes in blocks)


ZOO = {
    "line": Mesh(np.linspace(0, 1, 5)[:, None], cells(("line", [[0, 1], [1, 2], [2, 3], [3, 4]]))),
    "curve in the plane": Mesh(plane(), cells(("line", [[0, 1], [1, 2]]))),
    "curve in space": Mesh(solid(), cells(("line", [[0, 1], [1, 2]]))),
    "triangles": Mesh(plane(), cells(("triangle", [[0, 1, 2], [2, 3, 4]]))),
    "quads": Mesh(plane(), cells(("quad", [[0, 1, 2, 3]]))),
    "mixed": Mesh(plane(), cells(("triangle", [[0, 1, 2]]), ("quad", [[3, 4, 5, 6]]))),
    "of three dimensions": Mesh(
        solid(), cells(("vertex", [[0], [3]]), ("line", [[0, 1]]), ("quad", [[3, 4, 5, 6]]), ("triangle", [[0, 1, 2]]))
    ),
    "tri6": Mesh(plane(), cells(("triangle6", [[0, 1, 2, 3, 4, 5]]))),
    "quad9": Mesh(plane(), cells(("quad9", [range(9)]))),
    "tetrahedra": Mesh(solid(), cells(("tetra", [[0, 1, 2, 3], [4, 5, 6, 7]]))),
    "hexahedra": Mesh(solid(), cells(("hexahedron", [range(8)]))),
    "wedges and pyramids": Mesh(solid(), cells(("wedge", [range(6), range(6, 12)]), ("pyramid", [range(5)]))),
    "quadratic bodies": Mesh(
        solid(27), cells(("tetra10", [range(10)]), ("hexahedron20", [range(20)]), ("hexahedron27", [range(27)]))
    ),
    "surface": Mesh(solid(), cells(("triangle", [[0, 1, 2], [2, 3, 4]]))),
    "planar at z = 2.5": Mesh(plane(), cells(("triangle", [[0, 1, 2]])), plane=2.5),
    "planar at y = -1": Mesh(plane(), cells(("triangle", [[0, 1, 2]])), plane=-1.0, plane_axis=1),
    "planar at x = 0": Mesh(plane(), cells(("triangle", [[0, 1, 2]])), plane_axis=0),
    "orphans and duplicates": Mesh(plane().repeat(2, 0), cells(("triangle", [[0, 1, 2]]))),
    "points alone": Mesh(plane()),
}
