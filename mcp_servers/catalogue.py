"""The servers there are, by name, and their tools: names of tools are unique over all servers."""

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
from .kit import Server, Tool

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
    """Names the schemas and the behaviour of these servers, in any order: data made under another one may not replay.

    Raises KeyError for a server that is not in the catalogue, NotCertified for one without a certificate.
    """
    return _fingerprint(tuple(sorted(set(names))))


@cache
def _fingerprint(names: tuple[str, ...]) -> str:
    digest = blake2b(digest_size=8)
    for name in names:
        digest.update(f"{name}:{SERVERS[name].fingerprint},".encode())
    return digest.hexdigest()
