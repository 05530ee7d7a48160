"""Measures of a data set beside their targets: dependence between steps, raw ids, distractor tools, wording."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from prove_web.trajectories.management.reading import told_in_a_line
from training_worker.prove.synthesis import folder
from training_worker.prove.synthesis.quality import ROWS, Quality, format_target, format_value, measure
from training_worker.terminal import console, table

COLUMNS = ("value", "target", "met", "BFCL")


class Command(BaseCommand):
    """`manage.py quality FOLDER`: a table for each split."""

    help = "Measure a data set: dependence between steps, raw ids, distractor tools and variety of wording."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="where its manifest.json is")
        parser.add_argument("--split", choices=folder.SPLITS, help="this split alone")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: object, **options: object) -> None:
        path, split = Path(str(options["folder"])), options["split"]
        splits = [one for one in folder.SPLITS if split in (None, one)]
        with told_in_a_line():
            measured = {one: measure(folder.examples(path, one)) for one in splits}
        if options["json"]:
            self.stdout.write(json.dumps({one: to_json(quality) for one, quality in measured.items()}, indent=1))
            return
        out = console(self.stdout)
        for one, quality in measured.items():
            table(out, [one.replace("_", "-"), *COLUMNS], format_rows(quality))


def to_json(quality: Quality) -> dict[str, Any]:
    """Return the rows of a measure as JSON, with the size of the n-gram sample and the features."""
    rows = [asdict(row) | {"value": quality.value(row), "met": quality.meets(row)} for row in ROWS]
    return {"rows": rows, "tokens": quality.tokens, "features": quality.features}


def format_rows(quality: Quality) -> Iterator[list[str]]:
    """Yield the lines of the table of a measure, then the size of the n-gram sample and the features."""
    for row in ROWS:
        target = format_target(row)
        met = {True: "yes", False: "no", None: ""}[quality.meets(row)]
        yield [
            row.label,
            format_value(row, quality.value(row)),
            target,
            met,
            "" if row.bfcl is None else format_value(row, row.bfcl),
        ]
    yield ["Tokens behind distinct-2 and distinct-4", f"{quality.tokens:,}", "", "", ""]
    for name, count in quality.features.items():
        yield [f"Examples with {name}", f"{count:,}", "", "", ""]
