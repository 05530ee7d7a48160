"""One project of a site: its servers and sessions, data sets, trajectories, queues, runs, evaluations and jobs.

What each operation takes and answers is on the site's page /api/v1/docs/. Keywords that are not named here are those
of that page.
"""

from __future__ import annotations

from .datasets import DataSets
from .evaluations import Evaluations
from .jobs import Jobs
from .resource import Items, Json
from .reviews import Reviews
from .runs import Runs
from .sessions import Worlds
from .setup import Setup
from .sweeps import Sweeps


class Project(Worlds, DataSets, Reviews, Runs, Sweeps, Evaluations, Setup, Jobs):
    def share(self, page: str, days: int = 30) -> str:
        """A link by which whoever has it reads one page, such as the `url` of a run."""
        return str(self.post("/shares", {"page": page, "days": days})["address"])

    def restore(self, deletion: int) -> Json:
        return self.post(f"/bin/{deletion}/restore")

    def views(self, page: str = "") -> Items:
        return self.all("/views", page=page)

    def delete_project(self, name: str) -> Json:
        """Into the team's bin with all that is in it; `name` is the project's, as it stands."""
        return self.post("/delete", {"name": name})
