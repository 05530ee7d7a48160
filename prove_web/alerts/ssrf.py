"""HTTP client for user-supplied URLs, restricted to public hosts (SSRF protection).

The check happens when the connection is opened, on the resolved address, which is also the address connected to.
Neither unusual URL spellings nor DNS rebinding can bypass it.
"""

from __future__ import annotations

import re
import socket
from typing import Any

import httpx2
from django.conf import settings

from mcp_servers.mcp.ssrf import is_public

HOST = re.compile(rb"[A-Za-z0-9._:-]+")
PORTS = frozenset({80, 443, 8080, 8443})
DEFAULT = {"http": 80, "https": 443}


class UrlRefusedError(Exception):
    """Error for a URL that must not be requested; the message says why."""


def parse_url(text: str) -> httpx2.URL:
    """Parse a URL. Raises UrlRefusedError if it is invalid regardless of what its host resolves to."""
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        raise UrlRefusedError("Invalid URL: it must start with https:// and name a host.") from None
    check_url(url)
    return url


def check_url(url: httpx2.URL) -> None:
    """Check what can be decided from the URL alone. Raises UrlRefusedError."""
    if url.scheme not in DEFAULT or not url.host:
        raise UrlRefusedError("The URL must start with https:// or http:// and name a host.")
    if not HOST.fullmatch(url.raw_host):
        raise UrlRefusedError("The host name has invalid characters.")
    if url.userinfo:
        raise UrlRefusedError("The URL must not contain a username or password; requests are signed instead.")
    if not (port_of(url) in PORTS or is_host_allowed(url)):
        known = ", ".join(str(port) for port in sorted(PORTS))
        raise UrlRefusedError(f"Port {port_of(url)} is not allowed; use {known}. The operator can allow others.")


def port_of(url: httpx2.URL) -> int:
    return url.port if url.port is not None else DEFAULT[url.scheme]


def is_host_allowed(url: httpx2.URL) -> bool:
    """Return whether the operator allowed the host, or the host with this port (PROVE_WEBHOOK_HOSTS)."""
    host, port = url.host.lower().rstrip("."), port_of(url)
    return f"{host}:{port}" in settings.WEBHOOK_HOSTS or (host in settings.WEBHOOK_HOSTS and port in PORTS)


def address_of(url: httpx2.URL) -> str:
    """Resolve the host; all addresses must be public unless the operator allowed it.

    Raises UrlRefusedError, OSError.
    """
    host = url.host
    found = socket.getaddrinfo(host, port_of(url), type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not addresses:
        raise OSError(f"{host} has no address")
    if not is_host_allowed(url) and not all(map(is_public, addresses)):
        raise UrlRefusedError(
            f"{host[:100]} is an internal host: only the operator can allow it (PROVE_WEBHOOK_HOSTS)."
        )
    return addresses[0]


class PublicHostTransport(httpx2.HTTPTransport):
    """A transport that checks each request's host before connecting; TLS still verifies the host name."""

    def __init__(self) -> None:
        super().__init__(trust_env=False, retries=0)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        check_url(url)
        try:
            address = address_of(url)
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{url.host[:100]} does not resolve ({type(error).__name__})") from error
        request.url = url.copy_with(host=address)
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        return super().handle_request(request)


def client(seconds: float) -> httpx2.Client:
    """Return a client for one request, without redirects or proxy, with a timeout in seconds for each I/O operation."""
    limits: dict[str, Any] = {"timeout": seconds, "follow_redirects": False, "trust_env": False}
    return httpx2.Client(transport=PublicHostTransport(), **limits)
