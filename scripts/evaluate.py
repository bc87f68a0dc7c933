"""The same as ``pitgeo evaluate``."""

import sys

from pitgeo.cli import main

raise SystemExit(main(["evaluate", *sys.argv[1:]]))
