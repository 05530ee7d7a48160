"""The result of one call in its ways to be looked at: structure, text, JSON-RPC, changed rows, timing, code."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from django.http import HttpRequest

from . import wire_format
from .json_tree import tree
from .models import SessionCall
from .tables import RowChange
from .world_cache import Moment, met

WAYS = {
    "structure": "Structure",
    "text": "Text",
    "diff": "Changes",
    "rpc": "JSON-RPC",
    "timing": "Timing",
    "code": "Code",
}


def result(
    request: HttpRequest, call: SessionCall, known: tuple[Moment, ...], changed: list[RowChange]
) -> dict[str, Any]:
    """What the chosen way shows of a call, and nothing that it does not need."""
    way = request.GET.get("view", "")
    way = way if way in WAYS else "structure"
    before, after = known[call.position - 1].world, known[call.position].world
    shown: dict[str, Any] = {"call": call, "changes": changed, "ways": WAYS.items(), "way": way}
    shown["raw"] = json.dumps(call.arguments, ensure_ascii=False)
    shown["took"] = took(call)
    shown["as_recorded"] = known[call.position].as_recorded
    shown["met"] = met(known, call.position)
    match way:
        case "structure":
            shown["tree"] = tree(call.text)
        case "rpc":
            shown |= {"sent": wire_format.request(call), "answered": wire_format.response(call)}
        case "timing":
            shown |= {"times": times(call), "from_time": before.now, "to_time": after.now}
        case "code":
            writes = wire_format.writes_before(call.session, call.position)
            shown["codes"] = [
                ("Python", "python", wire_format.python(call, writes)),
                ("curl", "curl", wire_format.curl(call, writes)),
                ("JSON", "json", wire_format.as_json(call)),
            ]
            shown["gateway"] = wire_format.serve(call.session)
    return shown


def took(call: SessionCall) -> str:
    """How long the server took; empty where it was not measured."""
    if call.took_us is None:
        return ""
    return f"{call.took_us} µs" if call.took_us < 1000 else f"{call.took_us / 1000:.1f} ms"


def times(call: SessionCall) -> dict[str, Any]:
    """Milliseconds the server took, and what calls of this tool took in this session; None where none was measured."""
    taken = call.session.calls.filter(tool=call.tool, took_us__isnull=False).values_list("took_us", flat=True)
    measured = [each / 1000 for each in taken]
    mine = None if call.took_us is None else call.took_us / 1000
    return {"mine": mine, "count": len(measured), "median": median(measured) if measured else None}
