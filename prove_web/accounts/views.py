"""Pages about people: the start page, the team's members, a new project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Case, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from . import second_factor
from .forms import AddMember, ChangeRole, NewProject, SignIn
from .invitation_forms import Invite
from .invitations import list_invitations
from .memberships import LastOwner, NewMember, add, change, remove
from .models import Invitation, Membership, Organisation, Project
from .offboarding import describe_ended, preview_revocations
from .permissions import Action, in_organisation, signed_in
from .require_mfa_views import DAYS
from .roles import Role


@signed_in
@require_GET
def start(request: Any) -> HttpResponse:
    """Redirect to the newest visible project; without any, show what to do."""
    newest = (
        Project.objects.filter_visible_to(request.user)
        .select_related("organisation")
        .order_by("-created_at", "-pk")
        .first()
    )
    if newest:
        return redirect(newest)
    return render(request, "accounts/start.html", {"teams": request.user.organisations.order_by("name")})


@signed_in
@require_GET
def password_changed(request: HttpRequest) -> HttpResponse:
    messages.success(request, "Your password is changed. Other browsers are signed out.")
    return redirect("start")


def locked_out(request: HttpRequest, *rest: Any) -> HttpResponse:
    """Show the sign-in page after too many wrong passwords; the user name is preserved, the password is not checked."""
    form = SignIn(request, initial={"username": request.POST.get("username", "")})
    minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
    context = {"form": form, "next": request.POST.get("next", ""), "locked_minutes": minutes}
    return render(request, "accounts/sign_in.html", context, status=429)


@in_organisation(Action.VIEW)
@require_GET
def members(request: Any) -> HttpResponse:
    return members_page(request)


def members_page(
    request: Any,
    *,
    adding: AddMember | None = None,
    added: NewMember | None = None,
    inviting: Invite | None = None,
    invited: Sequence[tuple[Invitation, str]] = (),
    status: int = 200,
) -> HttpResponse:
    """Render the members page, with what was just created: a member's initial password, or invitation links."""
    order = Case(*(When(role=role, then=Value(-place)) for place, role in enumerate(Role)))
    context = {
        "members": request.organisation.memberships.select_related("user")
        .annotate(secured=second_factor.exists("user"))
        .order_by(order, "user__username"),
        "second_factor_days": DAYS,
        "second_factor_on": request.organisation.second_factor_from,
        "secured": second_factor.get_second_factors(request.user).exists() if request.role == Role.OWNER else False,
        "projects": request.organisation.projects.select_related("organisation"),
        "roles": [
            {"role": role, "may": [(action, role.covers(action)) for action in Action]} for role in reversed(Role)
        ],
        "form": adding or AddMember(organisation=request.organisation),
        "added": added,
        "inviting": inviting or Invite(auto_id="invite_%s"),
        "invited": invited,
        "invitations": list_invitations(request.organisation) if request.role == Role.OWNER else (),
    }
    return render(request, "accounts/members.html", context, status=status)


@in_organisation(Action.MANAGE)
@never_cache
@require_POST
def member_add(request: Any) -> HttpResponse:
    """Add a member. The response shows a new user's password, only this once; it is not stored."""
    form = AddMember(request.POST, organisation=request.organisation)
    if not form.is_valid():
        return members_page(request, adding=form, status=422)
    added = add(request.organisation, form.cleaned_data["person"], form.cleaned_data["role"])
    if added.password:
        return members_page(request, added=added)
    messages.success(request, f"{added.membership.user} is a member now.")
    return redirect(request.organisation)


@in_organisation(Action.MANAGE)
@require_POST
def member_change(request: Any, member: int) -> HttpResponse:
    membership, form = one_of(request.organisation, member), ChangeRole(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such role.")
        return redirect(request.organisation)
    try:
        ended = change(membership, form.cleaned_data["role"])
    except LastOwner as error:
        messages.error(request, str(error))
    else:
        role = membership.get_role_display().lower()
        messages.success(request, f"{membership.user} is now {role}.{describe_ended(ended)}")
    return redirect(request.organisation)


@in_organisation(Action.MANAGE)
@require_POST
def member_remove(request: Any, member: int) -> HttpResponse:
    membership = one_of(request.organisation, member)
    try:
        ended = remove(membership)
    except LastOwner as error:
        messages.error(request, str(error))
        return redirect(request.organisation)
    messages.success(
        request, f"{membership.user} is no longer a member of {request.organisation}.{describe_ended(ended)}"
    )
    return redirect("start" if membership.user == request.user else request.organisation)


@in_organisation(Action.VIEW)
@require_http_methods(["GET", "POST"])
def leave_organisation(request: Any) -> HttpResponse:
    """Leave the team; the form names the team to be left."""
    membership = request.organisation.memberships.select_related("user", "organisation").get(user=request.user)
    fault = ""
    if request.POST.get("leave") == request.organisation.slug:
        try:
            ended = remove(membership)
        except LastOwner as error:
            fault = str(error)
        else:
            messages.success(request, f"You are no longer a member of {request.organisation}.{describe_ended(ended)}")
            return redirect("start")
    context = {"ending": preview_revocations(membership), "fault": fault}
    return render(request, "accounts/leave.html", context, status=422 if request.method == "POST" else 200)


def one_of(organisation: Organisation, member: int) -> Membership:
    return get_object_or_404(organisation.memberships.select_related("user", "organisation"), pk=member)


@in_organisation(Action.MANAGE)
@require_http_methods(["GET", "POST"])
def project_new(request: Any) -> HttpResponse:
    form = NewProject(request.POST or None, organisation=request.organisation)
    if request.method == "POST" and form.is_valid():
        return redirect(form.save())
    return render(request, "accounts/project_new.html", {"form": form}, status=422 if form.errors else 200)
