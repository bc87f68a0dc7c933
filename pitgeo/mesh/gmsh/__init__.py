"""Gmsh MSH files."""
