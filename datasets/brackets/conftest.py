"""No examples of this folder are run where gmsh finds none of the system's libraries that it loads."""

try:
    import gmsh  # noqa: F401
except OSError:
    collect_ignore_glob = ["*.py"]
