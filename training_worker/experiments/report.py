"""The report at the end of a run: a table of before and after, and plots as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from rich import box
from rich.console import Console
from rich.table import Table

from ..core.plots import BLUE, COLOURS, GREY, finish
from ..core.stage_cache import Outcome, write
from ..core.trajectory import Example, Rollout, read_lines
from ..reward.acts import ACTS, count_acts
from ..training.eval_breakdown import successes
from ..training.evaluate import Rollouts, compare_policies, table
from ..training.metrics import COMPONENTS, goal_means, mean
from ..training.run_folder import RunFolder


def make_report(
    folder: Path, console: Console, examples: Sequence[Example], before: Outcome, trained: Outcome, after: Outcome
) -> bool:
    """Compare before and after on the same held-out examples, and return whether the policy improved.

    Writes summary.json and plots.
    """
    sides = {mode: (load(before, mode, examples), load(after, mode, examples)) for mode in ("sampled", "greedy")}
    gains = {mode: compare_policies(*pair) for mode, pair in sides.items()}
    metrics = list(RunFolder(trained.folder).read_metrics())
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    plot_curves(metrics, plots / "training.png")
    plot_held_out(examples, sides["sampled"], plots / "held-out.png")
    summary = {
        "steps": trained.summary["steps"],
        "seconds": trained.summary["seconds"],
        **{mode: vars(gain) | {"better": gain.better} for mode, gain in gains.items()},
        "by_length": {
            mode: {side: [vars(line) for line in table(examples, rollouts)] for side, rollouts in label_sides(pair)}
            for mode, pair in sides.items()
        },
        "outcomes": {
            mode: {side: outcomes(rollouts) for side, rollouts in label_sides(pair)} for mode, pair in sides.items()
        },
    }
    write(folder / "summary.json", summary)
    show(console, examples, sides, gains)
    console.print(f"Plots in {plots}, everything else in {folder}.", highlight=False, soft_wrap=True, markup=False)
    if not gains["sampled"].better:
        console.print("[yellow]The gain is not beyond chance: train longer (--minutes) or on more (--examples).[/]")
    return gains["sampled"].better


def outcomes(rollouts: Rollouts) -> dict[str, Any]:
    """Return success and, if known, goal success, act accuracy, and user turns by right act and the policy's act."""
    flat = [rollout for each in rollouts for rollout in each]
    found = {"success": mean(successes(flat)), **goal_means(flat)}
    return found | ({"acts": count_acts(flat)} if "act_accuracy" in found else {})


def label_sides(pair: tuple[Rollouts, Rollouts]) -> tuple[tuple[str, Rollouts], tuple[str, Rollouts]]:
    return ("before", pair[0]), ("after", pair[1])


def load(evaluation: Outcome, mode: str, examples: Sequence[Example]) -> Rollouts:
    """Return the rollouts of an evaluation, grouped by example in the order of the examples."""
    grouped: dict[str, list[Rollout]] = {example.id: [] for example in examples}
    for rollout in read_lines(Rollout, evaluation.folder / f"{mode}.jsonl"):
        grouped[rollout.example].append(rollout)
    return list(grouped.values())


def show(
    console: Console, examples: Sequence[Example], sides: dict[str, tuple[Rollouts, Rollouts]], gains: dict[str, Any]
) -> None:
    for mode, pair in sides.items():
        gain = gains[mode]
        console.print(
            f"\n[bold]{mode}[/] reward on {gain.examples} held-out examples {gain.before:.3f} → {gain.after:.3f}: "
            f"[bold]{gain.difference:+.3f}[/] (95% interval {gain.low:+.3f} to {gain.high:+.3f})",
            highlight=False,
            soft_wrap=True,
        )
        grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for column in ("steps", "n", "reward", "validity", "coverage", "efficiency", "name", "arguments"):
            grid.add_column(column, justify="right", no_wrap=True)
        for old, new in zip(table(examples, pair[0]), table(examples, pair[1]), strict=True):
            names = ("reward", *COMPONENTS) if old.steps != "0" else ("reward",)
            cells = [f"{old.means[name]:.2f}→{new.means[name]:.2f}" for name in names]
            grid.add_row("none" if old.steps == "0" else old.steps, str(old.examples), *cells)
        console.print(grid)
        show_outcomes(console, outcomes(pair[0]), outcomes(pair[1]))


def show_outcomes(console: Console, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Print success, goal success and act accuracy before and after, and the policy's acts by right act."""
    titles = {"success": "success", "goal_success": "goal success", "act_accuracy": "act accuracy"}
    shares = {title: (share(old.get(name)), share(new.get(name))) for name, title in titles.items()}
    console.print(", ".join(f"{title} {before} → {after}" for title, (before, after) in shares.items()))
    if "acts" not in old or "acts" not in new:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("right act", *(f"policy: {act}" for act in ACTS)):
        table.add_column(column, justify="right", no_wrap=True)
    for act, before, after in zip(ACTS, old["acts"], new["acts"], strict=True):
        table.add_row(act, *(f"{a}→{b}" for a, b in zip(before, after, strict=True)))
    console.print(table)


def share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def plot_curves(metrics: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot mean reward and components of each training step, raw and smoothed."""
    metrics = [line for line in metrics if "reward" in line]  # a step without a scored rollout has none
    steps = [line["step"] for line in metrics]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    left.plot(steps, [line["reward"] for line in metrics], color=BLUE, alpha=0.25)
    left.plot(steps, smooth([line["reward"] for line in metrics]), color=BLUE)
    left.set(title="Reward of the training rollouts", xlabel="step", ylabel="mean total reward")
    for name, colour in zip(COMPONENTS, COLOURS, strict=True):
        right.plot(steps, smooth([line[name] for line in metrics]), color=colour, label=name)
    right.set(title="Components (smoothed)", xlabel="step")
    right.legend(frameon=False)
    finish(figure, path)


def plot_held_out(examples: Sequence[Example], pair: tuple[Rollouts, Rollouts], path: Path) -> None:
    """Plot held-out reward before and after, by the number of ground-truth steps."""
    old, new = (table(examples, side) for side in pair)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    places = range(len(old))
    for offset, lines, colour, name in ((-0.2, old, GREY, "before"), (0.2, new, BLUE, "after GRPO")):
        bars = axes.bar(
            [p + offset for p in places], [line.means["reward"] for line in lines], 0.38, color=colour, label=name
        )
        axes.bar_label(bars, fmt="%.2f", fontsize=8)
    labels = ["abstain" if line.steps == "0" else line.steps for line in old]
    axes.set_xticks(list(places), [f"{label}\n({line.examples})" for label, line in zip(labels, old, strict=True)])
    axes.set(title="Held-out reward by ground-truth steps (sampled)", ylabel="mean total reward", ylim=(0, 1.4))
    axes.legend(frameon=False, loc="upper right", ncols=2)
    finish(figure, path)


def smooth(values: Sequence[float], weight: float = 0.85) -> list[float]:
    """Return an exponential mean without bias towards the start."""
    smoothed, total, norm = [], 0.0, 0.0
    for value in values:
        total, norm = weight * total + (1 - weight) * value, weight * norm + (1 - weight)
        smoothed.append(total / norm)
    return smoothed
