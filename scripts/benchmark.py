#!/usr/bin/env python
"""Speed and memory, beside what a user would take otherwise, in one run; a table and a JSON file.

Without arguments, every work is measured; docs/results.md has some of them. Every way to do a work runs in fresh
processes, by turns, so that memory is the growth of that process's peak resident size, and slow drifts of the machine
fall on all alike. --profile shows instead where the time of a training step goes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks/ is no part of the package

from benchmarks.speed import WORKS, Settings, format_speed, run_speed
from benchmarks.speed.attention_forms import attention_forms
from benchmarks.speed.large_files import format_large_files, run_large_files
from benchmarks.speed.mesh_folder import POINTS, format_mesh_folder, run_mesh_folder
from benchmarks.speed.profile import format_profile, run_profile
from benchmarks.speed.table import NETWORKS
from benchmarks.speed.view import format_view, run_view
from pitgeo.system.memory import keep_memory

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"among {', '.join(WORKS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of every way (default: 3)")
    parser.add_argument("--repeat", type=int, default=3, help="steps a process, after one to warm up (default: 3)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="default: all cores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--keep-memory", action="store_true", help="as pitgeo's commands do: see pitgeo.system.memory")
    parser.add_argument("--busy", type=int, default=0, help="other processes that compute meanwhile (default: 0)")
    parser.add_argument("--spin", action="store_true", help="leave the waiting of OpenMP's threads as it is")
    parser.add_argument("--before", metavar="CHECKOUT", help="measure pitgeo in another folder as well, by turns")
    parser.add_argument("--profile", choices=tuple(NETWORKS), nargs="+", help="networks whose training step to profile")
    parser.add_argument("--attention-forms", action="store_true", help="fit what the forms of global attention cost")
    parser.add_argument(
        "--growth", action="store_true", help="measure steps of 1,000 to 1,000,000 points, and state the exponent"
    )
    parser.add_argument(
        "--predict-points", type=int, nargs="+", metavar="POINTS", help="sizes of mesh files to predict on instead"
    )
    parser.add_argument(
        "--mesh-files", type=int, metavar="FILES", help="number of small mesh files to read and train on instead"
    )
    parser.add_argument("--mesh-points", type=int, default=POINTS, help=f"points of each of them (default: {POINTS:,})")
    parser.add_argument(
        "--view-points", type=int, metavar="POINTS", help="measure a slider of pitgeo view on such a mesh instead"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change that prediction's model"
    )
    parser.add_argument("--output", type=Path, default=Path("runs/speed"), metavar="DIR")
    options = parser.parse_args()
    try:
        if options.profile:
            torch.set_num_threads(options.threads)
            for name in options.profile:
                print(format_profile(run_profile(name, options.output, options.repeat, options.seed)))
        elif options.attention_forms:
            torch.set_num_threads(options.threads)
            if options.keep_memory:
                keep_memory()
            print(attention_forms(repeat=max(options.repeat, 10), seed=options.seed))
        elif options.mesh_files:
            print(format_mesh_folder(run_mesh_folder(options.output, options.mesh_files, options.mesh_points)))
        elif options.view_points:
            print(format_view(run_view(options.output, options.view_points, options.threads)))
        elif options.predict_points:
            sizes, settings = options.predict_points, options.set
            print(format_large_files(run_large_files(options.output, sizes, options.threads, settings)))
        else:
            how = Settings(
                options.rounds,
                options.repeat,
                options.threads,
                options.seed,
                options.device,
                options.keep_memory,
                options.busy,
                options.spin,
                options.before,
            )
            works = [*options.works, *(name for name in WORKS if options.growth and name.startswith("growth_"))]
            print(format_speed(run_speed(works or list(WORKS), options.output, how)))
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; finished works are kept\n")
    except (ValueError, RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
