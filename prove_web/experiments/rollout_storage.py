"""Where the files of a run's rollouts are: in the run's folder, or fetched from the storage and kept for a while."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from training_worker.prove.store.cache import Cache
from training_worker.prove.store.folder import RolloutFolder, step_of
from training_worker.prove.store.storage import configured
from training_worker.prove.trajectory import file_digest

from .models import Run


class StoredRun:
    """The files of one run, as `store.folder.read_rollouts` takes them. What the index tells of is what is read."""

    def __init__(self, run: Run):
        self.run, self.local = run, RolloutFolder(run.job.out / "rollouts")

    def steps(self) -> list[int]:
        """The steps whose rollouts were kept."""
        return sorted({*self.run.kept.values_list("step", flat=True), *self.local.steps()})

    def file(self, step: int) -> Path:
        """The file of a step's rollouts. Raises FileNotFoundError, DamagedFile, StorageFailed, OSError."""
        known = self.run.kept.filter(step=step).first()
        return self.copy(known.file, known.digest) if known else self.local.file(step)

    def tokens(self, step: int) -> Path:
        """The file of a step's tokens; the same errors."""
        known = self.run.kept.filter(step=step).first()
        if known is None or not known.tokens:
            raise FileNotFoundError
        return self.copy(known.tokens, known.tokens_digest)

    def copy(self, name: str, digest: str) -> Path:
        """A file of this run on this machine; one here that is not the one told of counts only without a storage."""
        if step_of(name) is None:
            raise FileNotFoundError
        here, storage = self.local.path / name, configured(settings.PROVE_STORAGE)
        if here.is_file() and (storage is None or file_digest(here) == digest):
            return here
        if storage is None:
            raise FileNotFoundError
        cache = Cache(Path(settings.PROVE_DATA) / "cache" / "rollouts")
        return cache.file(storage / str(self.run.job_id) / "rollouts", name, digest)
