"""Held-out evaluation of a run: at intervals during training, and before against after training at its end.

Results are stored in the run's folder, so that a later attempt does not repeat them. Imports torch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..core.stage_cache import run_stage
from ..core.trajectory import Example, Rollout, read_lines, write_lines
from ..experiments.pipeline import SAMPLES, digest_of
from ..policy.policy_folder import Policy
from ..policy.prompts import prompt_length
from ..reward.acts import count_acts
from ..training.eval_breakdown import compare_slices, state_reached, summarize_slices
from ..training.eval_config import build_evaluation_config
from ..training.evaluate import ROWS, Rollouts, compare_policies, table
from ..training.metrics import outcome_means
from .eta import RunProgress
from .job_context import EventLog, JobRefusedError

WATCHED = 48  # conversations that are evaluated during training
MODES = (("sampled", SAMPLES, 1.0), ("greedy", 1, 0.0))


def select_short_prompts(examples: Iterable[Example], policy: Policy, longest: int, most: int) -> list[Example]:
    """Return the first `most` conversations whose prompts have at most `longest` tokens."""
    found: list[Example] = []
    for example in examples:
        if len(found) == most:
            break
        if prompt_length(policy.tokenizer, example) <= longest:
            found.append(example)
    return found


class Watch:
    """Greedy evaluations during training; `training.grpo.train` calls it with the policy and the step.

    Raises SettingsError and UnreadablePolicy.
    """

    def __init__(self, out: Path, examples: list[Example], policy: Policy, pace: RunProgress, tell: EventLog):
        self.path, self.examples = out / "held-out.jsonl", examples[:WATCHED]
        self.policy, self.pace, self.tell = policy, pace, tell
        self.measuring = build_evaluation_config(pace.config)
        known = list(read_lines(dict, self.path)) if self.path.exists() else []
        self.lines: dict[int, dict[str, Any]] = {line["step"]: line for line in known}

    def rewind(self, step: int) -> None:
        """Discard the results after this step, and report the others again."""
        self.lines = {at: line for at, line in self.lines.items() if at <= step}
        for line in self.lines.values():
            self.tell("held_out", **line)

    def __call__(self, model: Any, step: int, vllm: Any = None) -> float | None:
        """Evaluate the policy. Return the mean reward; None without examples, or if no rollout could be scored.

        `vllm` is TRL's object if vLLM generates.
        """
        if not self.examples or step in self.lines:
            return self.lines[step].get("reward") if step in self.lines else None
        line = f"step {step}: evaluating on {len(self.examples)} held-out worlds"
        self.tell("progress", **self.pace.describe_progress(line))
        began = time.monotonic()
        made = self.measuring.rollouts(model, self.policy.tokenizer, self.examples, temperature=0.0, vllm=vllm)
        seconds = time.monotonic() - began
        self.pace.add_evaluated_rollouts(len(self.examples), seconds, final=False)
        means = outcome_means([rollout for rollouts in made for rollout in rollouts])
        if (reached := state_reached(self.examples, made)) is not None:
            means["state"] = reached
        about = {"examples": len(self.examples), "seconds": seconds, "slices": summarize_slices(self.examples, made)}
        self.lines[step] = {"step": step, **means, **about}
        write_lines(self.path, self.lines.values())
        self.tell("held_out", **self.lines[step])
        return means.get("reward")


class Comparison:
    """Comparison of before and after training on the same held-out worlds, sampled and greedy.

    Raises SettingsError and UnreadablePolicy.
    """

    def __init__(self, out: Path, examples: list[Example], pace: RunProgress, tell: EventLog):
        self.out, self.pace, self.tell = out / "evaluations", pace, tell
        self.examples, self.measuring = examples, build_evaluation_config(pace.config)

    def result(self, before: Path, after: Path) -> dict[str, Any]:
        """Return the paired differences, the sampled rollouts by chain length, and all by slice.

        Raises JobRefusedError.
        """
        sides = {"before": before, "after": after}
        found = {
            mode: {side: self.rollouts(side, folder, mode, samples, temperature) for side, folder in sides.items()}
            for mode, samples, temperature in MODES
        }
        try:
            gains = {mode: compare_policies(of["before"], of["after"]) for mode, of in found.items()}
        except ValueError as error:
            raise JobRefusedError(f"The policies cannot be compared. {error}") from None
        tables = {side: [asdict(line) for line in table(self.examples, found["sampled"][side])] for side in sides}
        comparison = {mode: asdict(gain) | {"better": gain.better} for mode, gain in gains.items()}
        modes = {mode: (of["before"], of["after"]) for mode, of in found.items()}
        for mode, pair in modes.items():
            comparison[mode]["state"] = [state_reached(self.examples, side) for side in pair]
            acts = [count_acts(rollout for each in side for rollout in each) for side in pair]
            comparison[mode] |= {"acts": acts} if all(any(map(any, table)) for table in acts) else {}
        return {**tables, **comparison, "slices": compare_slices(self.examples, modes)}

    def rollouts(self, side: str, policy: Path, mode: str, samples: int, temperature: float) -> Rollouts:
        """Return the rollouts of a policy, grouped by example; they are generated unless they are stored."""

        def work(folder: Path) -> dict[str, Any]:
            made = self.evaluate(self.measuring.load(policy), f"{side}, {mode}", samples, temperature)
            write_lines(folder / "rollouts.jsonl", [rollout for rollouts in made for rollout in rollouts])
            return {}

        inputs = {"policy": digest_of(policy), "examples": [example.id for example in self.examples]}
        stage = run_stage(self.out / f"{side}-{mode}", inputs | {"samples": samples}, work)
        if stage.cached:
            self.pace.final -= len(self.examples) * samples
        flat = list(read_lines(Rollout, stage.folder / "rollouts.jsonl"))
        return [flat[i : i + samples] for i in range(0, len(flat), samples)]

    def evaluate(self, policy: Policy, name: str, samples: int, temperature: float) -> Rollouts:
        """Evaluate in batches of similar length, so that it can report progress and be stopped in between."""
        lengths = [prompt_length(policy.tokenizer, example) for example in self.examples]
        order = sorted(range(len(self.examples)), key=lengths.__getitem__)
        found: dict[int, list[Rollout]] = {}
        for start in range(0, len(order), size := ROWS // samples):
            line = f"evaluating {name}: {start} of {len(order)} held-out worlds"
            self.tell.progress(**self.pace.describe_progress(line, training=False))
            batch, began = order[start : start + size], time.monotonic()
            examples = [self.examples[i] for i in batch]
            model, tokenizer = policy.model, policy.tokenizer
            made = self.measuring.rollouts(model, tokenizer, examples, samples, temperature, seed=1 + start)
            found |= dict(zip(batch, made, strict=True))
            self.pace.add_evaluated_rollouts(len(batch) * samples, time.monotonic() - began, final=True)
        return [found[i] for i in range(len(order))]
