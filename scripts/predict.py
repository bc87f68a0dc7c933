"""The same as ``pitgeo predict``."""

import sys

from pitgeo.cli import main

raise SystemExit(main(["predict", *sys.argv[1:]]))
