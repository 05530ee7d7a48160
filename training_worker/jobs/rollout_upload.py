"""Rollouts of a run in progress: reported step by step and uploaded to the storage, whose outage stops nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.trajectory import UnreadableData
from ..store.folder import RolloutFolder
from ..store.storage import StorageFailed, get_storage
from ..store.uploader import Courier, UploadStatus
from .job_context import EventLog, JobRefusedError

PATIENCE = 10.0  # seconds for pending uploads at the end of a run

WELL = "The rollout storage is reachable again and has all rollouts."


class RolloutUploader:
    """Upload of one attempt's rollouts; without a storage the files stay where they are. Raises JobRefusedError."""

    def __init__(self, folder: Path, job: str, step: int, tell: EventLog):
        self.folder, self.tell, self.said = RolloutFolder(folder), tell, UploadStatus(0)
        try:
            storage = get_storage()
        except StorageFailed as error:
            raise JobRefusedError(f"{error} Fix this where the worker is started, then resume.") from None
        self.courier = Courier(folder, storage / job / "rollouts", step) if storage else None

    def tell_before(self, step: int) -> None:
        """Report the rollouts of the steps so far, because the attempt before may have died before it reported them."""
        for known in self.folder.steps():
            try:
                if known <= step and self.folder.file(known).suffix == ".parquet":
                    self.tell("rollouts", **self.folder.describe(known))
            except UnreadableData as error:
                print(f"The rollouts of step {known} cannot be reported again: {error}", flush=True)

    def on_stored(self, event: Mapping[str, Any]) -> None:
        """Report the rollouts of a step, which are now in the folder, and have them uploaded."""
        self.tell("rollouts", **event)
        if self.courier:
            self.start(self.courier)
            self.courier.notify_new_files()
            self.report_storage_state(self.courier.news)

    def finish(self) -> None:
        """Wait a while for pending uploads; the rest waits for the next attempt, or for the command of `store`."""
        if self.courier:
            self.start(self.courier)
            self.report_storage_state(self.courier.finish(PATIENCE))

    def start(self, courier: Courier) -> None:
        """Start the uploads, after the folder was rewound, so that discarded rollouts are not uploaded."""
        if not courier.is_alive():
            courier.start()

    def report_storage_state(self, news: UploadStatus) -> None:
        """Report that the storage became unreachable or reachable, but not each change of the waiting files."""
        if news.error != self.said.error:
            self.tell("storage", waiting=news.waiting, error=news.error)
            print(f"{news.error} {news.waiting} files wait to be uploaded." if news.error else WELL, flush=True)
            self.said = news
