"""VTK files, by way of PyVista where meshio does not read them."""
