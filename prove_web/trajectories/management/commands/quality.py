"""Command that measures a dataset against targets: dependence between steps, raw ids, distractor tools, wording."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.core.terminal import console, table
from training_worker.dataflow.quality import ROWS, Quality, format_target, format_value, measure
from training_worker.datasets import dataset_folder
from training_worker.datasets.shortcuts import SAMPLE, Shortcuts, measure_shortcuts
from training_worker.evaluation.bfcl.examples import base_examples
from training_worker.evaluation.environment import NotInstalled
from training_worker.evaluation.protocol import NotRun
from training_worker.evaluation.registry import open_bfcl

BFCL = {row.name: row.bfcl for row in ROWS if row.bfcl is not None}
COLUMNS = ("value", "target", "met", "BFCL")
MET = {True: "yes", False: "no", None: ""}


class Command(BaseCommand):
    """`manage.py quality FOLDER`: a table for each split."""

    help = "Measure a dataset: dependence between steps, raw ids, distractor tools and variety of wording."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="dataset folder with a manifest.json")
        parser.add_argument("--split", choices=dataset_folder.SPLITS, help="only this split")
        parser.add_argument(
            "--shortcuts",
            action="store_true",
            help=f"run scripted policies that read no observation on up to {SAMPLE} chains of each split",
        )
        parser.add_argument(
            "--bfcl",
            action="store_true",
            help="measure the BFCL column on the installed benchmark; default: the values of the release",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: object) -> None:
        path, split = Path(str(options["folder"])), options["split"]
        splits = [one for one in dataset_folder.SPLITS if split in (None, one)]
        bfcl = measure_bfcl() if options["bfcl"] else BFCL
        with raise_command_errors():
            measured = {one: measure(dataset_folder.examples(path, one)) for one in splits}
            wanted = splits if options["shortcuts"] else ()
            shortcuts = {one: measure_shortcuts(dataset_folder.examples(path, one)) for one in wanted}
        if options["json"]:
            found = {one: to_json(quality, bfcl, shortcuts.get(one)) for one, quality in measured.items()}
            self.stdout.write(json.dumps(found, indent=1))
            return
        out = console(self.stdout)
        for one, quality in measured.items():
            table(out, [one.replace("_", "-"), *COLUMNS], format_rows(quality, bfcl))
            if one in shortcuts:
                table(out, [f"{one.replace('_', '-')}: shortcuts", *COLUMNS[:3]], format_shortcuts(shortcuts[one]))


def measure_bfcl() -> dict[str, float]:
    """Return the column of BFCL multi-turn base, measured in its environment. Raises CommandError."""
    try:
        with open_bfcl(Path(settings.PROVE_DATA) / "benchmarks", {}) as bfcl:
            quality = measure(base_examples(bfcl))
    except (NotInstalled, NotRun) as reason:
        raise CommandError(str(reason)) from None
    return {name: quality.value(row) for row in ROWS for name in BFCL if name == row.name}


def to_json(quality: Quality, bfcl: Mapping[str, float], shortcuts: Shortcuts | None) -> dict[str, Any]:
    """Return the rows of a measure as JSON, with the size of the n-gram sample, the features and the shortcuts."""
    rows = [
        asdict(row) | {"bfcl": bfcl.get(row.name), "value": quality.value(row), "met": quality.meets_row_target(row)}
        for row in ROWS
    ]
    found = {"rows": rows, "tokens": quality.tokens, "features": quality.features}
    if shortcuts:
        rows = [asdict(row) | {"met": row.meets_target} for row in shortcuts.rows]
        found["shortcuts"] = {"chains": shortcuts.chains, "rows": rows, "passed": shortcuts.passed}
    return found


def format_rows(quality: Quality, bfcl: Mapping[str, float]) -> Iterator[list[str]]:
    """Yield the lines of the table of a measure, then the size of the n-gram sample and the features."""
    for row in ROWS:
        yield [
            row.label,
            format_value(row, quality.value(row)),
            format_target(row),
            MET[quality.meets_row_target(row)],
            format_value(row, bfcl[row.name]) if row.name in bfcl else "",
        ]
    yield ["Tokens behind distinct-2 and distinct-4", f"{quality.tokens:,}", "", "", ""]
    for name, count in quality.features.items():
        yield [f"Examples with {name}", f"{count:,}", "", "", ""]


def format_shortcuts(shortcuts: Shortcuts) -> Iterator[list[str]]:
    """Yield the lines of the table of shortcuts, the size of their sample first."""
    yield ["Chains in the sample", f"{shortcuts.chains:,}", "", ""]
    for row in shortcuts.rows:
        yield [row.label, format_value(row, row.value), format_target(row), MET[row.meets_target]]
