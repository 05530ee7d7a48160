"""The gradient noise scale of GRPO and of supervised training from the warm policy.

`make noise` measures it on the training conversations of `make proof` and writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..core.benchmark_page import PAGE, write_block
from ..core.models import SHIPPED
from ..core.stage_cache import only_one
from ..core.terminal import bar
from ..core.trajectory import Example, read_lines
from .pipeline import LONGEST_PROMPT, require_space, run_with_exit_code
from .proof import FINAL_SEED, make_sets


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.experiments.noise", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data") / "proof", help="folder of `make proof`")
    parser.add_argument("--policy", type=Path, default=SHIPPED)
    parser.add_argument("--batches", type=int, default=14, help="number of batches, at least 3")
    parser.add_argument("--examples", type=int, default=4_000, help="training conversations, as for `make proof`")
    options, console = parser.parse_args(argv), Console()
    if options.batches < 3:
        parser.error("--batches must be at least 3")

    def work() -> None:
        from ..policy.policy_folder import load_policy
        from ..training.gradient_noise import batch_gradients, table
        from ..training.grpo import silence_libraries
        from ..training.rejection import has_fitting_prompt

        silence_libraries()
        policy = load_policy(options.policy)
        with only_one(options.data):
            require_space(options.data)
            sets = make_sets(options.data, options.examples, FINAL_SEED, console)
            examples = read_lines(Example, sets / "train.jsonl")
            short = [one for one in examples if has_fitting_prompt(policy, one, LONGEST_PROMPT)]
            batches = []
            with bar(console, "gradients") as progress:
                for gradients in batch_gradients(policy, short, options.batches, seed=0):
                    batches.append(gradients)
                    progress.set(len(batches), options.batches, "batches")
        write_block("noise", f"{options.batches} batches of each.\n\n" + "\n".join(table(policy, batches)))
        console.print(f"Table written to {PAGE}.", highlight=False, soft_wrap=True)

    return run_with_exit_code(work, options.data, console)


if __name__ == "__main__":
    sys.exit(main())
