"""Actions in a live session: a call with its form's buttons, a fork, a reset, a deletion."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.graph.sampler import NothingFits

from .. import session_services
from ..argument_examples import example
from ..arguments import JSON, CallForm
from ..catalogue import producers
from ..models import LiveSession, SessionCall
from ..session_page import has, number
from ..world_cache import NotRebuilt, fork_world, moments
from .sessions import build_session_url, get_session_or_404, render_session

TABLE_PARAMS = ("table", "find", "sort", "view")


@in_project(Action.ANNOTATE)
def call(request: ProjectRequest, session: int) -> HttpResponse:
    """Call a tool, or show its form again: changed by a button, with an error, or with a request for confirmation."""
    target = get_session_or_404(request, session)
    if request.method != "POST":  # a link on a form that was shown again, whose URL this is
        return redirect(f"{target.get_absolute_url()}?{request.GET.urlencode()}")
    name = request.POST.get("tool", "")
    if not has(target, name):
        messages.error(request, "This session has no such tool. Choose one of those listed.")
        return redirect(build_session_url(target))
    form = CallForm.from_post(TOOLS[name][1], request.POST)
    try:
        if {"switch", "add", "remove", "reshape", "example"} & {*request.POST}:
            return render_session(request, target, apply_form_button(request, target, form))
        return make_call(request, target, form)
    except NotRebuilt:
        return redirect(build_session_url(target))  # whose page says so


def apply_form_button(request: ProjectRequest, target: LiveSession, form: CallForm) -> CallForm:
    """Return the form as a button changes it, without a call. Raises NotRebuilt."""
    return changed_in(fork_world(moments(target)[-1], ""), form, request.POST)


def changed_in(world: World, form: CallForm, posted: QueryDict) -> CallForm:
    """Return the form as a button changes it, with examples from this world."""
    if "switch" in posted:
        return form.switch_mode()
    return fill_example(world, form) if "example" in posted else form.apply_row_change(posted)


def fill_example(world: World, form: CallForm) -> CallForm:
    """Fill the form with valid arguments from the world's state, different ones each time."""
    tool = form.tool
    try:
        found = example(world, tool, form.example)
    except NothingFits as nothing:
        first = dict.fromkeys(each.name for type in sorted(tool.consumes) for each in producers(type))
        form.error = f"No example available: {str(nothing)[:1].lower()}{str(nothing)[1:]}"
        form.error += f" Call {' or '.join(list(first)[:3])} first." if first else ""
        return form
    made = CallForm.from_arguments(tool, found.arguments, form.mode)
    made.example = form.example + 1
    made.note = (
        f"Example from the current state; {tool.name} returns an error for it: {found.refused}"
        if found.refused
        else f"Example from the current state; tried in a fork, {tool.name} succeeds."
    )
    return made


def make_call(request: ProjectRequest, target: LiveSession, form: CallForm) -> HttpResponse:
    """Make the call, unless something prevents it. Raises NotRebuilt."""
    arguments, tool = form.arguments(), form.tool
    if arguments is None:
        return render_session(request, target, form)
    if tool.destructive and request.POST.get("confirmed") != tool.name:
        form.asks = True  # a destructive call is confirmed, even without script
        return render_session(request, target, form)
    try:
        made = session_services.make(target, request.user, tool.name, arguments)
    except session_services.SessionFullError:
        form.error = f"This session has reached the limit of {session_services.MOST_CALLS:,} calls. Continue in a fork."
        return render_session(request, target, form)
    except session_services.SessionBusyError:
        form.error = "Others called tools in this session at the same time. Check their calls, then call again."
        return render_session(request, target, form)
    return respond_with_call(request, target, made, JSON if form.mode == JSON else "")


def respond_with_call(request: ProjectRequest, target: LiveSession, made: SessionCall, mode: str) -> HttpResponse:
    """Show the session with the new call: immediately for a page that swaps its panes, else by a redirect."""
    query = {name: request.GET.get(name) for name in TABLE_PARAMS}
    address = build_session_url(target, tool=made.tool, **{"from": made.position}, mode=mode, **query)
    if not request.htmx:
        return redirect(f"{address}#call-{made.position}")
    request.GET = QueryDict(address.partition("?")[2])
    response = render_session(request, target)
    response["HX-Push-Url"] = address
    return response


@in_project(Action.ANNOTATE)
@require_POST
def fork(request: ProjectRequest, session: int) -> HttpResponse:
    """Create a session that starts in this one's state after a call."""
    source = get_session_or_404(request, session)
    at = number(request.POST.get("at"), source.calls.count())
    twin = session_services.fork(source, request.user, at)
    messages.success(request, f"Forked from “{source}”; that session is unchanged.")
    return redirect(build_session_url(twin))


@in_project(Action.ANNOTATE)
@require_POST
def reset(request: ProjectRequest, session: int) -> HttpResponse:
    """Create a fresh session in the same world."""
    source = get_session_or_404(request, session)
    try:
        twin = session_services.reset(source, request.user)
    except KeyError:
        return redirect(build_session_url(source))  # whose page says that a server is gone
    messages.success(request, f"New session with the same seed. “{source}” is kept.")
    return redirect(build_session_url(twin))


@in_project(Action.ANNOTATE)
@require_POST
def remove(request: ProjectRequest, session: int) -> HttpResponse:
    """Delete one's own session; those of others require the Maintainer role."""
    target = get_session_or_404(request, session)
    if target.created_by_id != request.user.pk and not request.role.covers(Action.LAUNCH):
        messages.error(request, "Deleting sessions of others requires the Maintainer role.")
        return redirect(target)
    if request.POST.get("confirmed") != str(target.pk):
        messages.error(request, "Not deleted: use the button that deletes permanently.")
        return redirect(target)
    title = str(target)
    session_services.remove(target)
    messages.success(request, f"“{title}” deleted. Its forks are kept.")
    return redirect("sessions", *request.project.path)
