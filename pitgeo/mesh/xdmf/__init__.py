"""XDMF documents with HDF5 or text."""
