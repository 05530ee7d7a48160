"""The experiment behind docs/benchmarks.md: three seeds of GRPO, each beside as many minutes of supervised training.

`make seeds` runs it and writes the table between the marks in the page. Both start from the shipped warm policy, see
the same training conversations and are measured on the same held-out ones. Interrupted, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from .benchmark_page import PAGE, write_block
from .pipeline import SAMPLES, SEEDS, Options, Pipeline, digest_of, ended, held_out, require_space
from .prove.trajectory import Example, read_lines
from .report import load
from .stages import Outcome, StageFailed, Summary, only_one, write
from .trainer.curriculum import full
from .trainer.evaluate import Difference, Rollouts, paired, table
from .trainer.metrics import COMPONENTS
from .trainer.policy import load_policy, save_policy
from .trainer.sft import SFTRun, Stage, fit

BASELINE = SFTRun(matrix_rate=0.003, rate=6e-4, prompt_weight=0.1, warmup_steps=20)
THREADS = 1  # per arm: both run at the same time
ARMS = ("grpo", "sft")


class Experiment(Pipeline):
    """A pipeline with one more arm: supervised training for the same minutes on the same conversations."""

    def folder_of(self, stage: str) -> Path:
        """All seeds are measured from the same start, once."""
        return self.options.data.parent / "before" if stage == "before" else super().folder_of(stage)

    def arm(self, name: str) -> Outcome:
        """Train one arm and evaluate it; both are skipped when done."""
        data = self.data_set(self.graph())
        trained = self.train(data) if name == "grpo" else self.supervised(data)
        return self.evaluate(f"after {name}", data, trained.folder / "policy")

    def result(self) -> dict[str, Any]:
        """The paired differences of both arms, for the page."""
        data = self.data_set(self.graph())
        before = self.evaluate("before", data, self.options.policy)
        examples = held_out(data)
        result: dict[str, Any] = {"seed": self.options.seed, "steps": self.train(data).summary["steps"]}
        for name in ARMS:
            after = self.arm(name)
            for mode in ("sampled", "greedy"):
                old, new = load(before, mode, examples), load(after, mode, examples)
                result[f"{name} {mode}"] = asdict(paired(old, new))
                result[f"{name} {mode} rows"] = rows(examples, old, new)
        return result

    def supervised(self, data: Outcome) -> Outcome:
        options = self.options

        def work(folder: Path, shown: Any) -> Summary:
            policy = load_policy(options.policy)
            encoded = [full(policy.tokenizer, one) for one in read_lines(Example, data.folder / "train.jsonl")]
            run = replace(
                BASELINE, minutes=options.minutes, seed=options.seed, threads=options.threads, state=folder / "state.pt"
            )
            done = fit(
                policy.model,
                [Stage("full", encoded, 6)],
                run,
                lambda event: shown.set(event["share"], 1, f"step {event['step']}  loss {event['loss']:.3f}"),
            )
            if done.share(run) < 1:
                raise KeyboardInterrupt
            save_policy(folder / "policy", policy.model, policy.tokenizer, {"made_by": "sft", "from": policy.card})
            return {"line": f"supervised, {done.step} steps in {done.seconds / 60:.1f} min", "steps": done.step}

        inputs = {"data": data.key, "policy": digest_of(options.policy), "minutes": options.minutes}
        return self.stage("sft", inputs | {"seed": options.seed}, work)


def run_arms(options: Options) -> None:
    """Both arms of a seed at the same time, a thread each. Raises StageFailed, and KeyboardInterrupt after Ctrl-C."""
    common = [sys.executable, "-m", "training_worker.seeds", "--data", str(options.data.parent)]
    common += ["--policy", str(options.policy), "--minutes", str(options.minutes), "--seeds", str(options.seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    children = [subprocess.Popen([*common, "--arm", name], env=environment) for name in ARMS]
    try:
        codes = [child.wait() for child in children]
    except KeyboardInterrupt:
        codes = [child.wait() for child in children]  # they heard it too, and write their checkpoints
        raise
    if any(codes):
        raise KeyboardInterrupt if 130 in codes else StageFailed("An arm failed; the line above says why.")


def rows(examples: Sequence[Example], old: Rollouts, new: Rollouts) -> list[dict[str, Any]]:
    pairs = zip(table(examples, old), table(examples, new), strict=True)
    return [{"steps": a.steps, "examples": a.examples, "before": a.means, "after": b.means} for a, b in pairs]


def markdown(results: Sequence[dict[str, Any]], options: Options) -> str:
    """The tables of the page."""
    lines = [
        f"{len(results)} seeds, {options.minutes:g} minutes of training each on one CPU thread "
        f"(Python {platform.python_version()}), {options.held_out} held-out examples, {SAMPLES} samples each "
        "at temperature 1 and one greedy. Paired differences with 95% bootstrap intervals over examples. "
        "The largest reward is 1.3.",
        "",
        "| arm | seed | sampled before | after | gain (95%) | greedy before | after | gain (95%) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for arm, name in (("grpo", "GRPO"), ("sft", "supervised")):
        for result in results:
            cells = [
                cell for mode in ("sampled", "greedy") for cell in gain_cells(Difference(**result[f"{arm} {mode}"]))
            ]
            steps = f" ({result['steps']} steps)" if arm == "grpo" else ""
            lines.append(f"| {name}{steps} | {result['seed']} | " + " | ".join(cells) + " |")
    for arm, name in (("grpo", "GRPO"), ("sft", "Supervised")):
        lines += ["", f"{name}, sampled, mean over seeds, before → after:", ""]
        lines += [
            "| steps | examples | reward | " + " | ".join(COMPONENTS) + " |",
            "| --- " * (3 + len(COMPONENTS)) + "|",
        ]
        lines += component_lines([result[f"{arm} sampled rows"] for result in results])
    return "\n".join(lines)


def gain_cells(gain: Difference) -> tuple[str, str, str]:
    interval = f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
    return f"{gain.before:.3f}", f"{gain.after:.3f}", interval


def component_lines(by_seed: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    lines = []
    for group in zip(*by_seed, strict=True):
        names = ("reward", *COMPONENTS) if group[0]["steps"] != "0" else ("reward",)
        cells = []
        for name in names:
            old, new = (sum(row[side][name] for row in group) / len(group) for side in ("before", "after"))
            cells.append(f"{old:.3f} → {new:.3f}")
        cells += [""] * (1 + len(COMPONENTS) - len(names))
        label = "abstain" if group[0]["steps"] == "0" else group[0]["steps"]
        lines.append(f"| {label} | {group[0]['examples']} | " + " | ".join(cells) + " |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.seeds", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data") / "seeds")
    parser.add_argument("--policy", type=Path, default=Path(__file__).parent / "trainer" / "warm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], choices=SEEDS, metavar="0..19")
    parser.add_argument("--minutes", type=float, default=Options.minutes)
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    console = Console()

    def work() -> None:
        if given.arm:
            Experiment(options_for(given, given.seeds[0]), console).arm(given.arm)
            return
        results = [run_seed(options_for(given, seed), console) for seed in given.seeds]
        write(given.data / "results.json", {"results": results})
        write_block("seeds", markdown(results, options_for(given, 0)))
        console.print(f"Table written to {PAGE}.", highlight=False, soft_wrap=True)

    return ended(work, given.data, console)


def options_for(given: argparse.Namespace, seed: int) -> Options:
    folder = given.data.absolute() / f"seed-{seed}"
    return Options(folder, given.policy, seed=seed, minutes=given.minutes, threads=THREADS)


def run_seed(options: Options, console: Console) -> dict[str, Any]:
    console.rule(f"seed {options.seed}")
    with only_one(options.data):
        require_space(options.data)
        experiment = Experiment(options, console)
        experiment.data_set(experiment.graph())
        run_arms(options)
        return experiment.result()


if __name__ == "__main__":
    sys.exit(main())
