"""Command that audits a model's chat template, in a child process so that Django never imports torch."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from training_worker.core.models import SHIPPED

from .pipeline import run_in_foreground


class Command(BaseCommand):
    """`manage.py audit_template FOLDER`: exit code 1 if the model is not fit for training."""

    help = "Check that a model's chat template turns conversations into the intended token ids."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", help="model folder with tokenizer, configuration and safetensors; or warm")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--no-weights", action="store_true", help="skip the check that needs the weights")

    def handle(self, *args: object, **options: object) -> None:
        named = str(options["folder"])
        folder = SHIPPED if named == "warm" and not Path(named).exists() else Path(named).absolute()
        command = [sys.executable, "-m", "training_worker.audit", str(folder)]
        command += [f"--{name.replace('_', '-')}" for name in ("json", "no_weights") if options[name]]
        sys.exit(run_in_foreground(command, settings.BASE_DIR))
