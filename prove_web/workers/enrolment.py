"""Enrolments of machines: tokens are shown once and stored as hashes, and valid until they expire or are revoked."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.locks import lock_project
from prove_web.accounts.models import Organisation, User
from prove_web.accounts.permissions import Action, has_permission
from prove_web.live import message_broker
from prove_web.live.jobs import enqueue, give_up, lock_job, publish_job_update
from prove_web.live.models import AT_WORK, Job, State
from training_worker.worker import heartbeat

from . import worker_drain
from .models import Enrolment
from .quota import delete_incomplete_uploads

BYTES = 32
PREFIX = "join_"  # a token that starts with a dash would be parsed as a command option
WHY = "The machine that ran it was revoked."


def enrol(organisation: Organisation, user: User, name: str, days: int) -> tuple[Enrolment, str]:
    """Create an enrolment and return it with its token, which is not stored."""
    text, until = PREFIX + secrets.token_urlsafe(BYTES), timezone.now() + timedelta(days=days)
    made = {"name": name, "hash": hash_token(text), "made_by": user, "expires_at": until}
    return Enrolment.objects.create(organisation=organisation, **made), text


def hash_token(text: str) -> str:
    """Return the token's hash; a plain hash suffices because tokens are random and long."""
    return sha256(text.encode()).hexdigest()


def find_valid_enrolment(text: str) -> Enrolment | None:
    """Return the enrolment of a valid token whose creator may still enrol machines."""
    found = Enrolment.objects.filter(hash=hash_token(text)).select_related("organisation", "made_by").first()
    if found is None or not found.good or not found.made_by.is_active:
        return None
    return found if has_permission(found.made_by, Action.MANAGE, found.organisation) else None


def revoke(enrolment: Enrolment) -> int:
    """Revoke a machine; return the number of its running jobs, which go to other workers."""
    if Enrolment.objects.filter(pk=enrolment.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.note(None, "revoked", enrolment, enrolment.organisation)
    message_broker.try_broker_call(lambda: heartbeat.forget(message_broker.broker(), enrolment.worker))
    worker_drain.take_again(enrolment.worker)
    ours = Job.objects.filter(project__organisation=enrolment.organisation_id, state__in=AT_WORK)
    jobs = ours.filter(worker=enrolment.worker)
    return sum(taken_away(job.pk, enrolment.worker) for job in jobs)


def drain(enrolment: Enrolment, drains: bool) -> None:
    """Drain the machine (finish current jobs, take no new ones), or resume it."""
    name = enrolment.worker
    if worker_drain.drain(name, enrolment) if drains else worker_drain.take_again(name):
        audit.note(None, "drained" if drains else "let go on", enrolment, enrolment.organisation)


@transaction.atomic
def taken_away(job_id: object, worker: str) -> bool:
    lock_project(Job.objects.values_list("project", flat=True).get(pk=job_id))
    job = lock_job(job_id)
    if job.worker != worker or job.state not in AT_WORK:
        return False
    give_up(job, WHY, fault=False)
    delete_incomplete_uploads(job)
    job.save()
    if job.state == State.QUEUED:
        enqueue(job)
    transaction.on_commit(lambda: publish_job_update(job))
    return True
