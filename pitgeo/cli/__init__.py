"""The command line: ``pitgeo train|evaluate|predict|describe|export``."""

from pitgeo.cli.main import main

__all__ = ["main"]
