"""Base class of a project's client methods: single requests, lists, lines of an export, and file downloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .studio import Studio


Json = dict[str, Any]
Items = Iterator[Json]
Level = Literal["after_step", "now"]


class APIResource:
    def __init__(self, studio: Studio, organisation: str, project: str) -> None:
        self.studio, self.path = studio, f"/{organisation}/{project}"

    def get(self, path: str, **query: Any) -> Any:
        return self.studio.request("GET", self.path + path, **query)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return dict(self.studio.request("POST", self.path + path, body))

    def put(self, path: str, body: Mapping[str, Any]) -> Json:
        return dict(self.studio.request("PUT", self.path + path, body))

    def all(self, path: str, **query: Any) -> Items:
        return self.studio.items(self.path + path, **query)

    def iter_json_lines(self, path: str, **query: Any) -> Iterator[Any]:
        return self.studio.iter_json_lines(self.path + path, **query)

    def download(self, path: str, file: str | Path, **query: Any) -> int:
        return self.studio.download(self.path + path, file, **query)
