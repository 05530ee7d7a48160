"""HTTP client of one site: requests with a token, retries where that is safe, and streamed responses."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

from .errors import NotKnown, StudioError, Unreachable, refusal
from .project import Project

API = "/api/v1"
SAFE = frozenset({"GET", "PUT"})  # idempotent methods
AWAY = frozenset({502, 503, 504})  # responses of a proxy while the site restarts
LONGEST = 60.0  # seconds between two tries
CHUNK = 1 << 20


class Studio:
    """Client of a site, acting as the token's owner. `pause` waits between tries; `transport` is httpx2's."""

    def __init__(
        self,
        site: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        tries: int = 5,
        pause: Callable[[float], None] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        token = token or os.environ.get("PROVE_TOKEN", "")
        if not token:
            raise NotKnown("No token given.", where="PROVE_TOKEN", do="Create one on the team's page API tokens.")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.tries, self.pause = max(1, tries), pause
        self.http = httpx2.Client(
            base_url=site.rstrip("/") + API, headers=headers, timeout=timeout, transport=transport
        )

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Run loggers stop sending and keep unsent data in their spools."""
        self.http.close()

    @property
    def closed(self) -> bool:
        return self.http.is_closed

    def get_current_user(self) -> dict[str, Any]:
        """Return the user and the scopes of the token."""
        return dict(self.request("GET", "/me"))

    def projects(self) -> list[dict[str, Any]]:
        """Return the projects that the token can access."""
        return list(self.request("GET", "/projects"))

    def make_project(self, organisation: str, name: str, slug: str = "") -> dict[str, Any]:
        """Create a project; its URL is derived from the name unless `slug` is given."""
        return dict(self.request("POST", f"/{organisation}/projects", {"name": name, "slug": slug}))

    def deleted_projects(self, organisation: str) -> Iterator[dict[str, Any]]:
        return self.items(f"/{organisation}/bin")

    def restore_project(self, organisation: str, deletion: int) -> dict[str, Any]:
        """Restore a project from the team's trash, by the `id` that deleting it returned."""
        return dict(self.request("POST", f"/{organisation}/bin/{deletion}/restore"))

    def members(self, organisation: str) -> list[dict[str, Any]]:
        """Return the members of a team with their roles."""
        return list(self.request("GET", f"/{organisation}/members"))

    def project(self, organisation: str, project: str) -> Project:
        """Return the client of one project, by the two names in its URL."""
        return Project(self, organisation, project)

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Send a request and return its response as JSON. Raises StudioError."""
        with self.open_response(method, path, body, query) as answer:
            answer.read()
            return answer.json()

    def send(self, path: str, piece: bytes, **query: Any) -> Any:
        """Upload bytes with PUT, with retries if there is no response. Raises StudioError."""
        with self.open_response("PUT", path, piece, query) as answer:
            answer.read()
            return answer.json()

    def items(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Iterate over a list, page by page."""
        cursor = ""
        while cursor is not None:
            piece = self.request("GET", path, **query, **({"cursor": cursor} if cursor else {}))
            yield from piece["items"]
            cursor = piece["next"]

    def iter_json_lines(self, path: str, **query: Any) -> Iterator[Any]:
        """Iterate over the streamed lines of an export, each parsed as JSON."""
        with self.open_response("GET", path, None, query) as answer:
            yield from (json.loads(line) for line in answer.iter_lines() if line)

    def download(self, path: str, file: str | Path, **query: Any) -> int:
        """Download to a file, completely or not at all. Return the number of bytes."""
        target, size = Path(file), 0
        partial = target.with_name(target.name + ".partial")
        with self.open_response("GET", path, None, query) as answer, partial.open("wb") as out:
            for piece in answer.iter_bytes(CHUNK):
                size += out.write(piece)
        partial.replace(target)
        return size

    @contextmanager
    def open_response(self, method: str, path: str, body: Any, query: dict[str, Any]) -> Iterator[httpx2.Response]:
        """Yield the response to a request before it is read. Raises StudioError for an error response."""
        given = {name: value for name, value in query.items() if value is not None and value != ""}
        sent: dict[str, Any] = {"json": body}
        if isinstance(body, bytes):
            sent = {"content": body, "headers": {"Content-Type": "application/octet-stream"}}
        request = self.http.build_request(method, path.lstrip("/"), params=given, **sent)
        answer = self.send_with_retries(request)
        try:
            if answer.status_code >= 300:
                raise parse_error(answer)
            yield answer
        except httpx2.TransportError as error:
            raise broken_off(request, error) from error
        finally:
            answer.close()

    def send_with_retries(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response of the first try that has one. Raises Unreachable."""
        for left in reversed(range(self.tries)):
            wait = min(LONGEST, 0.5 * 2.0 ** (self.tries - 1 - left))
            try:
                answer = self.http.send(request, stream=True)
            except httpx2.TransportError as error:
                if not left or request.method not in SAFE:
                    raise broken_off(request, error) from error
            else:
                again = answer.status_code == 429 or (answer.status_code in AWAY and request.method in SAFE)
                if not left or not again:
                    return answer
                wait = parse_retry_after(answer, wait)
                answer.close()
            self.pause(wait)
        raise AssertionError("the last try returns or raises")


def parse_error(answer: httpx2.Response) -> StudioError:
    answer.read()
    try:
        known = answer.json()
    except ValueError:
        known = None
    return refusal(answer.status_code, known, answer.text)


def broken_off(request: httpx2.Request, error: Exception) -> Unreachable:
    where = f"{request.method} {request.url}"
    return Unreachable(
        f"The site did not answer: {error}.", where=where, do="Check that it is up and that this is its URL."
    )


def parse_retry_after(answer: httpx2.Response, usual: float) -> float:
    """Return how many seconds the site asks to wait, or `usual` if it does not say."""
    delay = answer.headers.get("Retry-After", "")
    return min(LONGEST, float(delay)) if delay.isdecimal() else usual
