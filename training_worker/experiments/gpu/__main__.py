"""GPU experiments in one command: train a real model on the hardest servers, and time a step of the paper's size.

Each finished stage is stored under --data and not repeated; after an interruption the same command resumes. The tables
are written into docs/benchmarks.md only if a GPU produced them. `--device cpu --steps 2 --small` tries every stage
without one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from ...core.benchmark_page import write_block
from ...core.models import add_root
from ...core.stage_cache import Outcome, StageFailed, Summary, only_one, run_stage, write
from ..pipeline import run_with_exit_code
from .docs_page import markdown
from .options import SMALL, Options, Size
from .real_model_experiment import RealModelExperiment
from .step import measure_step

MODEL = "SmolLM2-135M-Instruct"


class Stages:
    """A runner of stages in their own folders, which prints one line about each result."""

    def __init__(self, folder: Path, console: Console):
        self.folder, self.console = folder, console

    def __call__(self, name: str, inputs: Summary, work: Callable[[Path], Summary]) -> Outcome:
        began = time.monotonic()
        outcome = run_stage(self.folder / name.replace(" ", "-").lower(), inputs, work)
        took = "cached" if outcome.cached else f"{time.monotonic() - began:.0f} s"
        self.print(f"{name}: {outcome.summary['line']} ({took})")
        return outcome

    def print(self, line: str) -> None:
        self.console.print(line, highlight=False, soft_wrap=True, markup=False)


def run(options: Options, console: Console) -> str:
    """Run all stages and return the tables. Raises StageFailed, UnreadableData and KeyboardInterrupt."""
    from ...training.device import name_of, require_device

    require_device(options.device)
    stages = Stages(options.data, console)
    learning = RealModelExperiment(options, stages, stages.print)
    learned = learning.run()
    step = measure_step(options, learning.data_set(), stages, stages.print)
    machine = name_of(options.device)
    write(options.data / "results.json", {"machine": machine, "learned": learned, "step": step})
    table = markdown(learned, step, machine, options)
    if options.device == "cuda" and not options.small:
        write_block("gpu", table, options.page)
        stages.print(f"Tables written to {options.page}.")
    else:
        stages.print(f"{table}\nNot written to {options.page.name}: this was a trial run on {machine}.")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    console = Console()
    options = options_of(argv)

    def work() -> None:
        if not options.model.is_dir():
            raise StageFailed(f"There is no model in {options.model}. Get it: python manage.py fetch_model {MODEL}")
        with only_one(options.data), add_root(options.model.parent):
            run(options, console)

    return run_with_exit_code(work, options.data, console)


def options_of(argv: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m training_worker.experiments.gpu", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", type=Path, help="output folder (default: data/gpu, or data/gpu-small)")
    parser.add_argument("--model", type=Path, default=Path("data") / "models" / MODEL, help="folder of the model")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--steps", type=int, help="GRPO steps, and the maximum SFT steps; 0 skips GRPO")
    parser.add_argument("--sft-steps", type=int, help="SFT steps, whatever --steps says")
    parser.add_argument("--minutes", type=float, help="maximum minutes of GRPO")
    parser.add_argument("--shape-steps", type=int, help="steps of the model with 4B's shape")
    parser.add_argument("--small", action="store_true", help="use small sizes everywhere, with LoRA, as a smoke test")
    given = parser.parse_args(argv)
    size = SMALL if given.small else Size()
    if given.steps is not None:
        size = replace(size, grpo_steps=given.steps, sft_steps=min(size.sft_steps, given.steps or size.sft_steps))
    size = replace(size, sft_steps=given.sft_steps or size.sft_steps, shape_steps=given.shape_steps or size.shape_steps)
    size = replace(size, grpo_minutes=given.minutes)
    data = given.data or Path("data") / ("gpu-small" if given.small else "gpu")
    return Options(data.absolute(), given.model.absolute(), given.device, size, small=given.small)


if __name__ == "__main__":
    sys.exit(main())
