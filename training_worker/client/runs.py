"""Of a project: runs here and elsewhere, their curves, rollouts and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .resource import APIResource, Items, Json, Level

LARGEST_PIECE = 900_000  # bytes of groups in one request


class Runs(APIResource):
    def runs(self, **query: Any) -> Items:
        return self.all("/runs", **query)

    def run(self, number: int) -> Json:
        return dict(self.get(f"/runs/{number}"))

    def launch_run(self, name: str, **fields: Any) -> Json:
        """The fields of the launch form; `clone` begins with another run's, `dataset` is a number."""
        return self.post("/runs", {"name": name, **fields})

    def make_outside_run(self, name: str, **fields: Any) -> Json:
        """A run that some other program trains; one of the same `key` is the same run."""
        return self.post("/runs/outside", {"name": name, **fields})

    def tell_run(self, number: int, **told: Any) -> Json:
        """`points` and `held_out`, each a list of {step, metrics, time}; without any, that it is alive."""
        return self.post(f"/runs/{number}/tell", told)

    def tell_rollouts(self, number: int, step: int, groups: Sequence[Mapping[str, Any]]) -> Json:
        """The rollouts of a step by group, {prompt, rollouts: [{completion, reward}]}, in place of any told before."""
        address, first, stored = f"/runs/{number}/outside/rollouts/{step}", 1, 0
        for piece in pieces(groups):
            stored += self.put(address, {"first": first, "groups": piece})["stored"]
            first += len(piece)
        return {"stored": stored}

    def end_run(self, number: int, state: str = "done", **told: Any) -> Json:
        return self.post(f"/runs/{number}/end", {"state": state, **told})

    def stop_run(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/runs/{number}/stop", {"level": level})

    def resume_run(self, number: int) -> Json:
        return self.post(f"/runs/{number}/resume")

    def mark_run(self, number: int, **marks: Any) -> Json:
        """`tags`, or `add` and `remove`, and `pinned`."""
        return self.post(f"/runs/{number}/mark", marks)

    def keep_run(self, number: int, **kept: Any) -> Json:
        """`name`, `archived`, `base`."""
        return self.post(f"/runs/{number}/keep", kept)

    def write_notes(self, number: int, text: str) -> Json:
        """In place of those that are there now. Raises Conflict where somebody else wrote meanwhile."""
        revision = self.get(f"/runs/{number}/notes")["revision"]
        return self.put(f"/runs/{number}/notes", {"text": text, "revision": revision})

    def outcomes(self, run: int, **query: Any) -> Json:
        """What became of the calls of each tool."""
        return dict(self.get(f"/runs/{run}/tools/outcomes", **query))

    def metrics(self, run: int, *names: str, **query: Any) -> Json:
        return dict(self.get(f"/runs/{run}/metrics", names=",".join(names), **query))

    def points(self, run: int, source: str = "points") -> Iterator[Any]:
        """Every point with all its metrics."""
        return self.lines(f"/runs/{run}/points", source=source)

    def find_rollouts(self, run: int, q: str = "", order: str = "step") -> Items:
        return self.all(f"/runs/{run}/rollouts", q=q, order=order)

    def groups(self, run: int, step: int) -> list[Json]:
        return list(self.get(f"/runs/{run}/rollouts/{step}"))

    def rollout(self, run: int, step: int, index: int) -> Json:
        return dict(self.get(f"/runs/{run}/rollouts/{step}/{index}"))

    def export_rollouts(self, run: int, file: str | Path, **query: Any) -> int:
        return self.download(f"/runs/{run}/rollouts.jsonl", file, **query)

    def checkpoints(self, run: int) -> list[Json]:
        return list(self.get(f"/runs/{run}/checkpoints"))

    def download_checkpoint(self, run: int, step: int, file: str | Path) -> int:
        return self.download(f"/runs/{run}/checkpoints/{step}", file)

    def make_export(self, run: int, step: int, merged: bool = False) -> Json:
        """Have a checkpoint made a folder that others can use; ask again until its `state` is ready."""
        return self.post(f"/runs/{run}/checkpoints/{step}/export", {"merged": merged})

    def download_export(self, run: int, step: int, file: str | Path, merged: bool = False) -> int:
        return self.download(f"/runs/{run}/checkpoints/{step}/export/files", file, merged=merged)

    def open_rollout(self, run: int, step: int, index: int, calls: int = 0) -> Json:
        """Its world as a session, after so many of its calls."""
        return self.post(f"/runs/{run}/rollouts/{step}/{index}/session", {"calls": calls})

    def mark_runs(self, act: str, runs: Sequence[int] | None = None, q: str | None = None, **rest: Any) -> Json:
        """`tag`, `untag` (with `tag`), `pin` or `unpin` these runs, or all that a search finds."""
        return self.post("/runs/mark", chosen(runs, q) | {"act": act, **rest})

    def act_on_runs(self, act: str, runs: Sequence[int] | None = None, q: str | None = None, **rest: Any) -> Json:
        """`archive`, `stop-after`, `resume`, `delete` ... these runs, or all that a search finds."""
        return self.post("/runs/act", chosen(runs, q) | {"act": act, **rest})

    def forecast_run(self, **fields: Any) -> Json:
        """What a run of these settings would take; nothing is launched."""
        return self.post("/runs/forecast", fields)

    def delete_run(self, number: int) -> Json:
        """Into the bin; with the `id` that is answered, `restore` takes it out."""
        return self.post(f"/runs/{number}/delete")


def chosen(runs: Sequence[int] | None, q: str | None) -> Json:
    return {"q": q} if runs is None else {"runs": list(runs)}


def pieces(groups: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Groups in order, as many at once as a request has room for, and one at least."""
    piece: list[Mapping[str, Any]] = []
    size = 0
    for group in groups:
        more = len(json.dumps(group, ensure_ascii=False).encode("utf-8", "replace"))
        if piece and size + more > LARGEST_PIECE:
            yield piece
            piece, size = [], 0
        piece, size = [*piece, group], size + more
    if piece:
        yield piece
