"""What a real worker writes into its log of a job, by which its lines are found."""

from __future__ import annotations

import json

from tests.waiting import eventually

from .conftest import Web


def test_each_line_of_a_worker_about_a_job_names_it(running_worker: Web) -> None:
    web = running_worker
    job = web.send("graph", {"colour": "red"})  # refused at once
    web.until_ended(job)

    def messages() -> list[str]:
        lines = [line for line in (web.jobs.parent / "worker.log").read_text().splitlines() if line.startswith("{")]
        return [one["message"] for one in map(json.loads, lines) if one.get("job") == job]

    assert eventually(messages, "a line about the job") == ["attempt 1 has ended"]
