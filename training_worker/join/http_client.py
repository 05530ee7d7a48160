"""HTTP client of an enrolled worker: JSON and files, with the token in every request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

PIECE = 4 << 20  # bytes sent at a time
PATIENCE = 30.0  # seconds until a request times out
CHUNK = 1 << 20
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class WorkerRefusedError(Exception):
    """Refusal of this machine by the site; the message says why and what to do."""


class SiteUnavailableError(Exception):
    """Failure of the site to answer, or to answer at the moment."""


class NotTaken(Exception):
    """Rejection of a single request by the site."""


class Stay(HTTPRedirectHandler):
    """Redirect handler that follows none, because the token is only for the site that issued it."""

    def redirect_request(self, *args: Any, **rest: Any) -> None:
        return None


class Line:
    def __init__(self, url: str, token: str):
        """Raises WorkerRefusedError for a URL to which the token must not be sent."""
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise WorkerRefusedError(
                f"{url} is not an https URL. Tokens are sent only over https, except to this machine itself."
            )
        self.url, self.token = url.rstrip("/") + "/", token
        self.opener = build_opener(Stay)

    def request(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a JSON request and return the response. Raises WorkerRefusedError, Away and NotTaken."""
        headers = {"Content-Type": "application/json"}
        with self.open(Request(self.address(path), json.dumps(body).encode(), headers, method="POST")) as answer:
            try:
                return dict(json.load(answer))
            except ValueError:
                raise SiteUnavailableError(f"{self.url} answers, but is not a PROVE Studio site.") from None

    def fetch(self, target: Path, **query: Any) -> None:
        """Fetch a file from the site, completely or not at all.

        Raises WorkerRefusedError, Away, NotTaken and OSError.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".partial")
        with self.open(Request(self.address("file/", **query))) as answer, draft.open("wb") as file:
            while piece := answer.read(CHUNK):
                file.write(piece)
        draft.replace(target)

    def send(self, file: Path, **query: Any) -> None:
        """Send a file to the site in chunks. Raises WorkerRefusedError, Away, NotTaken and OSError."""
        at = 0
        with file.open("rb") as source:
            size = source.seek(0, 2)
            source.seek(0)
            while True:
                piece = source.read(min(PIECE, size - at))
                last = at + len(piece) >= size or not piece
                address = self.address("result/", **query, at=at, last=int(last))
                headers = {"Content-Type": "application/octet-stream"}
                with self.open(Request(address, piece, headers, method="POST")) as answer:
                    answer.read()
                at += len(piece)
                if last:
                    return

    def address(self, path: str, **query: Any) -> str:
        return urljoin(self.url, f"worker/{path}") + (f"?{urlencode(query)}" if query else "")

    def open(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            return self.opener.open(request, timeout=PATIENCE)
        except HTTPError as error:
            why = reason(error)
            if error.code in (401, 409):
                raise WorkerRefusedError(why) from None
            raise (SiteUnavailableError if error.code >= 500 else NotTaken)(why) from None
        except (URLError, OSError) as error:
            raise SiteUnavailableError(f"{self.url} does not answer: {getattr(error, 'reason', error)}") from None


def reason(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"The site answers {error.code} {error.reason}."
