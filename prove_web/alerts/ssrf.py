"""Going out to an address that a user gave: to public hosts alone, and to the very address that was looked at.

The one decision is made where the connection is opened, on what the name resolves to, so that no way to write an
address, and no name that resolves anew, leads past it.
"""

from __future__ import annotations

import re
import socket
from typing import Any

import httpx2
from django.conf import settings

from mcp_servers.ssrf import is_public

HOST = re.compile(rb"[A-Za-z0-9._:-]+")
PORTS = frozenset({80, 443, 8080, 8443})
DEFAULT = {"http": 80, "https": 443}


class Refused(Exception):
    """An address that nothing is sent to; the message says why."""


def parsed(text: str) -> httpx2.URL:
    """An address as it will be used. Raises Refused for one that is refused whatever its name resolves to."""
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        raise Refused("Invalid URL: it must start with https:// and name a host.") from None
    checked(url)
    return url


def checked(url: httpx2.URL) -> None:
    """Raises Refused for what can be told from the address alone."""
    if url.scheme not in DEFAULT or not url.host:
        raise Refused("The URL must start with https:// or http:// and name a host.")
    if not HOST.fullmatch(url.raw_host):
        raise Refused("The host name has invalid characters.")
    if url.userinfo:
        raise Refused("The URL must not contain a username or password; requests are signed instead.")
    if not (port_of(url) in PORTS or listed(url)):
        known = ", ".join(str(port) for port in sorted(PORTS))
        raise Refused(f"Port {port_of(url)} is not allowed; use {known}. The operator can allow others.")


def port_of(url: httpx2.URL) -> int:
    return url.port if url.port is not None else DEFAULT[url.scheme]


def listed(url: httpx2.URL) -> bool:
    """Whether the operator named the host, or the host with this port (PROVE_WEBHOOK_HOSTS)."""
    host, port = url.host.lower().rstrip("."), port_of(url)
    return f"{host}:{port}" in settings.WEBHOOK_HOSTS or (host in settings.WEBHOOK_HOSTS and port in PORTS)


def address_of(url: httpx2.URL) -> str:
    """An address of the host, all of which must be public unless the operator named it. Raises Refused, OSError."""
    host = url.host
    found = socket.getaddrinfo(host, port_of(url), type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not addresses:
        raise OSError(f"{host} has no address")
    if not listed(url) and not all(map(is_public, addresses)):
        raise Refused(f"{host[:100]} is an internal host: only the operator can allow it (PROVE_WEBHOOK_HOSTS).")
    return addresses[0]


class Guarded(httpx2.HTTPTransport):
    """Looks at each request's host before it connects; the certificate is still checked against the name."""

    def __init__(self) -> None:
        super().__init__(trust_env=False, retries=0)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        checked(url)
        try:
            address = address_of(url)
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{url.host[:100]} does not resolve ({type(error).__name__})") from error
        request.url = url.copy_with(host=address)
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        return super().handle_request(request)


def client(seconds: float) -> httpx2.Client:
    """A client for one request: no redirects, no proxy, and so many seconds for each thing it waits for."""
    limits: dict[str, Any] = {"timeout": seconds, "follow_redirects": False, "trust_env": False}
    return httpx2.Client(transport=Guarded(), **limits)
