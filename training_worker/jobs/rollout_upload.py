"""The rollouts of a run at work: told step by step, and brought to the storage, whose absence stops nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..prove.store.folder import RolloutFolder
from ..prove.store.storage import StorageFailed, configured
from ..prove.store.uploader import Courier, News
from ..prove.trajectory import UnreadableData
from .job_context import Refused, Tell

PATIENCE = 10.0  # seconds that the storage gets at the end of a run for what it lacks

WELL = "The storage answers again, and has all rollouts."


class Storing:
    """One attempt's line to the storage; without a storage the files stay where they are. Raises Refused."""

    def __init__(self, folder: Path, job: str, step: int, tell: Tell):
        self.folder, self.tell, self.said = RolloutFolder(folder), tell, News(0)
        try:
            storage = configured()
        except StorageFailed as error:
            raise Refused(f"{error} Set it right where the worker is started, then resume.") from None
        self.courier = Courier(folder, storage / job / "rollouts", step) if storage else None

    def tell_before(self, step: int) -> None:
        """The rollouts of the steps so far: the attempt before may not have lived to tell them."""
        for known in self.folder.steps():
            try:
                if known <= step and self.folder.file(known).suffix == ".parquet":
                    self.tell("rollouts", **self.folder.describe(known))
            except UnreadableData as error:
                print(f"The rollouts of step {known} are not told again: {error}", flush=True)

    def on_stored(self, told: Mapping[str, Any]) -> None:
        """The rollouts of a step are in the folder."""
        self.tell("rollouts", **told)
        if self.courier:
            self.start(self.courier)
            self.courier.nudge()
            self.say(self.courier.news)

    def finish(self) -> None:
        """Give the storage a while for what it lacks; the rest waits for the next attempt, or for `store`'s command."""
        if self.courier:
            self.start(self.courier)
            self.say(self.courier.finish(PATIENCE))

    def start(self, courier: Courier) -> None:
        """Not before the folder was rewound: what is void by then is not to be brought."""
        if not courier.is_alive():
            courier.start()

    def say(self, news: News) -> None:
        """Tell that the storage is away, and that it is back; not how many wait each time."""
        if news.error != self.said.error:
            self.tell("storage", waiting=news.waiting, error=news.error)
            print(f"{news.error} {news.waiting} files wait here." if news.error else WELL, flush=True)
            self.said = news
