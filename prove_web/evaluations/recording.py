"""Recording of an evaluation's items and identity from job events; a repeated item replaces itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prove_web.live.models import Job, Kind, State

from .models import Evaluation, EvaluationItem

LENGTHS = {"item": 200, "category": 80, "failure": 80}
REST = ("passed", "value", "steps", "calls", "tokens", "seconds", "line")
KEY = ("evaluation", "item")


def record_evaluation(job: Job, events: Sequence[dict[str, Any]]) -> None:
    """Store the items and the results folder, so that conversations can be read before the job is done."""
    if job.kind != Kind.EVALUATE or not events:
        return
    evaluation = Evaluation.objects.filter(job=job).first()
    if evaluation is None:
        return
    for event in events:
        if event["kind"] == "items":
            record_results(evaluation, job, event["data"])
        elif event["kind"] == "ended" and event["data"]["state"] == State.DONE:
            overall = event["data"]["result"].get("report", {}).get("overall")
            evaluation.overall = overall["accuracy"] if overall else None
    evaluation.save(update_fields=["version", "settings", "model", "overall"])


def record_results(evaluation: Evaluation, job: Job, data: dict[str, Any]) -> None:
    identity = data["identity"]
    evaluation.version, evaluation.settings = identity["version"][:80], identity["settings"]
    evaluation.model = identity["model"][:200]
    job.result = {**job.result, "folder": data["folder"]}
    rows = {one["item"][: LENGTHS["item"]]: row(evaluation, one) for one in data["items"]}
    if len(rows) > evaluation.items.filter(item__in=rows).count():
        job.failures = 0  # progress resets the failure count
    EvaluationItem.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=KEY,
        update_fields=["category", "failure", "goal_success", *REST],
    )


def row(evaluation: Evaluation, fields: dict[str, Any]) -> EvaluationItem:
    texts = {name: fields[name][:most] for name, most in LENGTHS.items()}
    goal = fields.get("goal_success")
    return EvaluationItem(evaluation=evaluation, **texts, **{name: fields[name] for name in REST}, goal_success=goal)
