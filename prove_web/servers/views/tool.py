"""Page of a tool with a form to call it, which opens a session in the project's initial world."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mcp_servers.catalogue import fingerprint
from mcp_servers.error_catalog import ARGUMENTS, refusals_of
from mcp_servers.world import World
from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.environments.enabled_servers import environment_of, list_enabled_servers

from .. import session_services, usage
from ..arguments import JSON, CallForm
from ..catalogue import Entry, entries, producers, takers
from ..entity_autocomplete import MAX_SUGGESTIONS, search_entities
from ..field_errors import of_refusal
from ..models import LiveSession, SavedCall
from ..parameters import parameters
from .parts import read_search_param
from .session_actions import changed_in
from .sessions import UNPROCESSABLE

BUTTONS = {"switch", "add", "remove", "reshape", "example"}


def open_initial_world(project: Project, entry: Entry) -> World:
    """Return the world for the page's form; this is cheap, because the process caches initial worlds."""
    chosen = environment_of(project)
    return World.open(chosen.seed, (entry.server,), chosen.size)


def build_form_context(project: Project, entry: Entry, form: CallForm) -> dict[str, Any]:
    """Return the context of the form on a tool's page."""
    world = open_initial_world(project, entry)
    types = sorted({*entry.tool.ids.values()})
    return {
        "form": form,
        "now": world.now,
        "environment": environment_of(project),
        "on": entry.server in list_enabled_servers(project),
        "suggestions": [(each, search_entities(world, each, "", MAX_SUGGESTIONS)[0]) for each in types],
        "call_at": reverse("tool-call", args=[*project.path, entry.name]) + "#try",
        "pick_at": reverse("tool-pick", args=[*project.path, entry.name]),
    }


def get_entry_or_404(tool: str) -> Entry:
    entry = entries().get(tool)
    if entry is None:
        raise Http404
    return entry


@in_project(Action.VIEW)
@require_safe
def tool(request: ProjectRequest, tool: str) -> HttpResponse:
    """Show a tool: its parameters, its errors, its producers and consumers, its usage, and a form to call it."""
    entry = get_entry_or_404(tool)
    return tool_page(request, entry, CallForm.from_arguments(entry.tool, {}))


def tool_page(request: ProjectRequest, entry: Entry, form: CallForm, status: int = 200) -> HttpResponse:
    """Render the page with the current input for a call."""
    held, called = usage.of_tool(request.project, entry.name)
    context = {
        "entry": entry,
        "tool": entry.tool,
        "parameters": parameters(entry.tool),
        "refusals": refusals_of(entry.name),
        "fed_by": [(each, list(producers(each))) for each in sorted({*entry.tool.ids.values()})],
        "saved": SavedCall.objects.filter(organisation=request.organisation, tool=entry.name).select_related("made_by"),
        "feeds": [(each, list(takers(each))) for each in sorted(entry.tool.produces)],
        "held": held,
        "called": called,
        **build_form_context(request.project, entry, form),
    }
    return render(request, "servers/tool.html", context, status=status)


@in_project(Action.ANNOTATE)
def call(request: ProjectRequest, tool: str) -> HttpResponse:
    """Open a session and call the tool in it; or show the page again after a button or an error."""
    entry = get_entry_or_404(tool)
    if request.method != "POST" or entry.server not in list_enabled_servers(request.project):
        return redirect("tool", *request.project.path, tool)  # which says that the server is switched off
    form = CallForm.from_post(entry.tool, request.POST)
    if BUTTONS & {*request.POST}:
        return tool_page(request, entry, changed_in(open_initial_world(request.project, entry), form, request.POST))
    arguments = form.arguments()
    if arguments is None or has_schema_errors(request.project, entry, form, arguments):
        return tool_page(request, entry, form, UNPROCESSABLE)
    chosen = environment_of(request.project)
    session = LiveSession.objects.create(
        project=request.project,
        title=f"Trying {entry.name}",
        servers=[entry.server],
        seed=chosen.seed,
        size=chosen.size,
        fingerprint=fingerprint((entry.server,)),
        created_by=request.user,
    )
    made = session_services.make(session, request.user, entry.name, arguments)
    query = f"?tool={entry.name}&from={made.position}" + (f"&mode={JSON}" if form.mode == JSON else "")
    return redirect(f"{session.get_absolute_url()}{query}#call-{made.position}")


def has_schema_errors(project: Project, entry: Entry, form: CallForm, arguments: dict[str, Any]) -> bool:
    """Return whether the arguments violate the tool's schema, with the errors in the form. No session is opened."""
    reply = open_initial_world(project, entry).fork().call(entry.name, arguments)
    if reply.ok or reply.data["error"] != ARGUMENTS.code:
        return False
    form.errors, form.error = of_refusal(entry.tool, arguments, reply.text)
    return True


@in_project(Action.VIEW)
@require_safe
def pick(request: ProjectRequest, tool: str) -> HttpResponse:
    """Return the entities of one id type in the world of the form."""
    find = read_search_param(request, "q")
    entities, count = search_entities(
        open_initial_world(request.project, get_entry_or_404(tool)), read_search_param(request, "type"), find
    )
    return render(request, "servers/picked.html", {"entities": entities, "count": count, "find": find})
