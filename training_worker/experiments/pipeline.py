"""The whole PROVE pipeline in one command: graph, data, warm policy, GRPO, held-out evaluation before and after.

Each stage stores its results under DATA/pipeline and is skipped while its inputs are the same; an interrupted run
resumes where it stopped. Exit codes: 0 success, 1 a stage failed, 3 all ran but the policy did not improve beyond
chance, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import networkx as nx
from rich.console import Console
from rich.markup import escape

from mcp_servers.catalogue import compute_wording_digest, fingerprint

from ..core.models import SHIPPED
from ..core.stage_cache import Outcome, StageFailed, Summary, code_digest, only_one, run_stage
from ..core.terminal import bar, sparkline
from ..core.trajectory import Example, UnreadableData, file_digest, read_lines, write_lines
from ..core.warm import SERVERS as WARM_SERVERS
from ..graph.dependency_graph import load_or_build
from ..synthesis.conversation import Recipe
from ..synthesis.dataset import synthesize
from ..synthesis.knobs import TINY

FREE_BYTES = 300_000_000
FULL_BYTES = 10_000_000
TRAIN_RECIPE_SEED, HELD_OUT_RECIPE_SEED = 20, 0
LONGEST_PROMPT = 1_024
HELD_OUT_SPARE = 1.1
SAMPLES = 4  # rollouts of each held-out example at temperature 1
NO_GAIN = 3
STOPPED = "Stopped. Finished work is saved; run the same command to resume."
SEEDS = range(20)  # recipe seeds 20 to 39; 0 to 19 belong to warm-up and held-out data


@dataclass(frozen=True)
class Options:
    """The options of a run. The defaults are the ones behind docs/benchmarks.md."""

    data: Path
    policy: Path
    seed: int = 0
    minutes: float = 6.0
    examples: int = 4_000
    held_out: int = 200
    max_steps: int = 350
    learning_rate: float = 2e-4
    threads: int = 2


class Pipeline:
    """The stages of one run, in order; each method is a stage and reports its result in one line."""

    def __init__(self, options: Options, console: Console):
        self.options, self.console = options, console
        self.folder = options.data / "pipeline"

    def run(self) -> bool:
        """Run unfinished stages; return whether the policy improved on worlds it has not seen."""
        graph = self.graph()
        data = self.data_set(graph)
        before = self.evaluate("before", data, self.options.policy)
        trained = self.train(data)
        after = self.evaluate("after", data, trained.folder / "policy")
        return self.report(data, before, trained, after)

    def stage(self, name: str, inputs: Summary, work: Any) -> Outcome:
        with bar(self.console, name) as progress:
            began = time.monotonic()
            outcome = run_stage(self.folder_of(name), inputs, lambda folder: work(folder, progress))
        took = "cached" if outcome.cached else f"{time.monotonic() - began:.0f} s"
        if outcome.changed:
            self.console.print(f"  {name} ran again: {outcome.changed} changed.", highlight=False)
        line = f"[green]✓[/] [bold]{name:<10}[/] {outcome.summary['line']} [dim]({took})[/]"
        self.console.print(line, highlight=False, soft_wrap=True)
        return outcome

    def folder_of(self, stage: str) -> Path:
        return self.folder / stage.replace(" ", "-")

    def load_graph(self, progress: Callable[[int, int], None] = lambda done, total: None) -> nx.DiGraph:
        """Return the graph of the small policy's servers, from the folder that the site's jobs use too."""
        return load_or_build(self.options.data / "graph", progress, WARM_SERVERS)

    def graph(self) -> Outcome:
        def work(folder: Path, progress: Any) -> Summary:
            graph = self.load_graph(lambda done, total: progress.set(done, total, "pairs run in forked sessions"))
            edges, created = graph.number_of_edges(), sum(data["created"] for _, _, data in graph.edges(data=True))
            if not edges:
                raise StageFailed("No dependency between tools could be verified; the servers cannot be chained.")
            line = (
                f"{len(graph)} tools on {len(WARM_SERVERS)} servers, {edges} dependencies verified by execution "
                f"({created} on what the earlier call created), {len(graph.graph['unproven'])} candidates unverified"
            )
            return {"line": line, "edges": edges, "created": created, "unproven": graph.graph["unproven"]}

        return self.stage("graph", {"servers": fingerprint(WARM_SERVERS), "prover code": code_digest()}, work)

    def data_set(self, graph: Outcome) -> Outcome:
        options = self.options

        def work(folder: Path, progress: Any) -> Summary:
            from ..policy.policy_folder import load_policy
            from ..policy.prompts import prompt_length

            tokenizer = load_policy(options.policy).tokenizer
            known = self.load_graph()
            examples, counts, left_out = {}, {}, {}
            plan = (
                ("train", options.examples, Recipe(TRAIN_RECIPE_SEED + options.seed, knobs=TINY)),
                ("held_out", int(options.held_out * HELD_OUT_SPARE), Recipe(HELD_OUT_RECIPE_SEED, knobs=TINY)),
            )
            for split, count, recipe in plan:
                tell = lambda done, total, split=split: progress.set(done, total, f"{split} conversations")  # noqa: E731
                made, report = synthesize(count, split, known, recipe, tell)  # type: ignore[arg-type]
                fitting = [example for example in made if prompt_length(tokenizer, example) <= LONGEST_PROMPT]
                left_out[split] = len(made) - len(fitting)
                counts[split] = {**vars(report), "too_long": left_out[split]}
                examples[split] = fitting[: options.held_out] if split == "held_out" else fitting
                write_lines(folder / f"{split}.jsonl", examples[split])
            leaks = find_shared_values(examples["train"], examples["held_out"])
            if leaks:
                raise StageFailed(f"The held-out worlds share {len(leaks)} values with training: {leaks[:3]}.")
            if len(examples["held_out"]) < options.held_out:
                raise StageFailed(
                    f"Only {len(examples['held_out'])} of {options.held_out} held-out examples could be made."
                )
            lengths = Counter(len(example.steps) for example in examples["train"])
            by_length = ", ".join(f"{steps}: {lengths[steps]}" for steps in sorted(lengths))
            line = (
                f"{len(examples['train']):,} training and {len(examples['held_out'])} held-out conversations, "
                f"all replayed, each ground truth with full reward; steps {by_length}"
            )
            return {"line": line, "counts": counts, "left out as too long": left_out}

        names = ("seed", "examples", "held_out")
        inputs = {"servers": fingerprint(WARM_SERVERS), "wording": compute_wording_digest(WARM_SERVERS)}
        inputs |= {"synthesis code": code_digest()}
        inputs |= {name: getattr(options, name) for name in names}
        return self.stage("data", inputs | {"policy": digest_of(options.policy)}, work)

    def evaluate(self, name: str, data: Outcome, policy: Path) -> Outcome:
        def work(folder: Path, progress: Any) -> Summary:
            from ..policy.policy_folder import load_policy
            from ..training.evaluate import evaluate, table

            found, examples = load_policy(policy), held_out(data)
            lines: dict[str, Any] = {}
            for mode, samples, temperature in (("sampled", SAMPLES, 1.0), ("greedy", 1, 0.0)):
                progress.set(mode == "greedy", 2, f"{mode}, {len(examples)} held-out worlds")
                made = evaluate(found.model, found.tokenizer, examples, samples, temperature, seed=1)
                write_lines(folder / f"{mode}.jsonl", [rollout for rollouts in made for rollout in rollouts])
                lines[mode] = [asdict(line) for line in table(examples, made)]
            means = {mode: rows[-1]["means"]["reward"] for mode, rows in lines.items()}
            return {"line": f"held-out reward {means['sampled']:.3f} sampled, {means['greedy']:.3f} greedy", **lines}

        worlds = file_digest(data.folder / "held_out.jsonl")
        return self.stage(name, {"held-out worlds": worlds, "policy": digest_of(policy)}, work)

    def train(self, data: Outcome) -> Outcome:
        options = self.options

        def work(folder: Path, progress: Any) -> Summary:
            from ..training.grpo import GRPORun, train

            curve: list[float] = []

            def show_training_progress(event: dict[str, Any]) -> None:
                if event["event"] == "step":
                    curve.extend([event["reward"]] if "reward" in event else curve[-1:])
                    passed = max(event["elapsed_s"] / 60 / options.minutes, event["step"] / options.max_steps)
                    reward = f"reward {event['reward']:.2f}" if "reward" in event else "no scored rollout"
                    say = f"step {event['step']}  {reward}  {sparkline(curve, 24)}"
                    progress.set(min(passed, 1.0), 1.0, say)
                elif event["event"] == "resumed":
                    self.console.print(f"  resumes from the checkpoint of step {event['step']}", highlight=False)

            run = GRPORun(
                policy=options.policy,
                data=data.folder / "train.jsonl",
                out=folder,
                seed=options.seed,
                minutes=options.minutes,
                max_steps=options.max_steps,
                learning_rate=options.learning_rate,
                longest_prompt=LONGEST_PROMPT,
                decay=0.3,
                threads=options.threads,
            )
            progress.set(0, 1, "loading")
            trained = train(run, show_training_progress)
            if trained.ended == "stopped":
                raise KeyboardInterrupt
            line = f"GRPO, {trained.step} steps in {trained.seconds / 60:.1f} min on the live servers"
            return {"line": line, "steps": trained.step, "seconds": trained.seconds}

        names = ("seed", "minutes", "max_steps", "learning_rate")
        inputs = {name: getattr(options, name) for name in names}
        return self.stage("train", {"data": data.key, "policy": digest_of(options.policy), **inputs}, work)

    def report(self, data: Outcome, before: Outcome, trained: Outcome, after: Outcome) -> bool:
        from .report import make_report

        return make_report(self.folder, self.console, held_out(data), before, trained, after)


def held_out(data: Outcome) -> list[Example]:
    return list(read_lines(Example, data.folder / "held_out.jsonl"))


def find_shared_values(train: Sequence[Example], held_out: Sequence[Example]) -> list[str]:
    """Return ids, e-mail addresses and full names that occur on both sides of the split: there must be none."""
    from ..dataflow.leakage import identifiers

    return sorted(identifiers(train) & identifiers(held_out))


def digest_of(policy: Path) -> str:
    """Return a digest of a policy's weights and tokenizer."""
    weights = sorted(policy.glob("*.safetensors")) or [policy / "model.safetensors"]  # of an adapter, or several files
    files = (*weights, policy / "tokenizer.json")
    return "+".join(file_digest(path) if path.exists() else "missing" for path in files)


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="manage.py pipeline", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="output folder")
    parser.add_argument("--policy", type=Path, default=SHIPPED, help="folder of the policy to start from")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training data and of GRPO, 0 to 19")
    parser.add_argument("--minutes", type=float, default=Options.minutes, help="minutes of GRPO")
    parser.add_argument("--examples", type=int, default=Options.examples, help="training conversations to make")
    parser.add_argument("--held-out", type=int, default=Options.held_out, help="held-out conversations to evaluate on")
    parser.add_argument("--max-steps", type=int, default=Options.max_steps, help="maximum GRPO steps")
    parser.add_argument("--learning-rate", type=float, default=Options.learning_rate, help="learning rate of GRPO")
    parser.add_argument("--fresh", action="store_true", help="discard the results of earlier runs")
    return parser


def read_options(argv: Sequence[str] | None) -> tuple[Options, bool]:
    """Return the options and whether to start over; an invalid value ends the program with a one-line error."""
    parser = option_parser()
    given = vars(parser.parse_args(argv))
    fresh = given.pop("fresh")
    for name in ("minutes", "examples", "held_out", "max_steps", "learning_rate"):
        if not given[name] > 0:
            parser.error(f"--{name.replace('_', '-')} must be more than 0, not {given[name]}.")
    if given["seed"] not in SEEDS:
        parser.error(f"--seed must be from {SEEDS[0]} to {SEEDS[-1]}, not {given['seed']}.")
    return Options(**given), fresh


def main(argv: Sequence[str] | None = None) -> int:
    options, fresh = read_options(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    console = Console()
    pipeline = Pipeline(options, console)

    def work() -> int:
        with only_one(options.data):
            if fresh:
                shutil.rmtree(pipeline.folder, ignore_errors=True)
            require_space(options.data)
            return 0 if pipeline.run() else NO_GAIN

    return run_with_exit_code(work, options.data, console)


def run_with_exit_code(work: Callable[[], int | None], data: Path, console: Console) -> int:
    """Do work that writes under `data`; return its exit code, and print the reason in one line if it failed."""
    try:
        return work() or 0
    except KeyboardInterrupt:
        console.print(STOPPED, highlight=False, soft_wrap=True)
        return 130
    except (StageFailed, UnreadableData) as error:
        reason = str(error)
    except OSError as error:
        reason = explain(error, data)
    except Exception:
        if shutil.disk_usage(data).free > FULL_BYTES:
            raise  # a bug, whose traceback should be seen
        reason = explain(OSError(errno.ENOSPC, ""), data)  # libraries report a full disk in their own ways
    console.print(f"[red]Failed:[/] {escape(reason)}", highlight=False, soft_wrap=True)
    return 1


def require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES:
        raise StageFailed(
            f"{folder} has {free / 1e6:.0f} MB free and a run needs {FREE_BYTES / 1e6:.0f} MB. "
            "Free disk space, or set --data to a folder on another disk."
        )


def explain(error: OSError, folder: Path) -> str:
    """Return an operating system's error as what happened, where, and what to do."""
    where = error.filename or folder
    match error.errno:
        case errno.ENOSPC:
            return f"The disk is full at {where}. Free disk space and run the same command to resume."
        case errno.EACCES | errno.EROFS | errno.EPERM:
            return f"{where} cannot be written. Set PROVE_DATA (or --data) to a writable folder."
    return f"{error.strerror or error} at {where}."


if __name__ == "__main__":
    sys.exit(main())
