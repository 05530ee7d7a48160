"""One project of a site: its servers and sessions, data sets, trajectories, queues, runs, evaluations and jobs.

What each operation takes and answers is on the site's page /api/v1/docs/. Keywords that are not named here are those
of that page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import uploading

if TYPE_CHECKING:
    from .studio import Studio

LARGEST_PIECE = 900_000  # bytes of groups in one request
Json = dict[str, Any]
Items = Iterator[Json]
Level = Literal["after_step", "now"]
ENDED = frozenset({"stopped", "failed", "lost", "done"})


class Project:
    def __init__(self, studio: Studio, organisation: str, project: str) -> None:
        self.studio, self.path = studio, f"/{organisation}/{project}"

    def get(self, path: str, **query: Any) -> Any:
        return self.studio.ask("GET", self.path + path, **query)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return dict(self.studio.ask("POST", self.path + path, body))

    def put(self, path: str, body: Mapping[str, Any]) -> Json:
        return dict(self.studio.ask("PUT", self.path + path, body))

    def all(self, path: str, **query: Any) -> Items:
        return self.studio.items(self.path + path, **query)

    def lines(self, path: str, **query: Any) -> Iterator[Any]:
        return self.studio.lines(self.path + path, **query)

    def download(self, path: str, file: str | Path, **query: Any) -> int:
        return self.studio.download(self.path + path, file, **query)

    # Servers, tools and live sessions

    def servers(self) -> list[Json]:
        return list(self.get("/servers"))

    def tools(self, q: str = "", server: str = "", kind: str = "") -> list[Json]:
        return list(self.get("/tools", q=q, server=server, kind=kind))

    def tool(self, name: str) -> Json:
        """With its parameters as a JSON schema."""
        return dict(self.get(f"/tools/{name}"))

    def sessions(self, **query: Any) -> Items:
        return self.all("/sessions", **query)

    def open_session(self, servers: Sequence[str], seed: int = 1, **rest: Any) -> Json:
        """The same seed is the same world."""
        return self.post("/sessions", {"servers": list(servers), "seed": seed, **rest})

    def call(self, session: int, tool: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """What a tool answered; `ok` is false where its server refused the call."""
        return self.post(f"/sessions/{session}/calls", {"tool": tool, "arguments": dict(arguments or {})})

    def calls(self, session: int) -> Items:
        return self.all(f"/sessions/{session}/calls")

    def diff(self, session: int, before: int = 0, after: int | None = None, beside: int | None = None) -> Json:
        """The rows that differ between two moments; `beside` names another session that `after` is of."""
        return dict(self.get(f"/sessions/{session}/diff", before=before, after=after, beside=beside))

    def fork(self, session: int, at: int | None = None) -> Json:
        return self.post(f"/sessions/{session}/fork", {"at": at})

    def reset(self, session: int) -> Json:
        return self.post(f"/sessions/{session}/reset")

    def end_session(self, session: int) -> Json:
        return dict(self.studio.ask("DELETE", f"{self.path}/sessions/{session}"))

    # Data sets and trajectories

    def datasets(self) -> Items:
        return self.all("/datasets")

    def dataset(self, number: int) -> Json:
        return dict(self.get(f"/datasets/{number}"))

    def make_dataset(self, **fields: Any) -> Json:
        """The fields of the page *New data set*; those that are left out are as usual."""
        return self.post("/datasets", fields)

    def make_version(self, name: str = "", **selected: Any) -> Json:
        """A data set of what a search (`q`, `dataset`) finds, or a queue settled on (`queue`, `verdict`)."""
        return self.post("/datasets/versions", {"name": name, **selected})

    def split(self, dataset: int, **fields: Any) -> Json:
        return self.post(f"/datasets/{dataset}/split", fields)

    def mix(self, weights: Mapping[int, float], **fields: Any) -> Json:
        named = {str(number): weight for number, weight in weights.items()}
        return self.post("/datasets/mix", {"weights": named, **fields})

    def collect(self, run: int, steps: str, **fields: Any) -> Json:
        """A data set of a run's rollouts, of steps such as "1, 10-20"."""
        return self.post(f"/runs/{run}/collect", {"steps": steps, **fields})

    def import_file(self, file: str | Path, **read_as: Any) -> Json:
        """A data set of a file of any size; `format`, `columns`, `split`, `keep_good` and `name` say how it is read.

        Its job reads it: `wait` for that, and see `import_faults`.
        """
        return self.start_import(self.send_upload(self.begin_upload(file)["id"], file)["id"], **read_as)

    def begin_upload(self, file: str | Path) -> Json:
        """Announce a file. With its `id` it is sent, and gone on with after a cut."""
        return uploading.begin(self, file)

    def send_upload(self, upload: str, file: str | Path) -> Json:
        """Send what the site has not yet of a file, a piece at a time."""
        return uploading.send(self, upload, file)

    def preview_import(self, upload: str, **read_as: Any) -> Json:
        """The first rows as they would come in."""
        return self.post(f"/imports/{upload}/preview", read_as)

    def start_import(self, upload: str, **read_as: Any) -> Json:
        return self.post(f"/imports/{upload}/start", read_as)

    def import_faults(self, dataset: int) -> Items:
        """The rows of an imported file that were bad."""
        return self.all(f"/datasets/{dataset}/faults")

    def export(self, file: str | Path, format: str = "jsonl", **selected: Any) -> int:
        """Trajectories as a file; how many bytes it has."""
        return self.download("/datasets/export", file, format=format, **selected)

    def trajectories(self, q: str = "", **query: Any) -> Items:
        return self.all("/trajectories", q=q, **query)

    def trajectory(self, dataset: int, example: str) -> Json:
        return dict(self.get(f"/datasets/{dataset}/trajectories/{example}"))

    def comments(self, dataset: int, example: str, place: str | None = None) -> Items:
        """What was said of a trajectory, or at a place of it, such as turn-1 or call-2."""
        return self.all(f"/datasets/{dataset}/trajectories/{example}/comments", place=place)

    def comment(self, dataset: int, example: str, text: str, place: str = "") -> Json:
        """Say something of a trajectory, or of one of its turns or calls."""
        return self.post(f"/datasets/{dataset}/trajectories/{example}/comments", {"text": text, "place": place})

    def rescore(self, of: str = "", **weights: Any) -> Json:
        """What another reward would have said of `run-3` or `dataset-2`."""
        return dict(self.get("/what-if", of=of, **weights))

    # Review

    def queues(self) -> Items:
        return self.all("/review")

    def make_queue(self, name: str, **fields: Any) -> Json:
        return self.post("/review", {"name": name, **fields})

    def items(self, queue: int, state: str = "") -> Items:
        return self.all(f"/review/{queue}/items", state=state)

    def next_item(self, queue: int, after: int = 0) -> Json | None:
        """The next item that needs you, held for you; None where none does."""
        found = self.get(f"/review/{queue}/next", after=after)
        return dict(found) if found else None

    def item(self, queue: int, position: int) -> Json:
        return dict(self.get(f"/review/{queue}/items/{position}"))

    def review(self, queue: int, position: int, answers: Mapping[str, Any], **rest: Any) -> Json:
        """Complete one's review of an item; `action` may be draft or skip."""
        return self.put(f"/review/{queue}/items/{position}/review", {"answers": dict(answers), **rest})

    def next_conflict(self, queue: int, after: int = 0) -> Json | None:
        """The next item whose reviewers disagree; None where there is none."""
        found = self.get(f"/review/{queue}/conflicts/next", after=after)["item"]
        return dict(found) if found else None

    def conflict(self, queue: int, position: int) -> Json:
        """What its reviewers say of an item, side by side."""
        return dict(self.get(f"/review/{queue}/items/{position}/adjudication"))

    def settle(self, queue: int, position: int, answers: Mapping[str, Any], **rest: Any) -> Json:
        """Settle an item by one's own answers, whatever its reviewers said."""
        return self.put(f"/review/{queue}/items/{position}/adjudication", {"answers": dict(answers), **rest})

    def agreement(self, queue: int | None = None, **query: Any) -> Json:
        return dict(self.get("/review/agreement", queue=queue, **query))

    def labels(self, queue: int, **query: Any) -> Iterator[Any]:
        return self.lines(f"/review/{queue}/labels", **query)

    # Runs

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

    def forecast_run(self, **fields: Any) -> Json:
        """What a run of these settings would take; nothing is launched."""
        return self.post("/runs/forecast", fields)

    def sweeps(self) -> Items:
        return self.all("/sweeps")

    def sweep(self, number: int) -> Json:
        """With its members, and what their settings explain."""
        return dict(self.get(f"/sweeps/{number}"))

    def plan_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """The members that `launch_sweep` would launch, and the forecast of the first."""
        return self.post("/sweeps/plan", {"vary": dict(vary), "settings": dict(settings), **rest})

    def launch_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Runs that differ in what `vary` says, such as {"seed": [0, 1, 2]}; `settings` are what they share."""
        return self.post("/sweeps", {"vary": dict(vary), "settings": dict(settings), **rest})

    def stop_sweep(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/sweeps/{number}/stop", {"level": level})

    def outcomes(self, run: int, **query: Any) -> Json:
        """What became of the calls of each tool."""
        return dict(self.get(f"/runs/{run}/tools/outcomes", **query))

    def delete_run(self, number: int) -> Json:
        """Into the bin; with the `id` that is answered, `restore` takes it out."""
        return self.post(f"/runs/{number}/delete")

    def restore(self, deletion: int) -> Json:
        return self.post(f"/bin/{deletion}/restore")

    def share(self, page: str, days: int = 30) -> str:
        """A link by which whoever has it reads one page, such as the `url` of a run."""
        return str(self.post("/shares", {"page": page, "days": days})["address"])

    def views(self, page: str = "") -> Items:
        return self.all("/views", page=page)

    def saved_calls(self, tool: str = "") -> Items:
        return self.all("/saved-calls", tool=tool)

    def leaderboard(self, benchmark: str, sort: str = "") -> Json:
        return dict(self.get(f"/leaderboards/{benchmark}", sort=sort))

    def corrections(self) -> Items:
        """The trajectories that people mended."""
        return self.all("/corrections")

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

    # Evaluations and jobs

    def evaluations(self, **query: Any) -> Items:
        return self.all("/evaluations", **query)

    def evaluation(self, number: int) -> Json:
        """With its report, once it is done."""
        return dict(self.get(f"/evaluations/{number}"))

    def launch_evaluation(self, benchmark: str, policy: str, **fields: Any) -> Json:
        return self.post("/evaluations", {"benchmark": benchmark, "policy": policy, **fields})

    def compare_evaluations(self, after: int, before: int) -> Json:
        """Paired task by task: the difference, and what flipped each way."""
        return dict(self.get(f"/evaluations/{after}/compare/{before}"))

    def alerts(self, **query: Any) -> Items:
        return self.all("/alerts", **query)

    def change_alert(self, alert: int, do: str, **rest: Any) -> Json:
        """`do` is acknowledge, snooze (with `hours`) or reopen."""
        return self.post(f"/alerts/{alert}/change", {"do": do, **rest})

    def jobs(self, state: str = "") -> Items:
        return self.all("/jobs", state=state)

    def job(self, job: str) -> Json:
        return dict(self.get(f"/jobs/{job}"))

    def log(self, job: str) -> str:
        return str(self.get(f"/jobs/{job}/log")["text"])

    def events(self, job: str, after: int = 0, *, follow: bool = False, every: float = 2.0) -> Items:
        """What a job reported after an event; with `follow`, what it reports until it has ended, too."""
        while True:
            over = not follow or self.job(job)["state"] in ENDED  # before the events, so that none is missed
            piece = self.get(f"/jobs/{job}/events", after=after, limit=500)
            for event in piece["items"]:
                after = event["id"]
                yield event
            if piece["next"] is None:
                if over:
                    return
                self.studio.pause(every)

    def wait(self, job: str, every: float = 2.0) -> Json:
        """The job, once it has ended."""
        while (found := self.job(job))["state"] not in ENDED:
            self.studio.pause(every)
        return found


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
