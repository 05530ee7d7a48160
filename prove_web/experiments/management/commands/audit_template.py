"""The audit of a model's chat template in the terminal: a child process does the work, as Django never loads torch."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from .pipeline import run_in_foreground


class Command(BaseCommand):
    """`manage.py audit_template FOLDER`: exit code 1 when the model is not fit for training."""

    help = "Check that conversations of a model become the ids that its chat template means."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the model's folder: tokenizer, configuration, safetensors")
        parser.add_argument("--json", action="store_true", help="tell it as JSON")
        parser.add_argument("--no-weights", action="store_true", help="leave out the check that needs the weights")

    def handle(self, *args: object, **options: object) -> None:
        command = [sys.executable, "-m", "training_worker.trainer.audit", str(Path(str(options["folder"])).absolute())]
        command += [f"--{name.replace('_', '-')}" for name in ("json", "no_weights") if options[name]]
        sys.exit(run_in_foreground(command, settings.BASE_DIR))
