"""``python -m pitgeo``: the same as the command ``pitgeo``."""

from pitgeo.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
