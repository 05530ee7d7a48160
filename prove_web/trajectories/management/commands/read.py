"""Command that prints a random sample of a dataset's conversations, each argument value with its origin."""

import shutil
import textwrap
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.call_card import Argument, CallCard, Turn
from prove_web.trajectories.choices import KINDS, LEVELS
from prove_web.trajectories.management.dataset_errors import raise_command_errors
from prove_web.trajectories.samples import SIZE, draw, tags, turns_of
from training_worker.core.terminal import WIDTH, console, table
from training_worker.core.trajectory import Example
from training_worker.datasets import dataset_folder
from training_worker.graph.edges import longest_path

SHORT = 160  # characters of an observation
GROUPS = ("kind", "level", "path", "feature")


@dataclass(frozen=True)
class Filter:
    """Conditions on a conversation; None accepts anything. `path` is the minimum length of its longest path."""

    feature: str | None
    kind: str | None
    level: str | None
    path: int | None

    def passes(self, example: Example) -> bool:
        return (
            self.feature in (None, *example.features)
            and self.kind in (None, example.kind)
            and self.level in (None, example.level)
            and (self.path is None or path_of(example) >= self.path)
        )


@dataclass
class Tally:
    """Counts of conversations by property, among all and among those that pass a filter."""

    every: Counter[tuple[str, str]] = field(default_factory=Counter)
    matching: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, examples: Iterable[Example], wanted: Filter) -> Iterator[Example]:
        """Yield the examples that pass, and count all."""
        for example in examples:
            self.every.update(properties(example))
            if wanted.passes(example):
                self.matching.update(properties(example))
                yield example

    @property
    def features(self) -> list[str]:
        return sorted(name for group, name in self.every if group == "feature")

    def iter_table_rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the lines of a table: a title, how many there are, and how many pass."""
        for group in ("", *GROUPS):
            for key in sorted(key for key in self.every if key[0] == group):
                yield " ".join(filter(None, key)), f"{self.every[key]:,}", f"{self.matching[key]:,}"


class Command(BaseCommand):
    """`manage.py read FOLDER`: counts, then a sample; the same seed gives the same conversations."""

    help = "Read a random sample of a dataset: whole conversations, each argument value with its origin."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="dataset folder with a manifest.json")
        parser.add_argument("--feature", help="only with this kind of difficulty, such as conditional")
        parser.add_argument("--kind", choices=[name for name, _ in KINDS], help="only of this kind")
        parser.add_argument("--level", choices=[name for name, _ in LEVELS], help="only with this information level")
        parser.add_argument("--path", type=int, help="only with a dependent path of at least this many steps")
        parser.add_argument("--split", choices=dataset_folder.SPLITS, help="only of this split")
        parser.add_argument("--count", type=int, default=SIZE, help="number of conversations; 20 by default")
        parser.add_argument("--seed", type=int, default=0, help="seed of the sample; 0 by default")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = Filter(*(options[name] for name in ("feature", "kind", "level", "path")))
        splits = [one for one in dataset_folder.SPLITS if options["split"] in (None, one)]
        tally = Tally()
        with raise_command_errors():
            examples = (example for split in splits for example in dataset_folder.examples(options["folder"], split))
            found = ((example.id, example) for example in tally.count(examples, wanted))
            chosen = draw(found, options["seed"], options["count"])
        require(tally, wanted)
        table(console(self.stdout), ["Conversations", "all", "matching"], tally.iter_table_rows())
        width = min(shutil.get_terminal_size((WIDTH, 0)).columns, WIDTH)
        for number, example in enumerate(chosen, 1):
            about = ", ".join([example.id, *tags(example), f"path of {path_of(example)}"])
            self.stdout.write(self.style.MIGRATE_HEADING(f"{number} of {len(chosen)}: {about}"))
            self.stdout.write(
                "\n".join(line for turn in turns_of(example) for line in iter_turn_lines(turn, width)) + "\n\n"
            )


def require(tally: Tally, wanted: Filter) -> None:
    """Raise CommandError if nothing passes; the message names the available features."""
    if wanted.feature and wanted.feature not in tally.features:
        known = f"There are {', '.join(tally.features)}." if tally.features else "No conversation has a feature."
        raise CommandError(f"No conversation here has the feature “{wanted.feature}”. {known}")
    if not tally.matching:
        raise CommandError("No conversation passes all of these filters. Remove one.")


def path_of(example: Example) -> int:
    return longest_path(len(example.steps), example.edges)


def properties(example: Example) -> list[tuple[str, str]]:
    """Return the properties by which an example is counted, as pairs of a group and a name."""
    features = [("feature", name) for name in sorted(set(example.features))]
    return [
        ("", "in all"), ("kind", example.kind), ("level", example.level), ("path", f"of {path_of(example)}"), *features
    ]  # fmt: skip


def iter_turn_lines(turn: Turn, width: int) -> Iterator[str]:
    """Yield a turn as text: who speaks, what they say, and the calls with their observations."""
    if turn.text:
        yield ""
        yield from wrap_text(turn.text, f"{turn.role.capitalize():<11}", width)
    if len(turn.calls) > 1:
        yield from ("", f"  {len(turn.calls)} parallel calls")
    for call in turn.calls:
        yield from call_lines(call, width)


def call_lines(call: CallCard, width: int) -> Iterator[str]:
    """Yield a call, a line for each argument with its origin, and the start of its observation."""
    name = f"call {call.number}" if call.number else "call"
    marks = [chip.text for chip in call.chips] + [f"after call {one.number}" for one in call.fed]
    yield ""
    yield from wrap_text(
        " ".join([call.tool or "malformed call", *(f"[{mark}]" for mark in marks)]), f"  {name:<9}", width
    )
    for argument in call.written:
        yield from wrap_text(f"{argument.name} = {argument.text}{origin(argument)}", " " * 13, width)
    if call.result:
        more = f" … ({len(call.result):,} characters)" if len(call.result) > SHORT else ""
        yield from wrap_text(call.result[:SHORT] + more, f"{'':11}→ ", width)


def origin(argument: Argument) -> str:
    """Return where the values of an argument come from; "" where they need no source."""
    found = dict.fromkeys(piece.source.words for piece in argument.pieces if piece.source)
    return f"  ← {'; '.join(found)}" if found else ""


def wrap_text(text: str, start: str, width: int) -> Iterator[str]:
    """Yield a text as wrapped lines, without characters that a terminal would interpret as commands."""
    safe = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)
    rest = " " * len(start)
    for line in safe.splitlines():
        wrap = textwrap.TextWrapper(width, initial_indent=start, subsequent_indent=rest, break_on_hyphens=False)
        yield from wrap.wrap(line) or [""]
        start = rest
