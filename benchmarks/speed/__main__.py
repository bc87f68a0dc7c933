"""Measure one way to do a work in this process, and print the result as JSON."""

import argparse
import json
import sys

import torch

from benchmarks.speed.measure import measure
from benchmarks.speed.table import WORKS
from pitgeo.system.memory import keep_memory


def _main() -> None:
    parser = argparse.ArgumentParser(description="Measure one way to do a work in this process.")
    parser.add_argument("name")
    parser.add_argument("way")
    for name in ("repeat", "threads", "seed"):
        parser.add_argument(name, type=int)
    parser.add_argument("device")
    parser.add_argument("--keep-memory", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # as training does
    if options.keep_memory:
        keep_memory()
    torch.manual_seed(options.seed)
    step = WORKS[options.name].ways[options.way](options.seed, options.device)
    sys.stdout.write(json.dumps(measure(step, options.repeat, options.device)) + "\n")


if __name__ == "__main__":
    _main()
