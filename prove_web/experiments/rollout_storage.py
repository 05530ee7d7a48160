"""Rollout files of a run, in its folder or fetched from the storage into a cache."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from training_worker.core.trajectory import file_digest
from training_worker.store.cache import Cache
from training_worker.store.folder import RolloutFolder, step_of
from training_worker.store.storage import get_storage

from .models import Run


class StoredRun:
    """The rollout files of one run, for `store.folder.read_rollouts`.

    The database index decides which files are read.
    """

    def __init__(self, run: Run):
        self.run, self.local = run, RolloutFolder(run.job.out / "rollouts")

    def steps(self) -> list[int]:
        """Return the steps with stored rollouts."""
        return sorted({*self.run.stored_steps.values_list("step", flat=True), *self.local.steps()})

    def file(self, step: int) -> Path:
        """Return the path of a step's rollout file. Raises FileNotFoundError, DamagedFile, StorageFailed, OSError."""
        known = self.run.stored_steps.filter(step=step).first()
        return self.copy(known.file, known.digest) if known else self.local.file(step)

    def tokens(self, step: int) -> Path:
        """Return the path of a step's token file. Raises the same errors as `file`."""
        known = self.run.stored_steps.filter(step=step).first()
        if known is None or not known.tokens:
            raise FileNotFoundError
        return self.copy(known.tokens, known.tokens_digest)

    def copy(self, name: str, digest: str) -> Path:
        """Return a local copy of a file.

        Without a storage, a local file is used even if its digest differs from the index.
        """
        if step_of(name) is None:
            raise FileNotFoundError
        here, storage = self.local.path / name, get_storage(settings.PROVE_STORAGE)
        if here.is_file() and (storage is None or file_digest(here) == digest):
            return here
        if storage is None:
            raise FileNotFoundError
        cache = Cache(Path(settings.PROVE_DATA) / "cache" / "rollouts")
        return cache.file(storage / str(self.run.job_id) / "rollouts", name, digest)
