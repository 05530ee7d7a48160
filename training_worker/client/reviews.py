"""Client methods for a project's review queues, their items, reviews and adjudication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .resource import APIResource, Items, Json


class Reviews(APIResource):
    def queues(self) -> Items:
        return self.all("/review")

    def make_queue(self, name: str, **fields: Any) -> Json:
        return self.post("/review", {"name": name, **fields})

    def items(self, queue: int, state: str = "") -> Items:
        return self.all(f"/review/{queue}/items", state=state)

    def next_item(self, queue: int, after: int = 0) -> Json | None:
        """Return the next item that needs your review, and reserve it for you; None if there is none."""
        found = self.get(f"/review/{queue}/next", after=after)
        return dict(found) if found else None

    def item(self, queue: int, position: int) -> Json:
        return dict(self.get(f"/review/{queue}/items/{position}"))

    def review(self, queue: int, position: int, answers: Mapping[str, Any], **rest: Any) -> Json:
        """Complete your review of an item; `action` may be draft or skip."""
        return self.put(f"/review/{queue}/items/{position}/review", {"answers": dict(answers), **rest})

    def next_conflict(self, queue: int, after: int = 0) -> Json | None:
        """Return the next item whose reviewers disagree; None if there is none."""
        found = self.get(f"/review/{queue}/conflicts/next", after=after)["item"]
        return dict(found) if found else None

    def conflict(self, queue: int, position: int) -> Json:
        """Return the answers of an item's reviewers side by side."""
        return dict(self.get(f"/review/{queue}/items/{position}/adjudication"))

    def settle(self, queue: int, position: int, answers: Mapping[str, Any], **rest: Any) -> Json:
        """Adjudicate an item with your own answers, overriding its reviewers."""
        return self.put(f"/review/{queue}/items/{position}/adjudication", {"answers": dict(answers), **rest})

    def agreement(self, queue: int | None = None, **query: Any) -> Json:
        return dict(self.get("/review/agreement", queue=queue, **query))

    def labels(self, queue: int, **query: Any) -> Iterator[Any]:
        return self.lines(f"/review/{queue}/labels", **query)
