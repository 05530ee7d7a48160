#!/usr/bin/env python
"""Django's command line, which finds the project's own .venv when it was started with another Python."""

import importlib.util
import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"


def main() -> None:
    """Hand over to Django, if need be in the Python of .venv."""
    if importlib.util.find_spec("django") is None:
        hand_over_to_venv()
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prove_web.settings")
    try:
        execute_from_command_line(sys.argv)
    except OperationalError:
        leave_without_a_folder()
        raise


def leave_without_a_folder() -> None:
    """Say what to do where the folder of the site's data is not there; else nothing."""
    from django.conf import settings

    if not settings.PROVE_DATA.is_dir():
        sys.exit(
            f"There is no data folder {settings.PROVE_DATA}. Set PROVE_DATA to the folder of your site; "
            "for a new one, `make run` makes it."
        )


def hand_over_to_venv() -> None:
    """Become the Python of .venv; without one, or without Django in it, say what to do."""
    python = VENV / "bin" / "python"
    if python.exists() and Path(sys.prefix) != VENV:
        os.execv(python, [str(python), *sys.argv])
    sys.exit("Run `make run` first: it sets up .venv")


if __name__ == "__main__":
    main()
