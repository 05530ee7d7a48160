"""Client of one project: servers, sessions, datasets, trajectories, review queues, runs, evaluations and jobs.

The site's page /api/v1/docs/ documents the arguments and the response of each operation. Keyword arguments that are not
named here are those of that page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .datasets import DataSets
from .resource import APIResource, Items, Json, Level
from .runs import Runs

# Client methods for a project's evaluations, leaderboards and alerts.


class Evaluations(APIResource):
    def evaluations(self, **query: Any) -> Items:
        return self.all("/evaluations", **query)

    def evaluation(self, number: int) -> Json:
        """Return an evaluation, with its report once it is done."""
        return dict(self.get(f"/evaluations/{number}"))

    def policies(self) -> list[Json]:
        """Return the values that `policy` accepts when a run or an evaluation is launched."""
        return list(self.get("/policies"))

    def launch_evaluation(self, benchmark: str, policy: str, **fields: Any) -> Json:
        return self.post("/evaluations", {"benchmark": benchmark, "policy": policy, **fields})

    def compare_evaluations(self, after: int, before: int) -> Json:
        """Compare two evaluations task by task: the paired difference, and the tasks that flipped each way."""
        return dict(self.get(f"/evaluations/{after}/compare/{before}"))

    def leaderboard(self, benchmark: str, sort: str = "") -> Json:
        return dict(self.get(f"/leaderboards/{benchmark}", sort=sort))

    def alerts(self, **query: Any) -> Items:
        return self.all("/alerts", **query)

    def change_alert(self, alert: int, do: str, **rest: Any) -> Json:
        """Change an alert; `do` is acknowledge, snooze (with `hours`) or reopen."""
        return self.post(f"/alerts/{alert}/change", {"do": do, **rest})


# Client methods for a project's jobs, their events and logs.

ENDED = frozenset({"stopped", "failed", "lost", "done"})


class Jobs(APIResource):
    def jobs(self, state: str = "") -> Items:
        return self.all("/jobs", state=state)

    def job(self, job: str) -> Json:
        return dict(self.get(f"/jobs/{job}"))

    def move_job(self, job: str, to: str) -> Json:
        """Move a job `up`, `down`, `first` or `last` among the project's jobs of its queue."""
        return self.post(f"/jobs/{job}/move", {"to": to})

    def log(self, job: str) -> str:
        return str(self.get(f"/jobs/{job}/log")["text"])

    def events(self, job: str, after: int = 0, *, follow: bool = False, every: float = 2.0) -> Items:
        """Iterate over a job's events after a given one; with `follow`, until the job has ended."""
        while True:
            over = not follow or self.job(job)["state"] in ENDED  # read before the events, so that none is missed
            piece = self.get(f"/jobs/{job}/events", after=after, limit=500)
            for event in piece["items"]:
                after = event["id"]
                yield event
            if piece["next"] is None:
                if over:
                    return
                self.studio.pause(every)

    def wait(self, job: str, every: float = 2.0) -> Json:
        """Wait until a job has ended, and return it."""
        while (found := self.job(job))["state"] not in ENDED:
            self.studio.pause(every)
        return found


# Client methods for a project's review queues, their items, reviews and adjudication.


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
        return self.iter_json_lines(f"/review/{queue}/labels", **query)


# Client methods for a project's servers, tools and live sessions.


class Worlds(APIResource):
    def servers(self) -> list[Json]:
        return list(self.get("/servers"))

    def tools(self, q: str = "", server: str = "", kind: str = "") -> list[Json]:
        return list(self.get("/tools", q=q, server=server, kind=kind))

    def tool(self, name: str) -> Json:
        """Return a tool with its parameters as a JSON schema."""
        return dict(self.get(f"/tools/{name}"))

    def sessions(self, **query: Any) -> Items:
        return self.all("/sessions", **query)

    def open_session(self, servers: Sequence[str], seed: int = 1, **rest: Any) -> Json:
        """Open a session; the same seed gives the same world."""
        return self.post("/sessions", {"servers": list(servers), "seed": seed, **rest})

    def call(self, session: int, tool: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """Call a tool and return its reply; `ok` is false if the server refused the call."""
        return self.post(f"/sessions/{session}/calls", {"tool": tool, "arguments": dict(arguments or {})})

    def calls(self, session: int) -> Items:
        return self.all(f"/sessions/{session}/calls")

    def diff(self, session: int, before: int = 0, after: int | None = None, beside: int | None = None) -> Json:
        """Return the rows that differ between two steps; `beside` is another session, to which `after` refers."""
        return dict(self.get(f"/sessions/{session}/diff", before=before, after=after, beside=beside))

    def fork(self, session: int, at: int | None = None) -> Json:
        return self.post(f"/sessions/{session}/fork", {"at": at})

    def reset(self, session: int) -> Json:
        return self.post(f"/sessions/{session}/reset")

    def end_session(self, session: int) -> Json:
        return dict(self.studio.request("DELETE", f"{self.path}/sessions/{session}"))

    def saved_calls(self, tool: str = "") -> Items:
        return self.all("/saved-calls", tool=tool)


# Client methods for a project's alert rules, webhooks, reward presets, environment and dependency graph.


class Setup(APIResource):
    def delete(self, path: str) -> Json:
        return dict(self.studio.request("DELETE", self.path + path))

    def alert_rules(self) -> list[Json]:
        return list(self.get("/alerts/rules"))

    def make_alert_rule(self, name: str, metric: str, comparison: str, threshold: float, **rest: Any) -> Json:
        """Create an alert rule: `make_alert_rule("Low", "points.reward", "below", 0.2, aggregate="mean", over=5)`."""
        fields = {"name": name, "metric": metric, "comparison": comparison, "threshold": threshold}
        return self.post("/alerts/rules", fields | rest)

    def add_ready_made_rules(self, *presets: str) -> list[Json]:
        """Add preset rules of the site. Return those that are new."""
        body = {"presets": list(presets)}
        return list(self.studio.request("POST", f"{self.path}/alerts/rules/ready-made", body))

    def change_alert_rule(self, rule: int, **fields: Any) -> Json:
        return self.post(f"/alerts/rules/{rule}/change", fields)

    def switch_alert_rule(self, rule: int, enabled: bool) -> Json:
        return self.post(f"/alerts/rules/{rule}/switch", {"enabled": enabled})

    def remove_alert_rule(self, rule: int) -> Json:
        return self.delete(f"/alerts/rules/{rule}")

    def webhooks(self) -> Items:
        return self.all("/alerts/webhooks")

    def make_webhook(self, name: str, url: str, format: str = "json") -> Json:
        """Create a webhook. Return {"webhook", "secret"}; the secret, which signs deliveries, is shown only now."""
        return self.post("/alerts/webhooks", {"name": name, "url": url, "format": format})

    def test_webhook(self, hook: int) -> Json:
        return self.post(f"/alerts/webhooks/{hook}/test")

    def deliveries(self, hook: int) -> Items:
        return self.all(f"/alerts/webhooks/{hook}/deliveries")

    def remove_webhook(self, hook: int) -> Json:
        return self.delete(f"/alerts/webhooks/{hook}")

    def rewards(self) -> Items:
        return self.all("/rewards")

    def save_reward(self, name: str, config: Mapping[str, Any]) -> Json:
        """Save the weights that differ from the paper's; launch a run with its key: `reward_preset=made["key"]`."""
        return self.post("/rewards", {"name": name, "config": dict(config)})

    def remove_reward(self, reward: int) -> Json:
        return self.delete(f"/rewards/{reward}")

    def environment(self) -> Json:
        return dict(self.get("/environment"))

    def set_environment(self, **fields: Any) -> Json:
        """Set the enabled `servers`, and `seed` and `size` of the first world; omitted fields do not change."""
        return self.put("/environment", fields)

    def check_servers(self, servers: Sequence[str] | None = None) -> list[Json]:
        body = {} if servers is None else {"servers": list(servers)}
        return list(self.studio.request("POST", f"{self.path}/environment/checks", body))

    def graph(self) -> Json:
        return dict(self.get("/graph"))

    def prove_graph(self) -> Json:
        """Rebuild the dependency graph. Return the job that does it."""
        return self.post("/graph/prove")


# Client methods for a project's sweeps, which are planned, launched and stopped as a whole.


class Sweeps(APIResource):
    def sweeps(self) -> Items:
        return self.all("/sweeps")

    def sweep(self, number: int) -> Json:
        """Return a sweep with its members, and with the effects of their settings."""
        return dict(self.get(f"/sweeps/{number}"))

    def plan_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Return the members that `launch_sweep` would launch, their cost, and when the last would be done."""
        return self.post("/sweeps/plan", {"vary": dict(vary), "settings": dict(settings), **rest})

    def launch_sweep(self, vary: Mapping[str, Any], settings: Mapping[str, Any], **rest: Any) -> Json:
        """Launch runs that differ in `vary`, such as {"seed": [0, 1, 2]}, and share `settings`."""
        return self.post("/sweeps", {"vary": dict(vary), "settings": dict(settings), **rest})

    def stop_sweep(self, number: int, level: Level = "after_step") -> Json:
        return self.post(f"/sweeps/{number}/stop", {"level": level})


class Project(Worlds, DataSets, Reviews, Runs, Sweeps, Evaluations, Setup, Jobs):
    def share(self, page: str, days: int = 30) -> str:
        """Create a share link to one page, such as the `url` of a run, which anyone with the link can read."""
        return str(self.post("/shares", {"page": page, "days": days})["address"])

    def restore(self, deletion: int) -> Json:
        return self.post(f"/bin/{deletion}/restore")

    def views(self, page: str = "") -> Items:
        return self.all("/views", page=page)

    def delete_project(self, name: str) -> Json:
        """Move the project with all its content to the team's trash; `name` must be its current name."""
        return self.post("/delete", {"name": name})
