"""Pages of invitations: an owner creates and withdraws them, and anyone with the link joins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from .invitation_forms import Invite, SignUp
from .invitations import InvitationClosedError, find, give_back, invite, join, sign_up, withdraw
from .models import Invitation, Membership, User
from .permissions import Action, allow_anyone, in_organisation, role_in
from .signing_in.adapters import BACKEND, INVITED
from .signing_in.pages import other_site
from .views import members_page

STATUS = {"unknown": 404, "address": 403}


@in_organisation(Action.MANAGE)
@never_cache
@require_POST
def invitation_new(request: Any) -> HttpResponse:
    """Create invitations. The response shows their links, only this once; they are not stored."""
    form = Invite(request.POST, auto_id="invite_%s", organisation=request.organisation)
    if not form.is_valid():
        return members_page(request, inviting=form, status=422)
    with transaction.atomic():
        made = [invite(request.organisation, request.user, wanted) for wanted in form.requests()]
    links = [(one, request.build_absolute_uri(reverse("join", args=[text]))) for one, text in made]
    return members_page(request, invited=links)


@in_organisation(Action.MANAGE)
@require_POST
def invitation_withdraw(request: Any, invitation: int) -> HttpResponse:
    """Withdraw an invitation; with `undo`, restore it."""
    found = get_object_or_404(Invitation, organisation=request.organisation, pk=invitation)
    if request.POST.get("undo"):
        give_back(found)
        messages.success(request, "Invitation restored.")
    else:
        withdraw(found)
        messages.success(request, "Invitation withdrawn. Its link no longer works.")
    return redirect(f"{request.organisation.get_absolute_url()}#invitations")


@allow_anyone
@never_cache
@require_http_methods(["GET", "POST"])
def join_page(request: Any, text: str) -> HttpResponse:
    """Show what the link leads to: a button for signed-in users, a new account for others, or why it is closed."""
    try:
        invitation = find(text)
        if request.user.is_authenticated:
            return join_as(request, invitation, text)
        return join_anew(request, invitation, text)
    except InvitationClosedError as error:
        if error.invitation and role_in(request.user, error.invitation.organisation):
            return redirect(error.invitation.organisation)
        context = {"why": error.why}
        return render(request, "accounts/invitation_closed.html", context, status=STATUS.get(error.why, 410))


def join_as(request: Any, invitation: Invitation, text: str) -> HttpResponse:
    if request.method == "POST":
        return welcome(request, join(text, request.user))
    if role := role_in(request.user, invitation.organisation):
        messages.info(request, f"You are already a member, as {role.label.lower()}. The invitation changes nothing.")
        return redirect(invitation.organisation)
    return render(request, "accounts/join.html", {"invitation": invitation})


def join_anew(request: Any, invitation: Invitation, text: str) -> HttpResponse:
    form = SignUp(request.POST or None, invitation=invitation)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        user = sign_up(text, given["name"], given["email"], given["password"])
        return enter(request, user, invitation)
    other = other_site(request.path)
    if other:
        request.session[INVITED] = text  # allows a new account after sign-in by that site
    context = {"invitation": invitation, "form": form, "link": request.path, "other": other}
    return render(request, "accounts/join.html", context, status=422 if form.errors else 200)


def enter(request: Any, user: User, invitation: Invitation) -> HttpResponse:
    """Sign a new user in."""
    login(request, user, BACKEND)
    return welcome(request, Membership.objects.get(user=user, organisation=invitation.organisation))


def welcome(request: Any, membership: Membership) -> HttpResponse:
    """Redirect to the team's newest project, or to its members if it has none."""
    team = membership.organisation
    messages.success(request, f"You joined {team} as {membership.get_role_display().lower()}.")
    newest = team.projects.filter(deleted_at=None).select_related("organisation").order_by("-created_at", "-pk").first()
    return redirect(newest or team)
