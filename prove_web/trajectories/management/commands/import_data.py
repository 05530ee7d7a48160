"""Command that imports a third-party file as a dataset: all of its rows, or none and a list of the errors."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from mcp_servers.core import ServerFailed
from prove_web.core.env import envstr
from training_worker.core.terminal import show_count_bar
from training_worker.core.trajectory import Example, UnreadableData
from training_worker.datasets import dataset_folder
from training_worker.datasets.export.publish import publish
from training_worker.datasets.importers import external_replay
from training_worker.datasets.importers.formats import FORMATS, make
from training_worker.evaluation.contamination import Screen

EXTERNAL = "PROVE_EXTERNAL"


class Command(BaseCommand):
    """`manage.py import_data FILE --format when2call --out FOLDER`: JSON lines, a JSON array or Parquet."""

    help = "Import a file: " + "; ".join(f"{name}, {one.title}" for name, one in FORMATS.items()) + "."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON lines, a JSON array or Parquet")
        parser.add_argument("--format", choices=FORMATS, required=True, help="format of the rows")
        parser.add_argument("--out", type=Path, required=True, help="folder of the new dataset")
        parser.add_argument("--answers", type=Path, help="bfcl: the possible answers; possible_answer/FILE by default")
        parser.add_argument(
            "--split", choices=dataset_folder.SPLITS, help="split of all rows; benchmarks are held out by default"
        )
        parser.add_argument("--replace", action="store_true", help="replace an existing finished dataset")
        help = f"a server of {EXTERNAL} that has its tools: calls are replayed there twice, to certify them; repeatable"
        parser.add_argument("--server", action="append", default=[], metavar="NAME", help=help)

    def handle(self, *args: object, **options: Any) -> None:
        path, out = Path(str(options["file"])), Path(str(options["out"])).absolute()
        answers = Path(str(options["answers"])) if options["answers"] else None
        split, replacing, names = options["split"], bool(options["replace"]), [str(name) for name in options["server"]]
        format, checked = FORMATS[str(options["format"])], list[Example]()
        try:
            asks, screen = (
                build_certifier(names, checked),
                Screen.of_installed(Path(settings.PROVE_DATA) / "benchmarks"),
            )
            manifest = make(
                path, out, format, answers, split, replacing=replacing, servers=names, certify=asks, screen=screen
            )
            publish(out)
        except (UnreadableData, dataset_folder.DatasetExistsError) as reason:
            raise CommandError(str(reason)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror or error}.") from error
        self.stdout.write(dataset_folder.format_manifest(manifest))
        for benchmark, count in screen.held_out.items():
            text = f"{count:,} share text" if count > 1 else "1 shares text"
            self.stdout.write(f"{text} with {benchmark}, a benchmark: held out, not in train")
        for side, one in manifest.splits.items():
            for why, count in one.dropped.items():
                self.stdout.write(f"{count:,} left out: {why}")
            if one.not_certified:
                self.stdout.write(
                    f"{one.not_certified:,} {side.replace('_', '-')} conversations have calls and are not certified: "
                    "for review and supervised training, not for recipes and rollouts"
                )
        for line in external_replay.format_verdicts(checked):
            self.stdout.write(line)
        self.stdout.write(f"in {out}")


def build_certifier(names: list[str], checked: list[Example]) -> Callable[[list[Example]], list[Example]]:
    """Return a function that certifies examples on these servers and adds them to `checked`. Raises CommandError."""
    if not names:
        return list
    from mcp_servers.mcp.external import external_servers

    if not (path := envstr(EXTERNAL, "")):
        raise CommandError(f"{EXTERNAL} is not set: it names the file with the servers that the operator allows.")
    try:
        known = external_servers(Path(path))
    except ValueError as error:
        raise CommandError(f"{EXTERNAL}: {error}") from None
    if missing := [name for name in names if name not in known]:
        raise CommandError(f"{path} has no server {', '.join(missing)}; it has {', '.join(known) or 'none'}.")

    def certify_examples(examples: list[Example]) -> list[Example]:
        try:
            with show_count_bar("replay") as progress:
                checked.extend(external_replay.certify(examples, [known[name] for name in names], progress))
        except ServerFailed as reason:
            raise CommandError(f"{reason} Nothing was imported.") from None
        except KeyboardInterrupt:
            raise CommandError("stopped; nothing was imported", returncode=130) from None
        return checked

    return certify_examples
