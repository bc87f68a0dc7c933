"""CGNS files on HDF5."""
