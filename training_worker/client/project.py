"""Client of one project: servers, sessions, datasets, trajectories, review queues, runs, evaluations and jobs.

The site's page /api/v1/docs/ documents the arguments and the response of each operation. Keyword arguments that are not
named here are those of that page.
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
        """Create a share link to one page, such as the `url` of a run, which anyone with the link can read."""
        return str(self.post("/shares", {"page": page, "days": days})["address"])

    def restore(self, deletion: int) -> Json:
        return self.post(f"/bin/{deletion}/restore")

    def views(self, page: str = "") -> Items:
        return self.all("/views", page=page)

    def delete_project(self, name: str) -> Json:
        """Move the project with all its content to the team's trash; `name` must be its current name."""
        return self.post("/delete", {"name": name})
