"""Result of a call in several views: structure, text, JSON-RPC, changed rows, timing, code."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from django.http import HttpRequest
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from . import wire_format
from .models import SessionCall
from .tables import RowChange
from .world_cache import Moment, get_injected_faults

# JSON as a collapsible HTML tree: keys, values by type, and the number of collapsed parts.

OPEN_DEPTH, OPEN_ITEMS = 3, 12  # deeper or longer branches are collapsed initially
MOST = 20_000  # values; a larger tree helps nobody


def tree(text: str) -> SafeString | None:
    """Return the tree of a JSON text; None for other text or too large a tree."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if size(value) > MOST:
        return None
    # every text in it is escaped
    return mark_safe(f'<ul class="tree">{item(value, None, 0)}</ul>')


def item(value: Any, name: Any, depth: int) -> str:
    key = "" if name is None else f'<span class="tree-key">{escape(str(name))}</span>: '
    if not isinstance(value, dict | list) or not value:
        return f"<li>{key}{leaf(value)}</li>"
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = "".join(item(part, key, depth + 1) for key, part in pairs)
    folded = "" if depth < OPEN_DEPTH and (depth == 0 or len(value) <= OPEN_ITEMS) else " closed"
    opened = "" if folded else " open"
    count = f"{len(value)} {'field' if isinstance(value, dict) else 'item'}{'s' * (len(value) != 1)}"
    return (
        f'<li><details{opened}><summary>{key}<span class="tree-count">{count}</span>{hint(value)}</summary>'
        f"<ul>{inner}</ul></details></li>"
    )


def hint(value: Any) -> str:
    """Return what distinguishes collapsed objects: the id or name."""
    if isinstance(value, dict):
        named = next((value[key] for key in ("id", "name", "title") if isinstance(value.get(key), str)), "")
        return f' <span class="tree-hint">{escape(named)}</span>' if named else ""
    return ""


def leaf(value: Any) -> str:
    kind = "text" if isinstance(value, str) else "none" if value is None else "plain"
    return f'<span class="tree-{kind}">{escape(json.dumps(value, ensure_ascii=False))}</span>'


def size(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(size, parts))


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
    """Return the context of a call for the selected view only."""
    way = request.GET.get("view", "")
    way = way if way in WAYS else "structure"
    before, after = known[call.position - 1].world, known[call.position].world
    context: dict[str, Any] = {"call": call, "changes": changed, "ways": WAYS.items(), "way": way}
    context["raw"] = json.dumps(call.arguments, ensure_ascii=False)
    context["took"] = format_response_time(call)
    context["as_recorded"] = known[call.position].as_recorded
    context["met"] = get_injected_faults(known, call.position)
    match way:
        case "structure":
            context["tree"] = tree(call.text)
        case "rpc":
            context |= {"sent": wire_format.request(call), "answered": wire_format.response(call)}
        case "timing":
            context |= {"times": times(call), "from_time": before.now, "to_time": after.now}
        case "code":
            writes = wire_format.writes_before(call.session, call.position)
            context["codes"] = [
                ("Python", "python", wire_format.python(call, writes)),
                ("curl", "curl", wire_format.curl(call, writes)),
                ("JSON", "json", wire_format.as_json(call)),
            ]
            context["gateway"] = wire_format.serve(call.session)
    return context


def format_response_time(call: SessionCall) -> str:
    """Return the response time of the server; empty if it was not measured."""
    if call.took_us is None:
        return ""
    return f"{call.took_us} µs" if call.took_us < 1000 else f"{call.took_us / 1000:.1f} ms"


def times(call: SessionCall) -> dict[str, Any]:
    """Return the call's response time in milliseconds, and the count and median for its tool in this session.

    Times are None if none was measured.
    """
    taken = call.session.calls.filter(tool=call.tool, took_us__isnull=False).values_list("took_us", flat=True)
    measured = [each / 1000 for each in taken]
    mine = None if call.took_us is None else call.took_us / 1000
    return {"mine": mine, "count": len(measured), "median": median(measured) if measured else None}
