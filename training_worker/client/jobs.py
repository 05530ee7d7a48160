"""Client methods for a project's jobs, their events and logs."""

from __future__ import annotations

from .resource import APIResource, Items, Json

ENDED = frozenset({"stopped", "failed", "lost", "done"})


class Jobs(APIResource):
    def jobs(self, state: str = "") -> Items:
        return self.all("/jobs", state=state)

    def job(self, job: str) -> Json:
        return dict(self.get(f"/jobs/{job}"))

    def move_job(self, job: str, to: str) -> Json:
        """Move a job `up`, `down`, `first` or `last` among the project's jobs of its queue."""
        return self.post(f"/jobs/{job}/move", {"to": to})

    def log(self, job: str) -> str:
        return str(self.get(f"/jobs/{job}/log")["text"])

    def events(self, job: str, after: int = 0, *, follow: bool = False, every: float = 2.0) -> Items:
        """Iterate over a job's events after a given one; with `follow`, until the job has ended."""
        while True:
            over = not follow or self.job(job)["state"] in ENDED  # read before the events, so that none is missed
            piece = self.get(f"/jobs/{job}/events", after=after, limit=500)
            for event in piece["items"]:
                after = event["id"]
                yield event
            if piece["next"] is None:
                if over:
                    return
                self.studio.pause(every)

    def wait(self, job: str, every: float = 2.0) -> Json:
        """Wait until a job has ended, and return it."""
        while (found := self.job(job))["state"] not in ENDED:
            self.studio.pause(every)
        return found
