"""HTTPS API for enrolled machines: jobs, files and events.

Machines authenticate with their token in `Authorization: Bearer`. They see jobs of their own organisation, and report
only on jobs assigned to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import PurePath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from prove_web.accounts.permissions import allow_anyone
from prove_web.core.disk_guard import is_disk_low
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.jobs import is_dependency_done, lock_job
from prove_web.live.models import AT_WORK, Job, State
from training_worker.core.events import get_timestamp
from training_worker.join.compatibility import DIFFERS, MOST_SKEW, SKEWED, differences, measure_clock_skew, versions
from training_worker.monitoring.event_data import InvalidEvent
from training_worker.worker import heartbeat, worker_info

from .capabilities import DOES, describe_missing_capability
from .enrolment import find_valid_enrolment
from .event_ingest import events
from .file_transfer import (
    ADAPTER_CONFIG,
    PIECE,
    NotTaken,
    base_of,
    delete_unlisted_results,
    iter_required_files,
    path_of,
    source,
    take,
)
from .models import Enrolment
from .quota import DiskFull, QuotaExceededError, admit, delete_incomplete_uploads
from .worker_drain import drains

QUEUE = "training"
LOOKED_AT = 50  # waiting jobs considered
REFUSED = "This token is invalid, expired or revoked. Ask an owner of the team to enrol the machine again."
# Exceptions that malformed data raises on its way into the database, including NotTaken.
UNREADABLE: tuple[type[Exception], ...] = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
UNREADABLE += (RecursionError, ValidationError, DataError, IntegrityError)
Answer = Callable[..., HttpResponse]


def require_enrolment(view: Answer) -> Answer:
    """Restrict a view to enrolled machines; `request.enrolment` identifies the caller."""

    @wraps(view)
    def authenticate_and_call(request: Any) -> HttpResponse:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        found = find_valid_enrolment(token.strip()) if kind == "Bearer" and token else None
        if found is None:
            return JsonResponse({"error": REFUSED}, status=401)
        request.enrolment = found
        try:
            return view(request)
        except InvalidEvent as error:
            return JsonResponse({"error": str(error)}, status=400)
        except UNREADABLE as error:
            return JsonResponse({"error": f"Invalid request: {error}"}, status=400)
        except message_broker.UNREACHABLE:
            return JsonResponse({"error": "The site's broker does not answer; retry."}, status=503)

    return allow_anyone(csrf_exempt(never_cache(authenticate_and_call)))


def parse_json_body(request: HttpRequest) -> dict[str, Any]:
    """Return the request body as a dictionary. Raises ValueError."""
    found = json.loads(request.body)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def alive(enrolment: Enrolment, message: dict[str, Any], refused: str = "") -> dict[str, Any]:
    """Record a machine's heartbeat and return what is known of it; the machine cannot choose its queues.

    A `refused` machine has no slots.
    """
    known = {"slots": 1, **worker_info.read_facts(message.get("facts")), "queues": [QUEUE]}
    known |= {"refused": refused, "slots": 0} if refused else {}
    heartbeat.beat(message_broker.broker(), enrolment.worker, known)
    return known


def explain_incompatibility(message: dict[str, Any]) -> str:
    """Return why a machine is incompatible with this site, by version or clock; "" if it is compatible."""
    if differ := differences(dict(message.get("versions") or {}), versions()):
        return DIFFERS.format("; ".join(differ))
    behind = measure_clock_skew(str(message["time"])) if "time" in message else 0.0
    return SKEWED.format(behind) if behind > MOST_SKEW else ""


def turned_away(enrolment: Enrolment, message: dict[str, Any], why: str) -> HttpResponse:
    alive(enrolment, message, why)
    return JsonResponse({"error": why}, status=409)


@require_enrolment
@require_POST
def hello(request: Any) -> HttpResponse:
    """Check the machine's versions and clock, and return its worker name."""
    message, enrolment = parse_json_body(request), request.enrolment
    if why := explain_incompatibility(message):
        return turned_away(enrolment, message, why)
    alive(enrolment, message)
    Enrolment.objects.filter(pk=enrolment.pk, joined_at=None).update(joined_at=timezone.now())
    return JsonResponse({"worker": enrolment.worker, "team": str(enrolment.organisation), "time": get_timestamp()})


@require_enrolment
@require_POST
def next_job(request: Any) -> HttpResponse:
    """Assign the next job to this machine and return it with the required files; {} if there is none.

    A draining machine is told so (`draining`), and a machine of another version, as after an update of the site, is
    refused.
    """
    message, enrolment = parse_json_body(request), request.enrolment
    if why := explain_incompatibility(message):
        return turned_away(enrolment, message, why)
    known = alive(enrolment, message)
    if drains(enrolment.worker):
        return JsonResponse({"draining": True})
    job = None if is_disk_low() else start_next_job(enrolment, known)
    if job is None:
        return JsonResponse({})
    delete_incomplete_uploads(job)
    files = [file(job, of, name) for of, name in iter_required_files(job)]
    order = {"job": str(job.pk), "attempt": job.attempt, "kind": job.kind, "spec": job.spec}
    return JsonResponse({**order, "files": files})


def file(job: Job, of: str, name: str) -> dict[str, Any]:
    """Return a required file's size; for an adapter's configuration also the name of its base policy."""
    entry = {"job": of, "name": name, "size": path_of(of, name, settings.PROVE_DATA).stat().st_size}
    if PurePath(name).name == ADAPTER_CONFIG and (run := source(job, of)):
        entry["base"] = base_of(run)
    return entry


def start_next_job(enrolment: Enrolment, known: dict[str, Any]) -> Job | None:
    """Claim and start the first waiting job that the machine can do."""
    ours = Job.objects.filter_queued().filter(project__organisation=enrolment.organisation, kind__in=DOES)
    for each in ours.select_related("after")[:LOOKED_AT]:
        if (
            is_dependency_done(each)
            and not describe_missing_capability(each, known)
            and (job := claim_queued_job(each, enrolment.worker))
        ):
            message_broker.take_back(QUEUE, job.pk, job.attempt)
            message_broker.tell_worker(job)
            message_broker.hint(job)
            return job
    return None


@transaction.atomic
def claim_queued_job(each: Job, worker: str) -> Job | None:
    job = lock_job(each.pk)
    if job.state != State.QUEUED or not message_broker.claim(job, worker):
        return None
    job.state, job.worker, job.beat_at = State.STARTING, worker, timezone.now()
    job.save(update_fields=["state", "worker", "beat_at"])
    return job


def job_of(enrolment: Enrolment, job: Any) -> Job | None:
    """Return a job of the machine's organisation; None for any other."""
    return Job.objects.filter(project__organisation=enrolment.organisation, pk=UUID(str(job))).first()


def at_work(enrolment: Enrolment, job: Any, attempt: Any) -> Job:
    """Return the job that the machine is running. Raises NotTaken."""
    found = job_of(enrolment, job)
    if found is None or found.worker != enrolment.worker or found.state not in AT_WORK or found.attempt != int(attempt):
        raise NotTaken("This machine is not running this attempt of the job.")
    return found


@require_enrolment
@require_POST
def store_events(request: Any) -> HttpResponse:
    """Store events of an attempt and return the site's state of the job: see jobs/delivery.py."""
    message, enrolment = parse_json_body(request), request.enrolment
    alive(enrolment, message)
    attempt, job = int(message["attempt"]), job_of(enrolment, message["job"])
    if job is None:
        raise NotTaken("No such job.")
    mine = job.worker == enrolment.worker and job.attempt == attempt
    if mine and not job.ended:
        job = record(str(job.pk), attempt, list(events(message["events"], job, enrolment.worker))) or job
    current = job.attempt + (job.ended or (job.attempt == attempt and not mine))
    return JsonResponse({"attempt": current, "seq": job.seq, "stop": job.stop})


@require_enrolment
@require_safe
def get_file(request: Any) -> HttpResponse:
    """Send a required file: `?at=` is the machine's job with its `attempt`, `?job=` and `?name=` identify the file."""
    mine = at_work(request.enrolment, request.GET["at"], request.GET["attempt"])
    job, name = request.GET["job"], request.GET["name"]
    if (job, name) not in set(iter_required_files(mine)):
        raise NotTaken("This job does not need that file.")
    return FileResponse(path_of(job, name, settings.PROVE_DATA).open("rb"))


@require_enrolment
@require_POST
def put_file(request: Any) -> HttpResponse:
    """Receive a chunk of a result: `?job=`, `attempt`, `name`, `at` (first byte) and `last` (1 for the last chunk)."""
    query = request.GET
    job = at_work(request.enrolment, query["job"], query["attempt"])
    size = int(request.headers.get("Content-Length") or 0)
    if not 0 <= size <= PIECE or "Transfer-Encoding" in request.headers:
        raise NotTaken(f"A chunk has at most {PIECE:,} bytes and needs a Content-Length.")
    try:
        admit(job, request.enrolment, size)
        take(job, query["name"], int(query["at"]), iter(lambda: request.read(1 << 16), b""), query.get("last") == "1")
    except (QuotaExceededError, DiskFull) as error:
        return JsonResponse({"error": str(error)}, status=507)
    except OSError as error:
        return JsonResponse({"error": f"The site cannot store the file ({error.strerror})."}, status=507)
    return JsonResponse({})


@require_enrolment
@require_POST
def prune_files(request: Any) -> HttpResponse:
    """Delete results that the machine no longer has; the request lists all current names."""
    message = parse_json_body(request)
    delete_unlisted_results(at_work(request.enrolment, message["job"], message["attempt"]), map(str, message["names"]))
    return JsonResponse({})


@require_enrolment
@require_POST
def sign_off_worker(request: Any) -> HttpResponse:
    """Sign the machine off."""
    heartbeat.forget(message_broker.broker(), request.enrolment.worker)
    return JsonResponse({})
