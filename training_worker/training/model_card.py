"""The model card of an exported policy: training data, method, evaluation and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from ..core.trajectory import Rollout, read_lines
from .evaluate import Difference, compare_policies

MODES = ("sampled", "greedy")
LIMITS = """It was trained and measured on simulated tool servers with generated conversations in one language. Nothing
is known of it on other tools, on long contexts, or against people who mean harm. What it calls should be checked where
a call costs anything."""


def model_card(card: Mapping[str, Any], run: Path | None, name: str, licence: str, *, merged: bool) -> ModelCard:
    """Return the README of an export; without a run it has no measurements."""
    gains = compute_gains(run) if run else {}
    data = ModelCardData(
        license=licence or "other",
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=["tool-calling", "grpo", "prove-studio"],
        model_name=name,
        eval_results=[result for mode, gain in gains.items() for result in results(mode, gain)] or None,
    )
    sections = [
        f"---\n{data.to_yaml()}\n---",
        f"# {name}",
        "A policy that was trained to orchestrate calls of stateful tools, with GRPO on live servers and a "
        "programmatic reward (PROVE, arXiv 2606.03892). Made with PROVE Studio.",
        f"## Data\n\nThe training examples have the SHA-256 `{settings_of(card).get('data', 'unknown')}`.",
        f"## How it was made\n\n{describe_training(card, merged)}\n\n{table(settings_of(card))}",
        f"## How good it is\n\n{format_gains(gains)}",
        f"## Limits\n\n{LIMITS}",
        "## Licence\n\n" + (f"`{licence}`" if licence else "None was named. That of the starting model applies to it."),
    ]
    return ModelCard("\n\n".join(sections) + "\n")


def settings_of(card: Mapping[str, Any]) -> dict[str, Any]:
    return dict(card.get("run", {}))


def describe_training(card: Mapping[str, Any], merged: bool) -> str:
    steps, seconds = card.get("steps", "an unknown number of"), float(card.get("seconds", 0.0))
    rank = settings_of(card).get("lora_rank", 0)
    how = f"a LoRA adapter of rank {rank}{', merged into the weights' if merged else ''}" if rank else "all weights"
    start = settings_of(card).get("policy", "unknown")
    return f"{steps} steps in {seconds / 60:.1f} minutes, {how}. The weights it started from: SHA-256 `{start}`."


def table(settings: Mapping[str, Any]) -> str:
    rows = [f"| {name} | `{json.dumps(value)}` |" for name, value in sorted(settings.items())]
    return "\n".join(["| setting | value |", "| --- | --- |", *rows])


def format_gains(gains: Mapping[str, Difference]) -> str:
    if not gains:
        return "It was not measured."
    lines = [
        f"| {mode} | {gain.examples} | {gain.before:.3f} | {gain.after:.3f} | "
        f"{gain.difference:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) |"
        for mode, gain in gains.items()
    ]
    head = ["| held-out reward | examples | before | after | gain (95%) |", "| --- | --- | --- | --- | --- |"]
    note = "Worlds that no training example opens; paired by example, with bootstrap intervals."
    return "\n".join([*head, *lines, "", note])


def results(mode: str, gain: Difference) -> list[EvalResult]:
    return [
        EvalResult(
            task_type="text-generation",
            dataset_type="prove-held-out",
            dataset_name="held-out worlds",
            metric_type="reward",
            metric_name=f"reward, {mode}",
            metric_value=round(gain.after, 4),
        )
    ]


def compute_gains(run: Path) -> dict[str, Difference]:
    """Return the gains by mode, computed from the rollouts in the run's folder."""
    found = {}
    for mode in MODES:
        files = [run / "evaluations" / f"{side}-{mode}" / "rollouts.jsonl" for side in ("before", "after")]
        if all(file.is_file() for file in files):
            before, after = (by_example(file) for file in files)
            common = [id for id in before if id in after]
            if any(valid(before[id]) and valid(after[id]) for id in common):
                found[mode] = compare_policies([before[id] for id in common], [after[id] for id in common])
    return found


def by_example(file: Path) -> dict[str, list[Rollout]]:
    found: dict[str, list[Rollout]] = {}
    for rollout in read_lines(Rollout, file):
        found.setdefault(rollout.example, []).append(rollout)
    return found


def valid(rollouts: list[Rollout]) -> bool:
    return any(rollout.reward is not None for rollout in rollouts)
