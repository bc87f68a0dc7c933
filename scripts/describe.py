"""The same as ``pitgeo describe``."""

import sys

from pitgeo.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main(["describe", *sys.argv[1:]]))
