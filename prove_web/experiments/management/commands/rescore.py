"""Command that scores stored rollouts with another reward and compares the results."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.core.terminal import console, show_count_bar, table
from training_worker.environment.reward_replay import Comparison, rescore
from training_worker.reward import PRESETS, BadReward, RewardConfig, preset, read_reward
from training_worker.store.rollout_files import data_of, examples_in, files_of, groups_in, rollouts_in


class Command(BaseCommand):
    """`manage.py rescore RUN_FOLDER_OR_FILE --preset graduated --set repeats=0.1`: changes nothing that is stored."""

    help = "Score stored rollouts with another reward; print means, zero-variance groups and ranks before and after."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", type=Path, nargs="+", metavar="path", help="run folder or rollout files")
        parser.add_argument("--preset", default="paper", help=", ".join(PRESETS))
        parser.add_argument(
            "--set", nargs="+", default=[], action="extend", metavar="NAME=VALUE", help="changes to the preset"
        )
        parser.add_argument("--data", type=Path, help="dataset; default: the one next to the run folder")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            config = build_reward_config(options["preset"], options["set"])
        except BadReward as reason:
            raise CommandError(str(reason)) from None
        with raise_command_errors():
            files = [file for path in options["paths"] for file in files_of(path)]
            examples = examples_in(options["data"] or data_of(options["paths"]))
            with show_count_bar("rescore") as progress:
                found = compare_rewards(files, examples, config, progress)
        if options["json"]:
            self.stdout.write(json.dumps(report(found, config), indent=1))
        else:
            print_comparison(self.stdout, found)


def build_reward_config(name: str, changes: Sequence[str]) -> RewardConfig:
    """Return the preset with these fields set, each given as `coverage=0.3`. Raises BadReward."""
    given: dict[str, Any] = {}
    for change in changes:
        field, equals, value = change.partition("=")
        if not equals:
            raise BadReward(f"--set takes NAME=VALUE, such as coverage=0.3, not {change!r}.")
        try:
            given[field] = json.loads(value)
        except ValueError:
            given[field] = value
    return read_reward({**asdict(preset(name)), **given})


def compare_rewards(
    files: Sequence[tuple[int, Path]],
    examples: dict[str, Any],
    config: RewardConfig,
    progress: Callable[[int, int], None],
) -> Comparison:
    """Score every step's rollouts with the configuration at that step's share of the run."""
    found, newest = Comparison(), max(step for step, _ in files)
    for done, (step, file) in enumerate(files, 1):
        rollouts = rollouts_in(file)
        rewards = list(rescore(examples, rollouts, config.interpolate_tau((step - 1) / max(newest - 1, 1))))
        found.add(rollouts, rewards, groups_in(file))
        progress(done, len(files))
    return found


def report(found: Comparison, config: RewardConfig) -> dict[str, Any]:
    means = {"before": found.before.means(), "after": found.after.means()}
    return {"reward": asdict(config), **asdict(found), **means}


def print_comparison(stdout: OutputWrapper, found: Comparison) -> None:
    """Print the table of means, then the changes in groups and ranks."""
    before, after = found.before.means(), found.after.means()
    rows = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    table(console(stdout), ["mean", "before", "after"], rows)
    if found.without_reward:
        stdout.write(f"{found.without_reward:,} rollouts failed through no fault of the policy and have no reward")
    stdout.write(
        f"{found.rollouts:,} rollouts in {found.groups:,} groups: {found.dead_before:,} zero-variance groups before, "
        f"{found.dead_after:,} after ({found.died:,} became, {found.revived:,} stopped being zero-variance)"
    )
    share = found.swapped / found.pairs if found.pairs else 0.0
    stdout.write(
        f"{found.swapped:,} of {found.pairs:,} ranked pairs swap their order ({share:.1%}), "
        f"in {found.reordered:,} groups"
    )
