"""Client methods for a project's runs, trained here or elsewhere, their metrics, rollouts and checkpoints."""

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
        """Launch a run with the fields of the launch form; `clone` copies another run's, `dataset` is a number."""
        return self.post("/runs", {"name": name, **fields})

    def make_outside_run(self, name: str, **fields: Any) -> Json:
        """Create a run that another program trains, or return the existing one with the same `key`."""
        return self.post("/runs/outside", {"name": name, **fields})

    def tell_run(self, number: int, **fields: Any) -> Json:
        """Send `points` and `held_out`, each a list of {step, metrics, time}; without them, a heartbeat."""
        return self.post(f"/runs/{number}/tell", fields)

    def tell_rollouts(self, number: int, step: int, groups: Sequence[Mapping[str, Any]]) -> Json:
        """Send a step's rollouts by group, {prompt, rollouts: [{completion, reward}]}; they replace earlier ones."""
        address, first, stored = f"/runs/{number}/outside/rollouts/{step}", 1, 0
        for piece in pieces(groups):
            stored += self.put(address, {"first": first, "groups": piece})["stored"]
            first += len(piece)
        return {"stored": stored}

    def end_run(self, number: int, state: str = "done", **fields: Any) -> Json:
        return self.post(f"/runs/{number}/end", {"state": state, **fields})

    def stop_run(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/runs/{number}/stop", {"level": level})

    def resume_run(self, number: int) -> Json:
        return self.post(f"/runs/{number}/resume")

    def mark_run(self, number: int, **marks: Any) -> Json:
        """Set `tags`, or `add` and `remove` some, and set `pinned`."""
        return self.post(f"/runs/{number}/mark", marks)

    def keep_run(self, number: int, **fields: Any) -> Json:
        """Set `name`, `archived` or `base`."""
        return self.post(f"/runs/{number}/keep", fields)

    def write_notes(self, number: int, text: str) -> Json:
        """Replace a run's notes. Raises Conflict if somebody else changed them meanwhile."""
        revision = self.get(f"/runs/{number}/notes")["revision"]
        return self.put(f"/runs/{number}/notes", {"text": text, "revision": revision})

    def outcomes(self, run: int, **query: Any) -> Json:
        """Return the outcomes of each tool's calls."""
        return dict(self.get(f"/runs/{run}/tools/outcomes", **query))

    def metrics(self, run: int, *names: str, **query: Any) -> Json:
        return dict(self.get(f"/runs/{run}/metrics", names=",".join(names), **query))

    def points(self, run: int, source: str = "points") -> Iterator[Any]:
        """Iterate over all points, each with all its metrics."""
        return self.iter_json_lines(f"/runs/{run}/points", source=source)

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
        """Export a checkpoint as a folder for other programs; repeat the call until its `state` is ready."""
        return self.post(f"/runs/{run}/checkpoints/{step}/export", {"merged": merged})

    def download_export(self, run: int, step: int, file: str | Path, merged: bool = False) -> int:
        return self.download(f"/runs/{run}/checkpoints/{step}/export/files", file, merged=merged)

    def open_rollout(self, run: int, step: int, index: int, calls: int = 0) -> Json:
        """Open a rollout's world as a session, after its first `calls` calls."""
        return self.post(f"/runs/{run}/rollouts/{step}/{index}/session", {"calls": calls})

    def mark_runs(self, act: str, runs: Sequence[int] | None = None, q: str | None = None, **rest: Any) -> Json:
        """Apply `tag`, `untag` (with `tag`), `pin` or `unpin` to these runs, or to all that a search finds."""
        return self.post("/runs/mark", build_selection(runs, q) | {"act": act, **rest})

    def act_on_runs(self, act: str, runs: Sequence[int] | None = None, q: str | None = None, **rest: Any) -> Json:
        """Apply `archive`, `stop-after`, `resume`, `delete` ... to these runs, or to all that a search finds."""
        return self.post("/runs/act", build_selection(runs, q) | {"act": act, **rest})

    def forecast_run(self, **fields: Any) -> Json:
        """Estimate the cost of a run with these settings, without launching it."""
        return self.post("/runs/forecast", fields)

    def delete_run(self, number: int) -> Json:
        """Move a run to the trash; `restore` undoes it by the returned `id`."""
        return self.post(f"/runs/{number}/delete")


def build_selection(runs: Sequence[int] | None, q: str | None) -> Json:
    return {"q": q} if runs is None else {"runs": list(runs)}


def pieces(groups: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the groups in order, as many at a time as fit into a request, but at least one."""
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
