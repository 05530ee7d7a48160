"""Training arms over several seeds, compared on the same held-out conversations.

`make proof`, `make ablations` and `make pretrained` train and measure the arms of an experiment that are not finished,
and write its tables into docs/benchmarks.md. A finished arm is a line of docs/results, which is committed, as is the
adapter that it trained, if it trained one: the work goes on on any machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from rich.console import Console

from mcp_servers.catalogue import compute_wording_digest, fingerprint

from ..core.benchmark_page import PAGE, write_block
from ..core.models import SHIPPED, add_root
from ..core.stage_cache import StageFailed, code_digest, only_one, run_stage
from ..core.terminal import Bar, bar
from ..core.trajectory import Example, Split, file_digest, read_lines, write_lines
from ..core.warm import DEVELOPMENT_SEED, SERVERS, UNSEEN_SERVERS, UNSEEN_TOOLS
from ..graph.dependency_graph import load_or_build, part
from ..graph.edges import LONG_PATH, longest_path
from ..reward import PRESETS
from ..synthesis.conversation import Recipe
from ..synthesis.dataset import synthesize
from ..synthesis.knobs import TINY
from .pipeline import LONGEST_PROMPT, digest_of, find_shared_values, require_space, run_with_exit_code

ROOT = Path(__file__).parents[2]
SMOLLM2 = Path("data") / "models" / "SmolLM2-135M-Instruct"
RESULTS, README = ROOT / "docs" / "results", ROOT / "README.md"
FETCH = "python manage.py fetch_model"
TRAIN_SEED, FINAL_SEED = 20, 0  # of recipes
SETS = {"held_out": 260, "unseen_tools": 120, "unseen_servers": 120}  # conversations of each
TITLES = {"held_out": "held-out worlds", "unseen_tools": "unseen tools", "unseen_servers": "unseen servers"}
BEFORE = "before"
PLACES = ("policy", "data", "out", "state", "seed")  # settings that do not make an arm another
Result = dict[str, Any]


@dataclass(frozen=True)
class Arm:
    """A way to train; `settings` are those of its run that differ from the defaults.

    It starts from the policy of the experiment, or from the one that the arm `start` trained with the first seed, and
    is compared with it. A supervised arm spends the share `brief` of its time on chains without tool schemas first.
    """

    name: str
    title: str
    method: Literal["grpo", "rejection", "supervised"] = "grpo"
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    brief: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The arms of an experiment, and what is different in it.

    With `longest`, training uses only conversations of at most that many tokens, chains as often as among all, and
    chains of at most `longest_brief` without tool schemas; the first `chains` chains of each set of at most
    `longest_measured` tokens are measured. With a `lora_rank`, adapters are trained. `limits` are the
    tokens of a turn, and of all turns with their observations. Each conversation is measured by `samples` rollouts at
    temperature 1 and a greedy one. The tables show `scores`.
    """

    arms: tuple[Arm, ...]
    policy: Path = SHIPPED
    title: str = "one warm policy"
    sets: tuple[str, ...] = ("held_out", "unseen_tools", "unseen_servers")
    minutes: float = 6.0
    seeds: tuple[int, ...] = (0, 1, 2)
    longest: int = 0
    longest_brief: int = 0
    longest_measured: int = 0
    chains: int = 0
    lora_rank: int = 0
    limits: tuple[int, int] = (160, 1_024)
    samples: int = 2
    scores: tuple[str, ...] = ("success",)

    @property
    def modes(self) -> dict[str, tuple[int, float]]:
        """Return the rollouts of a conversation, and their temperature, for each way to sample."""
        return {"sampled": (self.samples, 1.0), "greedy": (1, 0.0)}


PROOF = (
    Arm("grpo", "GRPO", settings={"credit": "rollout"}),
    Arm(
        "final_norm",
        "GRPO, final norm only",
        settings={"credit": "rollout", "trainable": "final_norm", "learning_rate": 6e-2},
    ),
    Arm("branch", "GRPO, credit at the branches", settings={"credit": "branch"}),
    Arm("rejection", "rejection-sampling fine-tuning", "rejection"),
    Arm("supervised", "supervised training", "supervised"),
)
REWARDS = ("no_validity", "no_coverage", "no_efficiency", "no_name", "no_arguments", "flat_budget", "graduated")
ABLATIONS = (
    Arm("paper", "the paper's reward"),
    *(Arm(name, name.replace("_", " "), settings={"reward": PRESETS[name]}) for name in REWARDS),
    Arm("state", "state reward", settings={"reward": PRESETS["final_state"]}),
    Arm("rollout", "credit to every token", settings={"credit": "rollout"}),
    Arm("kl", "with a KL term of 0.01", settings={"beta": 0.01}),
    Arm("group_4", "16 groups of 4", settings={"prompts": 16, "group": 4}),
    Arm("group_16", "4 groups of 16", settings={"prompts": 4, "group": 16}),
)
ADAPTER_SFT: dict[str, Any] = {"rate": 7e-4, "prompt_weight": 0.0, "warmup_steps": 5, "decay": 0.5}
SMALL_BATCH: dict[str, Any] = {"prompts": 4, "group": 4, "credit": "rollout"}
PRETRAINED = (
    Arm("start", "supervised phase (90 minutes)", "supervised", {**ADAPTER_SFT, "minutes": 90.0}, brief=0.5),
    Arm("grpo", "GRPO after it", "grpo", {**SMALL_BATCH, "learning_rate": 1e-4}, start="start"),
    Arm("supervised", "supervised training after it", "supervised", {**ADAPTER_SFT, "rate": 3e-4}, start="start"),
)
EXPERIMENTS = {
    "proof": Plan(PROOF),
    "ablations": Plan(ABLATIONS),
    "pretrained": Plan(
        PRETRAINED,
        SMOLLM2,
        "SmolLM2-135M-Instruct with adapters of rank 8",
        ("held_out", "unseen_servers"),
        minutes=120.0,
        seeds=(0,),
        longest=1_500,
        longest_brief=800,
        longest_measured=2_000,
        chains=48,
        lora_rank=8,
        limits=(128, 896),
        samples=1,
        scores=("success", "reward"),
    ),
}


class Experiment:
    """One experiment: its conversations, the arms that are finished, and those that are still to be run."""

    def __init__(self, options: argparse.Namespace, console: Console):
        self.options, self.console = options, console
        self.plan: Plan = EXPERIMENTS[options.experiment]
        self.arms = {arm.name: arm for arm in self.plan.arms}
        name = f"{options.experiment}-development" if options.development else options.experiment
        self.file: Path = options.results / f"{name}.jsonl"

    def run(self) -> None:
        """Run what is not finished, with an estimate of the time. Raises StageFailed, KeyboardInterrupt."""
        finished = self.load_results()
        arms = [self.arms[name] for name in self.options.arms or self.arms]
        first = [(arm.start, self.options.seeds[0]) for arm in arms if arm.start]
        wanted = dict.fromkeys([*first, *product([arm.name for arm in arms], self.options.seeds), (BEFORE, 0)])
        todo = [each for each in wanted if each not in finished]
        measured = list[float]()
        for number, (name, seed) in enumerate(todo):
            measuring = fmean(measured) / 60 if measured else self.options.minutes / 10
            left = sum(measuring + self.minutes_of(one) for one, _ in todo[number:])
            self.console.print(f"{name} {seed}: {number + 1} of {len(todo)}, about {left:.0f} minutes to go")
            began = time.monotonic()
            result = self.measure(name, seed)
            measured.append(max(0.0, time.monotonic() - began - result["seconds"]))
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(result) + "\n")

    def minutes_of(self, name: str) -> float:
        """Return how many minutes an arm trains."""
        return 0.0 if name == BEFORE else float(self.arms[name].settings.get("minutes", self.options.minutes))

    @cached_property
    def sets(self) -> Path:
        """The folder of the conversations. Raises StageFailed."""
        seed = DEVELOPMENT_SEED if self.options.development else FINAL_SEED
        sets = make_sets(self.options.data, self.options.examples, seed, self.console)
        return select_short(sets, self.plan, self.options.policy) if self.plan.longest else sets

    def examples(self, name: str) -> list[Example]:
        return list(read_lines(Example, self.sets / f"{name}.jsonl"))

    @cached_property
    def keys(self) -> dict[str, str]:
        """What the result of each arm depends on: the policy, the conversations, the settings and the time."""
        start = [
            digest_of(self.options.policy),
            self.plan.modes,
            *(file_digest(self.sets / f"{name}.jsonl") for name in self.plan.sets),
        ]
        train = file_digest(self.sets / "train.jsonl")
        facts: dict[str, list[Any]] = {BEFORE: start}
        for arm in self.arms.values():
            settings = asdict(configure(arm, 0, self.sets, Path(), self.options))
            facts[arm.name] = [*start, train, arm.method, {k: v for k, v in settings.items() if k not in PLACES}]
            if arm.brief:
                facts[arm.name].append([arm.brief, file_digest(self.sets / "brief.jsonl")])
            if arm.start:
                facts[arm.name].append([facts[arm.start], self.options.seeds[0]])
        return {
            name: blake2b(json.dumps(each, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()
            for name, each in facts.items()
        }

    def load_results(self) -> dict[tuple[str, int], Result]:
        """Return the finished arms of these conversations, this policy and these settings, by name and seed."""
        lines = self.file.read_text("utf-8").splitlines() if self.file.exists() else []
        results: list[Result] = [json.loads(line) for line in lines]
        return {
            (one["arm"], one["seed"]): one
            for one in results
            if self.keys.get(one["arm"]) == one["key"] and one["seed"] in (0, *self.options.seeds)
        }

    def measure(self, name: str, seed: int) -> Result:
        """Train an arm and measure its policy on every set. Raises StageFailed, KeyboardInterrupt."""
        from ..config.grpo import TokenLimits
        from ..policy.policy_folder import load_policy, store_adapter
        from ..training.eval_breakdown import successes
        from ..training.evaluate import evaluate, totals_of

        steps, seconds, folder = 0, 0.0, self.options.policy
        if name != BEFORE:
            out = self.options.data / f"{name}-{seed}-{self.keys[name]}"
            start = self.start_of(self.arms[name])
            with bar(self.console, f"{name} {seed}") as progress:
                steps, seconds, folder = train(self.arms[name], seed, self.sets, out, self.options, start, progress)
            if self.plan.lora_rank:
                folder = store_adapter(folder, self.adapter(name, seed), start)
        policy, outcomes = load_policy(folder), {}
        for set_name, (mode, (samples, temperature)) in product(self.plan.sets, self.plan.modes.items()):
            with bar(self.console, f"{set_name}, {mode}"):
                examples = self.examples(set_name)
                limits = TokenLimits(*self.plan.limits)
                made = evaluate(policy.model, policy.tokenizer, examples, samples, temperature, seed=1, limits=limits)
            outcomes[f"{set_name} {mode}"] = [successes(each) for each in made]
            outcomes[f"{set_name} {mode} reward"] = [totals_of(each) for each in made]
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "threads": self.options.threads}
        result = {"arm": name, "seed": seed, "key": self.keys[name], "steps": steps, "seconds": round(seconds, 1)}
        return result | {"machine": machine, "outcomes": outcomes}

    def start_of(self, arm: Arm) -> Path:
        """Return the folder of the policy that an arm starts from."""
        return self.adapter(arm.start, self.options.seeds[0]) if arm.start else self.options.policy

    def adapter(self, name: str, seed: int) -> Path:
        """Return the folder where the adapter of an arm is stored, beside the results."""
        return self.file.parent / f"{self.file.stem}-{name}-{seed}"


def make_sets(data: Path, examples: int, seed: int, console: Console) -> Path:
    """Return the folder of training conversations and of SETS of a seed, made once. Raises StageFailed."""
    servers = (*SERVERS, *UNSEEN_SERVERS)

    def make(folder: Path) -> dict[str, Any]:
        graph = load_or_build(data, servers=servers)
        known = part(graph, SERVERS, UNSEEN_TOOLS)
        plan: dict[str, tuple[int, Split, Any, int, tuple[str, ...]]] = {
            "train": (examples, "train", known, TRAIN_SEED, ()),
            "held_out": (SETS["held_out"], "held_out", known, seed, ()),
            "unseen_tools": (SETS["unseen_tools"], "held_out", part(graph, SERVERS), seed, UNSEEN_TOOLS),
            "unseen_servers": (SETS["unseen_servers"], "held_out", part(graph, UNSEEN_SERVERS), seed, ()),
        }
        made: dict[str, list[Example]] = {}
        for name, (count, split, tools, recipe, about) in plan.items():
            with bar(console, name) as progress:
                made[name], report = synthesize(
                    count,
                    split,
                    tools,
                    Recipe(recipe, knobs=TINY),
                    lambda done, total, progress=progress: progress.set(done, total, "conversations"),  # type: ignore[misc]
                    about=about,
                )
            if lack := report.shortfall():
                raise StageFailed(lack)
            write_lines(folder / f"{name}.jsonl", made[name])
        for name in SETS:
            if leaks := find_shared_values(made["train"], made[name]):
                raise StageFailed(f"The worlds of {name} share {len(leaks)} values with training: {leaks[:3]}.")
        return {}

    inputs = {"servers": fingerprint(servers), "wording": compute_wording_digest(servers), "code": code_digest()}
    inputs |= {"unseen": ",".join((*UNSEEN_TOOLS, *UNSEEN_SERVERS)), "sets": json.dumps(SETS)}
    inputs |= {"examples": str(examples), "seeds": f"{TRAIN_SEED} {seed}"}
    return run_stage(data / f"conversations-{seed}", inputs, make).folder


def select_short(sets: Path, plan: Plan, policy: Path) -> Path:
    """Return a folder of the conversations that are short enough for a plan, and of each set its first chains."""

    def select(folder: Path) -> dict[str, Any]:
        from ..policy.policy_folder import load_tokenizer
        from ..training.curriculum import brief, encode_full_demonstration, shorten_answers

        tokenizer = load_tokenizer(policy).tokenizer

        def up_to(longest: int, encode: Callable[..., Any], examples: Sequence[Example]) -> list[Example]:
            return [one for one in examples if len(encode(tokenizer, shorten_answers(one)).ids) <= longest]

        for name in plan.sets:
            measured = up_to(
                plan.longest_measured,
                encode_full_demonstration,
                all_chains(read_lines(Example, sets / f"{name}.jsonl")),
            )
            write_lines(folder / f"{name}.jsonl", measured[: plan.chains])
        examples = list(read_lines(Example, sets / "train.jsonl"))
        every, short = all_chains(examples), up_to(plan.longest, encode_full_demonstration, examples)
        others = [one for one in short if one.kind != "chain"]
        most = len(all_chains(short)) * (len(examples) - len(every)) // len(every)
        write_lines(folder / "train.jsonl", [*all_chains(short), *others[:most]])
        write_lines(folder / "brief.jsonl", up_to(plan.longest_brief, brief, every))
        return {}

    inputs = {name: file_digest(sets / f"{name}.jsonl") for name in ("train", *plan.sets)}
    inputs |= {
        "policy": digest_of(policy),
        "longest": f"{plan.longest} {plan.longest_brief} {plan.longest_measured}",
        "chains": str(plan.chains),
    }
    return run_stage(sets.with_name(f"{sets.name}-short"), inputs, select).folder


def all_chains(examples: Iterable[Example]) -> list[Example]:
    return [one for one in examples if one.kind == "chain"]


def configure(arm: Arm, seed: int, sets: Path, out: Path, options: argparse.Namespace) -> Any:
    """Return the run of an arm: a GRPORun, a RejectionRun or an SFTRun."""
    from ..config.grpo import TokenLimits
    from ..training.grpo import GRPORun
    from ..training.packed_sft import SFTRun
    from ..training.rejection import RejectionRun

    common: dict[str, Any] = {"seed": seed, "threads": options.threads, "minutes": options.minutes}
    if arm.method == "supervised":
        return SFTRun(**{**common, "state": out / "state.pt", **SUPERVISED, **arm.settings})
    plan = EXPERIMENTS[options.experiment]
    common |= {"policy": options.policy, "data": sets / "train.jsonl", "out": out}
    common |= {"longest_prompt": plan.longest or LONGEST_PROMPT}
    if arm.method == "rejection":
        return RejectionRun(**common, **arm.settings)
    common |= {"lora_rank": plan.lora_rank, "limits": TokenLimits(*plan.limits)}
    return GRPORun(**{**common, **REINFORCED, **arm.settings})


SUPERVISED = {"matrix_rate": 3e-4, "rate": 6e-5, "warmup_steps": 20}  # about where the warm-up ended
REINFORCED = {"learning_rate": 5e-5, "decay": 0.3, "max_steps": 100_000}  # the time ends a run


def train(
    arm: Arm, seed: int, sets: Path, out: Path, options: argparse.Namespace, start: Path, progress: Bar
) -> tuple[int, float, Path]:
    """Train the policy `start`; return steps, seconds and the folder of the new one. Raises KeyboardInterrupt."""
    from ..training.grpo import train as reinforce
    from ..training.rejection import train_on_successes

    run = configure(arm, seed, sets, out, options)

    def on_event(event: Mapping[str, Any]) -> None:
        if "seconds" in event:
            say = (f"{name} {event[name]:.3f}" for name in ("model_nll", "reward") if name in event)
            progress.set(event["seconds"] / 60, run.minutes, ", ".join([f"step {event.get('step', '')}", *say]))

    if arm.method == "supervised":
        plan = EXPERIMENTS[options.experiment]
        longest = plan.longest or LONGEST_PROMPT
        return supervise(run, sets, out, start, longest, plan.lora_rank, arm.brief, on_event)
    run = replace(run, policy=start)
    trained = (reinforce if arm.method == "grpo" else train_on_successes)(run, on_event)
    if trained.ended == "stopped":
        raise KeyboardInterrupt
    return trained.step, trained.seconds, trained.policy


def supervise(
    run: Any,
    sets: Path,
    out: Path,
    start: Path,
    longest: int,
    lora_rank: int,
    brief_share: float,
    on_event: Callable[[dict[str, Any]], None],
) -> tuple[int, float, Path]:
    """Train on the ground truth of the training conversations, as the last stages of the warm-up do."""
    from ..policy.policy_folder import load_policy, save_policy
    from ..training.curriculum import brief, encode_full_demonstration, shorten_answers
    from ..training.device import unwrap_lora
    from ..training.grpo_trainer import add_adapter
    from ..training.packed_sft import Stage, fit_model
    from ..training.rejection import has_fitting_prompt

    policy = load_policy(start)
    examples = [one for one in read_lines(Example, sets / "train.jsonl") if has_fitting_prompt(policy, one, longest)]
    encoded = [encode_full_demonstration(policy.tokenizer, shorten_answers(one)) for one in examples]
    stages = [Stage("full", encoded, 2 if lora_rank else 6, 1 - brief_share)]
    if brief_share:
        chains = read_lines(Example, sets / "brief.jsonl")
        stages.insert(
            0, Stage("brief", [brief(policy.tokenizer, shorten_answers(one)) for one in chains], 4, brief_share)
        )
    out.mkdir(parents=True, exist_ok=True)
    model = add_adapter(policy.model, lora_rank, seed=run.seed) if lora_rank else policy.model
    done = fit_model(unwrap_lora(model), stages, run, on_event)
    if done.share(run) < 1:
        raise KeyboardInterrupt
    save_policy(out / "policy", model, policy.tokenizer, {"made_by": "sft", "from": str(start)})
    return done.step, done.seconds, out / "policy"


def chains(examples: Sequence[Example], longest: int | None = None) -> list[int]:
    """Return the places of the chains; of those with one longest dependent path, if given."""
    paths = [longest_path(len(one.steps), one.edges) for one in examples]
    return [
        at
        for at, (one, path) in enumerate(zip(examples, paths, strict=True))
        if one.kind == "chain" and longest in (None, min(path, LONG_PATH))
    ]


def compare(before: Sequence[Result], after: Sequence[Result], outcome: str, places: Sequence[int]) -> Any:
    """Return the paired difference in success on some conversations, each side the mean over its results."""
    from ..training.evaluate import difference

    old, new = (
        [[v for one in side for v in one["outcomes"][outcome][at]] for at in places] for side in (before, after)
    )
    return difference(old, new)


class Results:
    """The finished arms of an experiment, compared with the policy that each started from, and with the first arm."""

    def __init__(self, experiment: Experiment):
        self.experiment, self.results = experiment, experiment.load_results()
        by_arm = {
            name: {seed: one for (arm, seed), one in self.results.items() if arm == name} for name in experiment.arms
        }
        self.by_arm = {name: dict(sorted(seeds.items())) for name, seeds in by_arm.items() if seeds}

    def cells(self, group: Sequence[Result], outcome: str, places: Sequence[int]) -> tuple[str, str]:
        start = self.experiment.arms[group[0]["arm"]].start
        before = self.results.get((start, self.experiment.options.seeds[0]) if start else (BEFORE, 0))
        number = {"scale": 1, "digits": 3} if outcome.endswith("reward") else {}
        cells = format_cells(compare([before] if before else group, group, outcome, places), **number)
        return cells if before else (cells[0].partition(" ")[0], "")

    def scores(self, group: Sequence[Result], outcome: str, places: Sequence[int]) -> str:
        """Return a cell with each of the plan's scores, before and after, and the difference."""
        names = {"success": ("", outcome), "reward": ("reward ", f"{outcome} reward")}
        chosen = [names[score] for score in self.experiment.plan.scores]
        cells = [(label, filter(None, self.cells(group, outcome, places))) for label, outcome in chosen]
        return "; ".join(label + ", ".join(parts) for label, parts in cells)

    def summary(self) -> Iterator[str]:
        """Yield the lines of the table that the README has too: each arm over all its seeds, on each set."""
        options, plan = self.experiment.options, self.experiment.plan
        trained = len([*read_lines(Example, self.experiment.sets / "train.jsonl")])
        results = [one for seeds in self.by_arm.values() for one in seeds.values()]
        machines = {json.dumps(one["machine"]): one["machine"] for one in results}
        where = "; ".join(f"{m['cores']} cores, Python {m['python']}" for m in machines.values())
        yield (
            f"{options.minutes:g} minutes of training ({where}) from {plan.title} on {trained:,} "
            f"conversations. Success on chains in %, {describe_samples(plan.samples)} of each conversation at "
            "temperature 1; differences in points, paired, with 95% bootstrap intervals over conversations.\n"
        )
        places = {name: chains(self.experiment.examples(name)) for name in plan.sets}
        titles = [f"{TITLES[name]} ({len(places[name])} chains)" for name in plan.sets]
        yield "| arm | seeds | " + " | ".join(titles) + " |"
        yield "| --- | ---: |" + " --- |" * len(titles)
        for arm, seeds in self.by_arm.items():
            cells = [self.scores([*seeds.values()], f"{name} sampled", places[name]) for name in plan.sets]
            yield f"| {self.experiment.arms[arm].title} | {len(seeds)} | " + " | ".join(cells) + " |"

    def details(self) -> Iterator[str]:
        """Yield the lines of the tables by set and seed, and by longest dependent path."""
        arms = self.experiment.arms
        for name in self.experiment.plan.sets:
            places = chains(self.experiment.examples(name))
            yield f"\n{TITLES[name].capitalize()}, {len(places)} chains, by seed:\n"
            yield "| arm | seed | steps | sampled | change | greedy | change | sampled, beside the first arm |"
            yield "| --- | --- | ---: | --- | --- | --- | --- | --- |"
            for arm, seeds in self.by_arm.items():
                rows = [(str(seed), str(one["steps"]), [one]) for seed, one in seeds.items()]
                rows += [("all", "", [*seeds.values()])] if len(seeds) > 1 else []
                for seed, steps, group in rows:
                    cells = [
                        cell
                        for mode in self.experiment.plan.modes
                        for cell in self.cells(group, f"{name} {mode}", places)
                    ]
                    first = [*next(iter(self.by_arm.values())).values()]
                    beside = ""
                    if seed == "all" and group != first:
                        beside = format_cells(compare(first, group, f"{name} sampled", places))[1]
                    yield f"| {arms[arm].title} | {seed} | {steps} | " + " | ".join([*cells, beside]) + " |"
        yield "\nHeld-out worlds by longest dependent path, sampled, all seeds:\n"
        yield "| arm | path | chains | success | change |\n| --- | --- | ---: | --- | --- |"
        examples = self.experiment.examples("held_out")
        for (arm, seeds), path in product(self.by_arm.items(), range(1, LONG_PATH + 1)):
            if places := chains(examples, path):
                success, change = self.cells([*seeds.values()], "held_out sampled", places)
                length = f"{path} and more" if path == LONG_PATH else path
                yield f"| {arms[arm].title} | {length} | {len(places)} | {success} | {change} |"


def describe_samples(count: int) -> str:
    return "one rollout" if count == 1 else f"{count} rollouts"


def format_cells(change: Any, scale: float = 100, digits: int = 1) -> tuple[str, str]:
    """Return before and after, and their difference with its interval; by default in % and points."""
    before, after, by, low, high = (
        scale * value for value in (change.before, change.after, change.difference, change.low, change.high)
    )
    within = f"({low:+.{digits}f} to {high:+.{digits}f})"
    return f"{before:.{digits}f} → {after:.{digits}f}", f"{by:+.{digits}f} {within}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="training_worker.experiments.proof", description=__doc__.split("\n")[0])
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--data", type=Path, default=Path("data") / "proof", help="folder for what the arms write")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the finished arms")
    parser.add_argument("--policy", type=Path, help="by default the one of the experiment")
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="by default all")
    parser.add_argument("--seeds", type=int, nargs="+", help="by default those of the experiment")
    parser.add_argument("--minutes", type=float, help="of training in each arm")
    parser.add_argument("--examples", type=int, default=4_000, help="training conversations")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tables", action="store_true", help="train nothing, write the tables of the finished arms")
    parser.add_argument("--development", action="store_true", help="measure on development worlds, write no table")
    options, console = parser.parse_args(argv), Console()
    plan = EXPERIMENTS[options.experiment]
    options.policy, options.minutes = options.policy or plan.policy, options.minutes or plan.minutes
    options.seeds = options.seeds or [*plan.seeds]
    names = [arm.name for arm in plan.arms]
    if unknown := sorted(set(options.arms or ()) - set(names)):
        parser.error(f"there is no arm {unknown[0]!r}; there are {', '.join(names)}")

    def work() -> None:
        if not options.policy.is_dir():
            remedy = f"Get it: {FETCH} {plan.policy.name}" if options.policy == SMOLLM2 else "Check --policy."
            raise StageFailed(f"There is no model in {options.policy}. {remedy}")
        with only_one(options.data), add_root(SMOLLM2.parent):
            require_space(options.data)
            experiment = Experiment(options, console)
            if not options.tables:
                experiment.run()
            elif not experiment.load_results():
                raise StageFailed(
                    f"No arm of these settings is finished in {experiment.file}: there is no table to write."
                )
            results = Results(experiment)
            summary, details = "\n".join(results.summary()), "\n".join(results.details())
        if options.development:
            console.print(f"{summary}\n{details}", highlight=False, soft_wrap=True, markup=False)
            return
        write_block(options.experiment, f"{summary}\n{details}")
        if options.experiment == "proof":
            write_block("proof", summary, README)
        console.print(f"Tables written to {PAGE}.", highlight=False, soft_wrap=True)

    return run_with_exit_code(work, options.data, console)


if __name__ == "__main__":
    sys.exit(main())
