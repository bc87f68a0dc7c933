"""Train PiT and its baselines over several seeds, and write the README's table: report.md, .csv, .json and .png."""

import argparse
from pathlib import Path

from pitgeo.report import report

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path, metavar="CONFIG", help="TOML file of the PiT run, as in configs/")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: runs/report_<CONFIG's name>")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="SEED", help="default: 0 1 2")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of every run")
    parser.add_argument("--cap", type=float, default=40.0, help="most epochs of the MLP, in those of PiT (default: 40)")
    arguments = parser.parse_args()
    output = arguments.output or Path("runs") / f"report_{arguments.config.stem}"
    try:
        report(arguments.config, output, arguments.seeds, arguments.set, arguments.cap)
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; the same command goes on from here\n")
    except (ValueError, RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print((output / "report.md").read_text(encoding="utf-8"))
