"""Command that paraphrases a dataset with a language model at an OpenAI-compatible endpoint."""

import os
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from training_worker.core.terminal import show_count_bar
from training_worker.core.trajectory import UnreadableData
from training_worker.datasets.dataset_folder import DatasetExistsError, format_manifest
from training_worker.datasets.export.publish import publish
from training_worker.datasets.paraphrase import paraphrase_folder
from training_worker.endpoint import Endpoint, EndpointFailed
from training_worker.endpoint.settings import from_environment


class Command(BaseCommand):
    """`manage.py paraphrase FOLDER --out FOLDER`: responses are cached, so a second try resumes from there."""

    help = "Paraphrase the conversations of a dataset with the language model at PROVE_LLM_URL, PROVE_LLM_MODEL."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="dataset folder with a manifest.json")
        parser.add_argument("--out", type=Path, required=True, help="folder of the new dataset")
        parser.add_argument("--replace", action="store_true", help="replace an existing finished dataset")

    def handle(self, *args: object, **options: object) -> None:
        source, out = (Path(str(options[name])).absolute() for name in ("folder", "out"))
        if source == out:
            raise CommandError("--out is the source dataset, which is never changed: name another folder.")
        try:
            used = from_environment(os.environ, Path(settings.PROVE_DATA) / "answers")
            out.mkdir(parents=True, exist_ok=True)  # fail now rather than after all the work
            with Endpoint(used) as endpoint, show_count_bar("paraphrase") as progress:
                manifest = paraphrase_folder(source, out, endpoint, progress, replacing=bool(options["replace"]))
            publish(out)
        except (EndpointFailed, DatasetExistsError, UnreadableData) as reason:
            raise CommandError(str(reason)) from None
        except FileNotFoundError as error:
            raise CommandError(f"{error.filename} is not there; `manage.py synthesize` creates datasets.") from None
        except OSError as error:
            raise CommandError(f"{error.filename or out}: {error.strerror}; name another folder with --out.") from error
        self.stdout.write(format_manifest(manifest))
        self.stdout.write(f"in {out}; `python manage.py verify {out}` replays it")
        self.stdout.write(f"{endpoint.requests:,} requests, {endpoint.spent:,} tokens; the rest was cached")
