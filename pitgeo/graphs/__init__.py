"""Points and graphs: distances, neighbour search, neighborhoods, farthest points, quadrature."""
