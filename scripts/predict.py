"""The same as ``pitgeo predict``."""

import sys

from pitgeo.cli.main import main

if __name__ == "__main__":  # the processes that generate data import this file
    raise SystemExit(main(["predict", *sys.argv[1:]]))
