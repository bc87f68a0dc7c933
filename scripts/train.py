"""The same as ``pitgeo train``."""

import sys

from pitgeo.cli import main

raise SystemExit(main(["train", *sys.argv[1:]]))
