"""JSON as a tree whose branches fold, written as HTML: keys, values by kind, and how much is in what is folded."""

from __future__ import annotations

import json
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

OPEN_DEPTH, OPEN_ITEMS = 3, 12  # what is deeper or longer is folded at first
MOST = 20_000  # values, beyond which a tree is of no use to anyone


def tree(text: str) -> SafeString | None:
    """The tree of a JSON text; None for a text that is none, or too much of one."""
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
    """What tells one folded object from another: its id or name."""
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
