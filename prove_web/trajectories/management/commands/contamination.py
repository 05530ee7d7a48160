"""Command that finds long word sequences that a training set shares with a benchmark, and prints every pair."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from prove_web.trajectories.management.dataset_errors import raise_command_errors
from training_worker.core.trajectory import Example, read_lines
from training_worker.datasets import dataset_folder
from training_worker.evaluation.contamination import LONG, ContaminationReport, check, texts_of


class Command(BaseCommand):
    """`manage.py contamination FOLDER`: exit code 1 when a query shares n words in a row with a benchmark."""

    help = "Find long word sequences that a training set shares with installed benchmarks."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", type=Path, help="dataset folder, or its train.jsonl")
        parser.add_argument("--n", type=int, default=LONG, help=f"words in a sequence; {LONG} by default")
        parser.add_argument(
            "--option", action="append", default=[], metavar="BENCHMARK.NAME=VALUE", help="option of a benchmark"
        )

    def handle(self, *args: object, **options: object) -> None:
        n, path = options["n"], Path(str(options["dataset"]))
        if not (isinstance(n, int) and 2 <= n <= 100):
            raise CommandError("--n must be a number of words from 2 to 100.")
        with raise_command_errors():
            examples = training(path)
            texts, left_out = texts_of(Path(settings.PROVE_DATA) / "benchmarks", by_benchmark(options["option"]))
            found = check(examples, texts, left_out, n)
        for line in format_report(found, n):
            self.stdout.write(line)
        if not texts:
            raise CommandError("No benchmark is installed. Install one: `manage.py evaluate bfcl --install`.")
        if found.hits:
            raise CommandError("The training set shares texts with a benchmark: see the pairs above.", returncode=1)


def training(path: Path) -> Iterator[Example]:
    """Return the training conversations of a folder or file, after checking that it is complete.

    Raises UnreadableData.
    """
    file = path / "train.jsonl" if path.is_dir() else path
    dataset_folder.check(file)
    return read_lines(Example, file)


def by_benchmark(given: object) -> dict[str, dict[str, str]]:
    """Return the options of benchmarks by benchmark name. Raises CommandError."""
    found: dict[str, dict[str, str]] = {}
    for one in given if isinstance(given, list) else ():
        benchmark, dot, rest = str(one).partition(".")
        name, equals, value = rest.partition("=")
        if not (dot and equals):
            raise CommandError(f"--option takes BENCHMARK.NAME=VALUE, not {one!r}.")
        found.setdefault(benchmark, {})[name] = value
    return found


def format_report(found: ContaminationReport, n: int) -> Sequence[str]:
    """Return what was compared, every pair, and the number of pairs."""
    lines = [f"{name} was skipped: {why}" for name, why in found.left_out.items()]
    lines += [f"{hit.example} and {hit.item} of {hit.benchmark}: {hit.words}" for hit in found.hits]
    compared = ", ".join(f"{count:,} of {name}" for name, count in found.texts.items()) or "none"
    lines.append(f"{found.turns:,} user turns of {found.conversations:,} conversations; texts: {compared}")
    lines.append(f"{len(found.hits):,} pairs share {n} words in a row or more")
    return lines
