"""Errors of dataset files, for commands that read them."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from training_worker.core.trajectory import UnreadableData


@contextmanager
def raise_command_errors() -> Iterator[None]:
    """Turn errors of dataset files into CommandError, which names the file and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise CommandError(f"{error.filename} is not there; `manage.py synthesize` creates datasets.") from None
    except UnreadableData as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename or 'a file'}: {error.strerror}.") from error
