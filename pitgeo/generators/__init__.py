"""Solvers that make benchmark data; each module has ``generate``, which writes files laid out like the originals."""
