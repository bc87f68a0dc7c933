"""The same as ``pitgeo export``."""

import sys

from pitgeo.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main(["export", *sys.argv[1:]]))
