"""Signatures of a server's changes up to renaming of new ids: they are equal if a renaming makes the changes equal.

New ids are distinguished by colour refinement (Weisfeiler and Leman): a row's colour is computed from its content, the
colours of the new rows it refers to and the colours of the rows that refer to it, and recomputed until no more rows are
distinguished. Without cycles of references this is exact: rows of equal colour are interchangeable. Ids are recognised
anywhere in a row, also inside texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from hashlib import blake2b
from typing import Any, NamedTuple

from mcp_servers.core.state import Change, Table, adapter

ID = re.compile(r"(?<![\w-])([A-Z][A-Z0-9]*-[0-9]+)(?!\w)")
OWN = "own"
Changes = Mapping[str, Mapping[str, Change]]


class Row(NamedTuple):
    """A changed row: table, id, whether the id is new, and the JSON split at ids, which have the odd positions."""

    table: str
    id: str
    new: bool
    parts: list[str]


def collect_new_ids(changes: Changes) -> set[str]:
    """Return the generated ids of new rows."""
    return {
        id
        for rows in changes.values()
        for id, (before, after) in rows.items()
        if before is None and after is not None and ID.fullmatch(id)
    }


def signature(tables: Mapping[str, Table[Any, Any]], changes: Changes, foreign: Set[str] = frozenset()) -> str:
    """Return 32 hex digits that are equal for two worlds whose changes on this server are equal up to renaming.

    `foreign` has the new ids of other servers, whose rows are compared there.
    """
    new, rows = collect_new_ids(changes), list[Row]()
    for name, changed in changes.items():
        to_json = adapter(tables[name].about.kind).dump_json
        for id, (_, after) in changed.items():
            text = to_json(after).decode() if after is not None else "removed"
            rows.append(Row(name, id, id in new, ID.split(text)))
    colours = refine_colours(rows, new, dict.fromkeys(foreign, "elsewhere"))
    return digest(*sorted(render(row, colours) for row in rows))


def refine_colours(rows: Sequence[Row], new: Set[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return a colour for every new id, in addition to those given; each round only refines the previous colours."""
    colours, classes = {**given, **dict.fromkeys(new, "")}, 0
    while classes < len(new):
        texts = [render(row, colours | {row.id: OWN} if row.new else colours) for row in rows]
        spoken_of: dict[str, list[str]] = {id: [] for id in new}
        for row, text in zip(rows, texts, strict=True):
            for place, id in enumerate(row.parts[1::2]):
                if id in new and id != row.id:
                    spoken_of[id].append(f"{place} {text}")
        made = zip(rows, texts, strict=True)
        fresh = {row.id: digest(text, *sorted(spoken_of[row.id])) for row, text in made if row.new}
        colours = {**given, **fresh}
        before, classes = classes, len(set(fresh.values()))
        if classes == before:
            break
    return colours


def render(row: Row, colours: Mapping[str, str]) -> str:
    """Return a row as text, with colours in place of new ids."""
    parts = [colours.get(part, part) if place % 2 else part for place, part in enumerate(row.parts)]
    return f"{row.table} {'' if row.new else row.id} {''.join(parts)}"


def digest(*texts: str) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
