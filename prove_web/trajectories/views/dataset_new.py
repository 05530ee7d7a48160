"""Making a data set in the browser: the form, and beside it what the data set will be like."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.permissions import Action, in_project

from ..forecast import NoForecast, forecast
from ..forms import OF_A_CHAIN, NewDataset


@in_project(Action.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_new(request: Any) -> HttpResponse:
    """`?chain=` for one about a chain of tools, `?tools=` (several times, or with commas) for more about some tools."""
    form = NewDataset(request.project, request.POST or None, initial=about(request.GET))
    if request.method == "POST" and form.is_valid():
        return redirect(form.launch(request.project, request.user))
    return render(request, "trajectories/dataset_new.html", {"form": form}, status=422 if form.errors else 200)


def about(asked: QueryDict) -> dict[str, Any]:
    """What a form about one chain, or about some tools, begins with; about neither it is as it is."""
    if chain := asked.get("chain", "").replace("\0", "")[:400]:
        return {"chain": chain, **OF_A_CHAIN}
    named = ",".join(asked.getlist("tools")).split(",")
    tools = [name for name in dict.fromkeys(named) if name in TOOLS]
    servers = {TOOLS[name][0].name for name in tools}
    own = {"tools": ",".join(tools), "servers": [name for name in SERVERS if name in servers], **OF_A_CHAIN}
    return own if tools else {}


@in_project(Action.LAUNCH)
@require_GET
def dataset_forecast(request: Any) -> HttpResponse:
    """What the form as it stands would make."""
    return render(request, "trajectories/forecast.html", foreseen(request))


def foreseen(request: HttpRequest | Any) -> dict[str, Any]:
    form = NewDataset(request.project, request.GET)
    if not form.is_valid():
        return {"problem": "Correct the fields to see an estimate.", "errors": form.errors}
    try:
        return {"forecast": forecast(form.spec())}
    except NoForecast as why:
        return {"problem": str(why)}
