"""The ablations of the paper on the tiny policy: a part of the reward left out, measured by the whole of it.

`make ablations` runs it and writes the table between the marks in docs/benchmarks.md. Every arm starts from the shipped
warm policy and makes as many steps on the same conversations in the same order; what it trains on is its own reward,
what it is measured by is the paper's. Interrupted, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console

from .benchmark_page import PAGE, write_block
from .pipeline import (
    LONGEST_PROMPT,
    SAMPLES,
    SEEDS,
    Options,
    Pipeline,
    digest_of,
    ended,
    held_out,
    require_space,
)
from .prove.reward import PRESETS
from .report import load
from .stages import Outcome, StageFailed, Summary, only_one, write
from .trainer.evaluate import Difference, Rollouts, paired
from .trainer.metrics import COMPONENTS, component_means

FULL = "paper"
ARMS = (FULL, *(name for name, config in PRESETS.items() if config.form == "paper" and name != FULL))
STEPS = 60


class Ablation(Pipeline):
    """A pipeline whose training may score by another reward; its evaluation never does."""

    def folder_of(self, stage: str) -> Path:
        """The graph, and what the policy could do before, are the same for all seeds."""
        shared = stage in ("graph", "before")
        return self.options.data.parent / stage if shared else super().folder_of(stage)

    def arm(self, reward: str) -> Outcome:
        """Train by one reward and measure; both are skipped when done."""
        data = self.data_set(self.graph())
        trained = self.reinforce(reward, data)
        return self.evaluate(f"after {reward}", data, trained.folder / "policy")

    def reinforce(self, reward: str, data: Outcome) -> Outcome:
        options = self.options

        def work(folder: Path, shown: Any) -> Summary:
            from .trainer.grpo import GRPORun, train

            def tell(event: dict[str, Any]) -> None:
                if event["event"] == "step":
                    shown.set(event["step"], options.max_steps, f"step {event['step']}  reward {event['reward']:.2f}")

            run = GRPORun(
                policy=options.policy,
                data=data.folder / "train.jsonl",
                out=folder,
                seed=options.seed,
                max_steps=options.max_steps,
                learning_rate=options.learning_rate,
                longest_prompt=LONGEST_PROMPT,
                decay=0.3,
                threads=options.threads,
                reward=PRESETS[reward],
            )
            trained = train(run, tell)
            if trained.ended == "stopped":
                raise KeyboardInterrupt
            return {"line": f"{trained.step} steps by the reward {reward}", "seconds": trained.seconds}

        inputs = {name: getattr(options, name) for name in ("seed", "max_steps", "learning_rate")}
        inputs |= {"data": data.key, "policy": digest_of(options.policy), "reward": asdict(PRESETS[reward])}
        return self.stage(f"train {reward}", inputs, work)

    def measured(self, reward: str) -> Rollouts:
        """The held-out rollouts after training by a reward, four of each conversation."""
        return load(self.arm(reward), "sampled", held_out(self.data_set(self.graph())))


def run_arms(todo: Iterable[tuple[str, int]], given: argparse.Namespace) -> None:
    """Every arm of every seed, `processes` at a time. Raises StageFailed, and KeyboardInterrupt after Ctrl-C."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(given.threads)}
    waiting, running = list(todo), list[subprocess.Popen[bytes]]()
    try:
        while waiting or running:
            while waiting and len(running) < given.processes:
                running.append(subprocess.Popen(command(*waiting.pop(0), given), env=environment))
            code = running[0].wait()
            running.pop(0)
            if code:
                raise KeyboardInterrupt if code == 130 else StageFailed("An arm failed; the line above says why.")
    finally:
        for child in running:
            child.terminate()
            child.wait()


def command(reward: str, seed: int, given: argparse.Namespace) -> list[str]:
    words = [sys.executable, "-m", "training_worker.ablations", "--arm", reward, "--seeds", str(seed)]
    for name in ("data", "policy", "steps", "threads"):
        words += [f"--{name}", str(getattr(given, name))]
    return words


def result_of(by_seed: Sequence[Ablation], reward: str) -> dict[str, Any]:
    """What training by a reward gave, over all seeds, and its paired difference to the whole reward."""
    whole = [one.measured(FULL) for one in by_seed]
    these = [one.measured(reward) for one in by_seed]
    together = [flat(rollouts) for rollouts in zip(*these, strict=True)]
    means = component_means([rollout for rollouts in together for rollout in rollouts])
    difference = paired([flat(rollouts) for rollouts in zip(*whole, strict=True)], together)
    return {"reward": reward, "means": means, "calls": calls(together), "difference": asdict(difference)}


def flat(parts: Iterable[Iterable[Any]]) -> list[Any]:
    return [one for part in parts for one in part]


def calls(rollouts: Rollouts) -> float:
    found = [len(rollout.calls) for group in rollouts for rollout in group]
    return sum(found) / len(found)


def markdown(results: Sequence[dict[str, Any]], given: argparse.Namespace) -> str:
    """The table of the page: one line a reward, the whole one first."""
    seeds = "one seed" if len(given.seeds) == 1 else f"each of {len(given.seeds)} seeds"
    lines = [
        f"{given.steps} steps of GRPO for {seeds}, {Options.held_out} held-out examples, "
        f"{SAMPLES} samples each at temperature 1 (Python {platform.python_version()}). Every arm is measured by the "
        "whole reward; the difference to it is paired, with a 95% bootstrap interval over examples.",
        "",
        "| trained by | reward | difference (95%) | " + " | ".join(COMPONENTS) + " | calls |",
        "| --- " * (len(COMPONENTS) + 4) + "|",
    ]
    for result in results:
        gain = Difference(**result["difference"])
        told = f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})" if result["reward"] != FULL else ""
        parts = " | ".join(f"{round(result['means'][name], 3) + 0.0:.3f}" for name in COMPONENTS)  # no minus zero
        name = "the whole reward" if result["reward"] == FULL else result["reward"].replace("_", " ")
        lines.append(f"| {name} | {result['means']['reward']:.3f} | {told} | {parts} | {result['calls']:.2f} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.ablations", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data") / "ablations")
    parser.add_argument("--policy", type=Path, default=Path(__file__).parent / "trainer" / "warm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], choices=SEEDS, metavar="0..19")
    parser.add_argument("--steps", type=int, default=STEPS, help="of GRPO in each arm")
    parser.add_argument("--threads", type=int, default=1, help="of each arm")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="arms at a time")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    given, console = parser.parse_args(argv), Console()

    def work() -> None:
        if given.arm:
            experiment(given, given.seeds[0], console).arm(given.arm)
        else:
            compare(given, console)

    return ended(work, given.data, console)


def compare(given: argparse.Namespace, console: Console) -> None:
    with only_one(given.data):
        require_space(given.data)
        by_seed = [experiment(given, seed, console) for seed in given.seeds]
        for one in by_seed:
            one.data_set(one.graph())
        run_arms(((reward, seed) for seed, reward in product(given.seeds, ARMS)), given)
        results = [result_of(by_seed, reward) for reward in ARMS]
    write(given.data / "results.json", {"results": results})
    write_block("ablations", markdown(results, given))
    console.print(f"Table written to {PAGE}.", highlight=False, soft_wrap=True)


def experiment(given: argparse.Namespace, seed: int, console: Console) -> Ablation:
    folder = given.data.absolute() / f"seed-{seed}"
    return Ablation(Options(folder, given.policy, seed=seed, max_steps=given.steps, threads=given.threads), console)


if __name__ == "__main__":
    sys.exit(main())
