"""Validation of events from enrolled machines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, get_args

from django.utils import timezone

from prove_web.evaluations.reports import report_in
from prove_web.live.ingest import moment
from prove_web.live.models import Job, Kind, State
from training_worker.core.events import Ended
from training_worker.evaluation.results import RESULTS
from training_worker.monitoring.event_data import InvalidEvent, check_event, check_result, check_trial, quote_value

from .file_transfer import OUT, is_safe_result_name

MOST_EVENTS = 1000
MOST_NUMBER = (1 << 31) - 1
ENDS = get_args(Ended)
EARLY = timedelta(minutes=5)  # tolerance for a machine's clock behind the site's


def events(items: Any, job: Job, worker: str) -> Iterator[dict[str, Any]]:
    """Yield a machine's validated events. Raises InvalidEvent."""
    if not isinstance(items, list) or len(items) > MOST_EVENTS:
        raise InvalidEvent(f"events must be a list of at most {MOST_EVENTS}.")
    for place, one in enumerate(items, 1):
        if not isinstance(one, dict) or not is_sequence_number(one.get("seq")):
            raise InvalidEvent(f"Entry {place} of events, field seq: a whole number from 1 on.")
        number, kind, data = one["seq"], one.get("kind"), one.get("data")
        check_event(number, kind, data)
        check(number, kind, data, job)
        data = {**data, "worker": worker} if kind == "started" else data
        yield {"seq": number, "at": clip_event_time(number, one.get("at"), job), "kind": kind, "data": data}


def is_sequence_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_NUMBER


def clip_event_time(number: int, at: Any, job: Job) -> str:
    """Return an event's time, clipped to the lifetime of the job where the machine's clock is off.

    Raises InvalidEvent.
    """
    try:
        time = moment(at)
        if time.tzinfo is None:
            raise ValueError
        early, late = job.created_at - EARLY, timezone.now()
        return str(at) if early <= time <= late else (early if time < early else late).isoformat()
    except (TypeError, ValueError, OverflowError):
        raise InvalidEvent(f"Event {number}, field at: a time in ISO 8601 with its zone.") from None


def check(number: int, kind: str, data: dict[str, Any], job: Job) -> None:
    """Check an event against its job. Raises InvalidEvent."""
    about = f"Event {number} ({kind})"
    evaluates = job.kind == Kind.EVALUATE
    if kind == "items":
        if not evaluates:
            raise InvalidEvent(f"{about}: only evaluation jobs have items.")
        check_folder(about, data["folder"], job)
        if data["identity"]["benchmark"] != job.spec.get("benchmark"):
            raise InvalidEvent(f"{about}, field identity.benchmark: not the benchmark of the job.")
    if kind == "ended":
        check_end(about, data, job)


def check_end(about: str, data: dict[str, Any], job: Job) -> None:
    state, result = data["state"], data["result"]
    if state not in ENDS:
        raise InvalidEvent(f"{about}, field state: {quote_value(state)!r} is not one of {', '.join(ENDS)}.")
    if job.trains:
        check_result(about, result)
    if job.kind == Kind.TRIAL and state == State.DONE:
        check_trial(about, result)
    if job.kind == Kind.EVALUATE and (result or state == State.DONE):
        check_folder(about, result.get("folder"), job)
        if report_in(result) is None:
            raise InvalidEvent(f"{about}, field result.report: it cannot be read.")


def check_folder(about: str, folder: Any, job: Job) -> None:
    """Check that results are in the job's own folder, so that no other job continues from them. Raises InvalidEvent."""
    own = f"jobs/{job.pk}/"
    inside = str(folder).removeprefix(own)
    if not str(folder).startswith(own) or not inside.startswith(f"{OUT}/{RESULTS}/") or not is_safe_result_name(inside):
        raise InvalidEvent(f"{about}, field folder: must be in the job's own folder.")
