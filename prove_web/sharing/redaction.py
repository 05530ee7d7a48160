"""What nobody outside the team is told: who people are, and where the site keeps things."""

from __future__ import annotations

import re
import socket

from django.conf import settings

from prove_web.accounts.models import User
from prove_web.live.models import Job, JobEvent

from .guest_sanitizer import Words, without
from .models import Share

ADDRESS = r"(?<![\w.+-])(?:[\w.+-]++@[\w-]++(?:\.[\w-]++)++)++"  # of e-mail; one may stand right behind another
PLACES = r"\b(?:s3|s3a|gs|gcs|file|abfs|hdfs|https?)://[^\s\"'<>]+"
FOLDERS = r"(?<![\w/.<])/(?:[\w.@+-]++/)++[\w.@+-]*+"
PRIVATE = re.compile("|".join((ADDRESS, PLACES, FOLDERS)))
LOCAL = {"localhost", "127.0.0.1"}
CONVERSATIONS = (Share.Kind.TRAJECTORY, Share.Kind.ROLLOUT)


def words_of(share: Share) -> Words:
    """Leaves out of a page what must not be told.

    Conversations are full of people and addresses that were made up, so of those only what is known to be real goes.
    """
    people = list(
        User.objects.filter(memberships__organisation=share.project.organisation_id).values_list(
            "email", "username", "first_name", "last_name"
        )
    )
    known = {email for email, *_ in people} | machine() | machines(share)
    if share.kind in CONVERSATIONS:
        return without(known - LOCAL)
    for _, username, first, last in people:
        known |= {username, f"{first} {last}".strip()}
    return without(known - LOCAL, PRIVATE)


def machines(share: Share) -> set[str]:
    """What the machines are called that did jobs of the project."""
    hosts = JobEvent.objects.filter(job__project=share.project_id, kind="started").values_list("data__host", flat=True)
    known = {host for host in hosts.distinct().order_by() if isinstance(host, str)}
    workers = Job.objects.filter(project=share.project_id).exclude(worker="").values_list("worker", flat=True)
    return known | {name for worker in workers.distinct().order_by() for name in (worker, worker.partition("@")[2])}


def machine() -> set[str]:
    """This machine's name, and where it keeps what it has."""
    storage = settings.PROVE_STORAGE.rstrip("/")
    return {str(settings.PROVE_DATA), str(settings.BASE_DIR), storage, socket.gethostname()} - LOCAL - {""}
