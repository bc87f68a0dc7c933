"""Models, or variants of a configuration, compared on one problem under one budget.

Writes compare.md, .csv and .json, one table, and pictures of the errors over time and over parameters. The same
command goes on where it stopped; other models, variants and seeds are added to those that the folder holds.
"""

import argparse
from pathlib import Path

from pitgeo.cli.arguments import with_flags
from pitgeo.models.registry import MODELS
from pitgeo.workflows.compare import Budget, Settings, model_variants, read_variants, run_compare
from pitgeo.workflows.compare.learning_check import format_check, run_learning_check

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, nargs="?", metavar="CONFIG", help="TOML file of the run, as in configs/")
    parser.add_argument("--models", default="", metavar="NAMES", help=f"all, or some of {','.join(MODELS)}")
    parser.add_argument(
        "--variants", type=Path, nargs="+", default=[], metavar="TOML", help="files with a label and changes to CONFIG"
    )
    parser.add_argument("--budget", metavar="BUDGET", help="of every run, as in 3min (the default) or 50epochs")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0 on (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, sharing the cores (default: 1)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of every run")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: runs/compare_<CONFIG's name>")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    parser.add_argument(
        "--check",
        action="store_true",
        help="instead, see whether models (default: all) learn a small made-up problem; a minute or two each",
    )
    options = parser.parse_args()
    if not options.check and options.config is None:
        parser.error("expected a CONFIG, or --check")
    if options.check and (options.config or options.variants):
        parser.error("expected no CONFIG and no --variants with --check, which has its own")
    if not options.check and not options.models and not options.variants:
        parser.error("expected --models or --variants, as in --models pit,mlp")
    try:
        budget = Budget.parse(options.budget or ("1min" if options.check else "3min"))
        settings = Settings(budget, options.seeds, options.jobs, tuple(options.set), not options.quiet)
        names = [name.strip() for name in options.models.split(",") if name.strip()]
        if options.check:
            result = run_learning_check(options.output or Path("runs/compare_check"), settings, names or ["all"])
            print(format_check(result))
            parser.exit(0 if result["passed"] else 1)
        models, variants = model_variants(names), read_variants(options.variants)
        if both := sorted(models.keys() & variants.keys()):
            raise ValueError(f"Expected other labels for variants than the models' names (got {', '.join(both)})")
        output = options.output or Path("runs") / f"compare_{options.config.stem}"
        run_compare(options.config, {**models, **variants}, output, settings)
        print((output / "compare.md").read_text(encoding="utf-8"))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; the same command goes on from here\n")
    except (ValueError, RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {with_flags(str(error))}\n")
