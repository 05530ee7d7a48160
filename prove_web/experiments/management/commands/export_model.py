"""Command that exports a trained policy as a Hugging Face folder.

A child process does the work so that Django never imports torch.
"""

import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """`manage.py export_model RUN_OR_CHECKPOINT OUT [--merge] [--licence ID]`: RUN may be the id of a run's job."""

    help = "Export a trained policy with a model card as a Hugging Face model folder."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", help="folder of a run, of one of its checkpoints, or of a policy; or a job's id")
        parser.add_argument("out", type=Path, help="output folder; must not exist")
        parser.add_argument("--merge", action="store_true", help="merge a LoRA adapter into the model's weights")
        parser.add_argument("--licence", default="", help="licence identifier, such as apache-2.0")

    def handle(self, *args: object, **options: object) -> None:
        source = folder_of(str(options["source"]))
        command = [sys.executable, "-m", "training_worker.training.export", str(source)]
        command += [str(Path(str(options["out"])).absolute()), f"--licence={options['licence']}"]
        command += ["--merge"] if options["merge"] else []
        environment = {**os.environ, "PROVE_DATA": str(settings.PROVE_DATA)}
        done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise CommandError(lines[-1] if lines else "The export failed without an error message.")
        self.stdout.write(f"{options['out']} loads with AutoModelForCausalLM.from_pretrained; README.md is its card")


def folder_of(source: str) -> Path:
    """Return the source folder for a path or a job id."""
    job = Path(settings.PROVE_DATA) / "jobs" / source
    return job.absolute() if "/" not in source and job.is_dir() else Path(source).absolute()
