"""Catalogue of the servers and their tools by name; a tool's name is unique across all servers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import Any

from . import (
    banking,
    budget,
    calendar,
    crm,
    email,
    filesystem,
    food_delivery,
    iot_devices,
    issue_tracker,
    maps,
    marketplace,
    payments,
    retail_chain,
    shopping,
    social_media,
    team_chat,
    trading,
    travel_booking,
    vehicle,
    video_meeting,
)
from .core import Server, Tool
from .core.phrases import FILE

SERVERS: dict[str, Server[Any]] = {
    server.name: server
    for server in (
        banking.server,
        trading.server,
        payments.server,
        calendar.server,
        email.server,
        filesystem.server,
        shopping.server,
        marketplace.server,
        retail_chain.server,
        travel_booking.server,
        maps.server,
        social_media.server,
        team_chat.server,
        iot_devices.server,
        vehicle.server,
        crm.server,
        issue_tracker.server,
        budget.server,
        food_delivery.server,
        video_meeting.server,
    )
}
TOOLS: dict[str, tuple[Server[Any], Tool]] = {
    name: (server, tool) for server in SERVERS.values() for name, tool in server.tools.items()
}


def fingerprint(names: Iterable[str]) -> str:
    """Return an identifier of the schemas and behaviour of these servers, given in any order.

    Data made under another fingerprint may not replay. It has 16 hex digits, then two for each server in alphabetical
    order, from which `find_changed_servers` tells which servers differ. Raises KeyError for a server that is not in the
    catalogue, NotCertified for one without a certificate.
    """
    return _fingerprint(tuple(sorted(set(names))))


@cache
def _fingerprint(names: tuple[str, ...]) -> str:
    found = [SERVERS[name].fingerprint for name in names]
    joined = ",".join(f"{name}:{one}" for name, one in zip(names, found, strict=True))
    return f"{blake2b(joined.encode(), digest_size=8).hexdigest()}-{''.join(one[:2] for one in found)}"


def compute_wording_digest(names: Iterable[str]) -> str:
    """Return a digest of the phrases of these servers and of their rows' labels, on which synthesis depends."""
    digest = blake2b(digest_size=8)
    for name in sorted(set(names)):
        digest.update((SERVERS[name].folder / FILE).read_bytes())
        for row, kind in SERVERS[name].opening(0, "small").row_types().items():
            digest.update(f"{row}{kind.__label__}".encode())
    return digest.hexdigest()


def find_changed_servers(names: Iterable[str], before: str) -> tuple[str, ...]:
    """Return the servers whose behaviour has changed since their fingerprint was `before`; all if it names none.

    A server that no longer exists counts as changed.
    """
    listed = tuple(sorted(set(names)))
    gone = tuple(name for name in listed if name not in SERVERS)
    if not gone and fingerprint(listed) == before:
        return ()
    digits = before.partition("-")[2]
    if len(digits) != 2 * len(listed):
        return listed
    pairs = zip(listed, (digits[place : place + 2] for place in range(0, len(digits), 2)), strict=True)
    return tuple(name for name, two in pairs if name in gone or SERVERS[name].fingerprint[:2] != two) or listed


def behaves_otherwise(names: Iterable[str], before: str) -> str:
    """Return the beginning of a sentence about the servers that changed since their fingerprint was `before`."""
    found = find_changed_servers(names, before)
    return f"{', '.join(found)} behave{'s' if len(found) == 1 else ''} differently now than when this was made"
