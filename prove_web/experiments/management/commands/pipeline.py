"""Command that runs the full pipeline in a child process, so that Django never imports torch."""

import signal
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

INTERRUPTED = 130
OPTIONS = {
    "data": str,
    "policy": str,
    "seed": int,
    "minutes": float,
    "examples": int,
    "held-out": int,
    "max-steps": int,
    "learning-rate": float,
}


class Command(BaseCommand):
    """`manage.py pipeline`: exits with the child's exit code, or 130 after Ctrl-C."""

    help = "Build the graph and the dataset, train with GRPO, evaluate on held-out worlds. Resumes where it stopped."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; omitted ones are not passed on, because only the child knows their defaults."""
        for name, kind in OPTIONS.items():
            parser.add_argument(f"--{name}", type=kind, help="see docs/pipeline.md")
        parser.add_argument("--fresh", action="store_true", help="discard the results of earlier runs")

    def handle(self, *args: object, **options: object) -> None:
        data = Path(str(options["data"] or settings.PROVE_DATA)).absolute()
        check_writable(data)
        sys.exit(run_in_foreground(child_command(data, options), settings.BASE_DIR))


def child_command(data: Path, options: dict[str, object]) -> list[str]:
    """Return the child's argument list for the given options."""
    command = [sys.executable, "-m", "training_worker", "--data", str(data)]
    for name in OPTIONS:
        if name != "data" and options.get(name.replace("-", "_")) is not None:
            command += [f"--{name}={options[name.replace('-', '_')]}"]
    return command + (["--fresh"] if options.get("fresh") else [])


def check_writable(data: Path) -> None:
    """Raise CommandError before minutes of work if the folder is not writable."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise CommandError(
            f"cannot write to {data} ({error.strerror}): set PROVE_DATA to a writable folder", returncode=1
        ) from error


def run_in_foreground(command: list[str], folder: Path) -> int:
    """Run the child on this terminal until it ends, and return the exit code to use.

    Ctrl-C reaches the child directly because it is in the same process group; here it is only recorded, so that the
    child has time to write its checkpoint. SIGTERM reaches only this process and is passed on.
    """
    seen: set[int] = set()

    def note(signum: int, frame: FrameType | None) -> None:
        seen.add(signum)

    # Set before the child starts: exec resets handlers to their defaults, so the child is not affected.
    before = {signum: signal.signal(signum, note) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(command, cwd=folder)
        signal.signal(signal.SIGTERM, lambda signum, frame: child.terminate())
        if signal.SIGTERM in seen:
            child.terminate()
        code = child.wait()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    if signal.SIGINT in seen:
        return INTERRUPTED
    return code if code >= 0 else 128 - code
