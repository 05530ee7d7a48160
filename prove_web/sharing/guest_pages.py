"""Pages behind a share link, for anyone who has it: one read-only page, and the parts that this page requests."""

from __future__ import annotations

import re
import socket
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from prove_web.accounts.models import User
from prove_web.accounts.permissions import allow_anyone
from prove_web.accounts.roles import Role
from prove_web.live.deltas import deltas
from prove_web.live.models import Job, JobEvent
from prove_web.review.blinding import Blind
from prove_web.trajectories.models import Trajectory

from . import guest_sanitizer
from .guest_sanitizer import Words, build_redactor
from .links import count, find_open_share
from .models import Share
from .share_scope import OPEN_PARTS, Reach, match_of, part_of

# A link to a trajectory, opened by a signed-in user who has yet to review it blind.

WAITS = "This trajectory awaits your blind review. Until you complete it, the link shows only what reviewers may see."


def waits(share: Share, user: Any) -> bool:
    """Return whether the page would reveal what the team's own pages still hide from the user.

    A user who is signed out is anonymous, and sees what anybody sees.
    """
    page = match_of(share.project, share.path) if share.kind == Share.Kind.TRAJECTORY else None
    if page is None or not user.is_authenticated:
        return False
    named = {"dataset__number": page.kwargs["dataset"], "example": page.kwargs["example"]}
    keys = Trajectory.objects.filter_by_project(share.project).filter(**named).values_list("pk", "parent")
    return bool(Blind(user, share.project).find_hidden_ids(key for row in keys for key in row if key))


# Hidden from everybody outside the team: people's identities, and where the site stores its data.

ADDRESS = r"(?<![\w.+-])(?:[\w.+-]++@[\w-]++(?:\.[\w-]++)++)++"  # of e-mail; one may directly follow another
PLACES = r"\b(?:s3|s3a|gs|gcs|file|abfs|hdfs|https?)://[^\s\"'<>]+"
FOLDERS = r"(?<![\w/.<])/(?:[\w.@+-]++/)++[\w.@+-]*+"
PRIVATE = re.compile("|".join((ADDRESS, PLACES, FOLDERS)))
LOCAL = {"localhost", "127.0.0.1"}
CONVERSATIONS = (Share.Kind.TRAJECTORY, Share.Kind.ROLLOUT)


def words_of(share: Share) -> Words:
    """Return a function that removes private words from a page.

    Conversations are full of fictitious people and addresses, so only words known to be real are removed from those.
    """
    people = list(
        User.objects.filter(memberships__organisation=share.project.organisation_id).values_list(
            "email", "username", "first_name", "last_name"
        )
    )
    known = {email for email, *_ in people} | machine() | machines(share)
    if share.kind in CONVERSATIONS:
        return build_redactor(known - LOCAL)
    for _, username, first, last in people:
        known |= {username, f"{first} {last}".strip()}
    return build_redactor(known - LOCAL, PRIVATE)


def machines(share: Share) -> set[str]:
    """Return the names of the machines that ran jobs of the project."""
    hosts = JobEvent.objects.filter(job__project=share.project_id, kind="started").values_list("data__host", flat=True)
    known = {host for host in hosts.distinct().order_by() if isinstance(host, str)}
    workers = Job.objects.filter(project=share.project_id).exclude(worker="").values_list("worker", flat=True)
    return known | {name for worker in workers.distinct().order_by() for name in (worker, worker.partition("@")[2])}


def machine() -> set[str]:
    """Return this machine's name, and where it stores its data."""
    storage = settings.PROVE_STORAGE.rstrip("/")
    return {str(settings.PROVE_DATA), str(settings.BASE_DIR), storage, socket.gethostname()} - LOCAL - {""}


HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow",
}
CHART_EVENTS = ("step", "held_out", "rewound")  # events of a run from which its charts are drawn
STANDS = ("state", "state_name", "done", "total", "seconds_left", "at_work")


class Visitor(AnonymousUser):
    """User of a share link. Pages that ask what the user has done find nothing."""

    def __int__(self) -> int:
        return 0  # an id that no row has


@allow_anyone
@require_safe
def render_shared_page(request: Any, secret: str) -> HttpResponse:
    return answer(request, secret)


@allow_anyone
@require_safe
def shared_part(request: Any, secret: str, part: str) -> HttpResponse:
    return answer(request, secret, part)


@allow_anyone
@require_safe
def shared_live(request: Any, secret: str) -> HttpResponse:
    """Return new events of a shown run, as the team's socket sends them: `?job=…&after=<cursor>`."""
    share = find_open_share(secret)
    job, after = request.GET.get("job", ""), request.GET.get("after", "0")
    jobs = {str(run.job_id) for run in Reach(share, secret).runs()} if share else set()
    changes = deltas(job, int(after)) if job in jobs and after.isdecimal() and len(after) < 19 else None
    if changes is None:
        return render_not_found_page(request)
    changes["summary"] = {name: changes["summary"][name] for name in STANDS}
    changes["events"] = [
        {**each, "data": numbers(each["data"])} for each in changes["events"] if each["kind"] in CHART_EVENTS
    ]
    return JsonResponse(changes, headers=HEADERS)


def numbers(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if isinstance(value, int | float)}


def answer(request: Any, secret: str, part: str | None = None) -> HttpResponse:
    """Render the team's page for a user without any membership, then sanitize the result."""
    share = find_open_share(secret)
    if share is None:
        return render_not_found_page(request)
    reach = Reach(share, secret)
    match = reach.match(share.path if part is None else part)
    if match is None or part_of(request.get_full_path()) not in OPEN_PARTS:
        return render_not_found_page(request)
    if waits(share, request.user):
        return to_the_team(request, share) if part is None else render_not_found_page(request)
    become_guest(request, share, reach)
    request.resolver_match, request.GET = match, reach.query(request.GET)
    parts = {name: value for name, value in match.kwargs.items() if name not in ("organisation", "project")}
    try:
        made = match.func.__wrapped__(request, **parts)
    except (Http404, PermissionDenied):
        return render_not_found_page(request)
    if part is None and request.method == "GET" and not request.htmx:
        count(share)
    return sanitize_response(request, made, reach)


def to_the_team(request: Any, share: Share) -> HttpResponse:
    """Redirect to the team's page, which hides what the user may not know before reviewing."""
    messages.info(request, WAITS)
    where = f"{share.project.get_absolute_url()}{share.path}"
    return HttpResponseRedirect(f"{where}?{share.query}".removesuffix("?"), headers=HEADERS)


def become_guest(request: Any, share: Share, reach: Reach) -> None:
    """Treat every user, even a member, as anonymous."""
    request.user = Visitor()
    request.project, request.organisation, request.role = share.project, share.project.organisation, Role.VIEWER
    request.share, request.shared_at = share, reach.base


def sanitize_response(request: Any, made: HttpResponse, reach: Reach) -> HttpResponse:
    """Return the response without what visitors may not see; only pages and JSON are passed on."""
    kind = made.headers.get("Content-Type", "").partition(";")[0]
    rewrite = {"text/html": guest_sanitizer.page, "application/json": guest_sanitizer.data}.get(kind)
    if made.status_code in (204, 304):
        return HttpResponse(status=made.status_code, headers=HEADERS)
    if made.status_code >= 300 or made.streaming or rewrite is None:
        return render_not_found_page(request)
    request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)  # of removed forms: a visitor gets no cookie
    text = rewrite(made.content.decode(), reach, words_of(reach.share))
    return HttpResponse(text, content_type=made.headers["Content-Type"], headers=HEADERS)


def render_not_found_page(request: Any) -> HttpResponse:
    """Return the same page for everything missing or expired, so that nobody can tell them apart."""
    text = render_to_string("sharing/gone.html", request=request)
    return HttpResponse(text, status=404, headers=HEADERS)
