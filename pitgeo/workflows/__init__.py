"""Whole runs: from a configuration or meshes in memory to an evaluated model, and models compared."""
