"""The paper's experiments, on equal budgets: each writes a table (.md, .csv), a picture and a JSON file."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks/ is no part of the package


from benchmarks.paper import STUDIES, run_study
from benchmarks.paper.cost import run_cost
from pitgeo.cli.arguments import with_flags
from pitgeo.workflows.compare import Budget, Settings

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*STUDIES, "cost"]
    parser.add_argument(
        "studies", nargs="+", choices=[*names, "all"], metavar="STUDY", help=f"{', '.join(names)}, or all"
    )
    parser.add_argument("--budget", default="3min", help="of every run, as in 3min (the default) or 50epochs")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0 on (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, sharing the cores (default: 1)")
    parser.add_argument("--benchmarks", nargs="+", metavar="NAME", help="instead of a study's default two")
    parser.add_argument("--variants", nargs="+", metavar="LABEL", help="instead of all variants of a study")
    parser.add_argument("--full", action="store_true", help="all benchmarks that a study can run on")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of every run")
    parser.add_argument("--output", type=Path, default=Path("runs/experiments"), metavar="DIR")
    options = parser.parse_args()
    try:
        settings = Settings(Budget.parse(options.budget), options.seeds, options.jobs, tuple(options.set))
        for name in names if "all" in options.studies else options.studies:
            output = options.output / name
            if name == "cost":
                run_cost(output)
            else:
                study = STUDIES[name]
                run_study(
                    name, study, output, settings, study.full if options.full else options.benchmarks, options.variants
                )
            print((output / f"{name}.md").read_text(encoding="utf-8"))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; the same command goes on from here\n")
    except (ValueError, RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {with_flags(str(error))}\n")
