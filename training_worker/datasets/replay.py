"""Verification of a dataset: every conversation is replayed, and drift is reported with its cause.

`validate.require_valid` decides; for a conversation that is no longer valid, `diagnose` finds the first difference.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Literal, get_args

from mcp_servers.catalogue import SERVERS, TOOLS, behaves_otherwise, fingerprint
from mcp_servers.world import World

from ..core.trajectory import BadLine, Example, ToolCall, Verdict, each_line
from ..environment.episode import oracle
from ..synthesis.dataset import Progress
from ..synthesis.validate import LARGEST, Rejected, provenance, require_valid
from .dataset_folder import list_changed_files, read

Cause = Literal["record", "server", "tool", "world", "answer", "state", "provenance", "oracle", "other", "code"]
CAUSES: dict[Cause, str] = {
    "record": "the record is inconsistent",
    "server": "a server no longer exists",
    "tool": "a tool no longer exists",
    "world": "the initial world differs",
    "answer": "a call has a different result",
    "state": "the world differs after a step",
    "provenance": "a value without a source",
    "oracle": "the ground truth does not earn the maximum reward",
    "other": "it violates the current rules",
    "code": "it replays, but its servers behave differently elsewhere now, so no run uses it",
}
assert set(CAUSES) == set(get_args(Cause))
SIZES = ("small", "default", "large")
FIRST_IDS, MOST_BAD_LINES = 5, 50
DIFF_LINES, DIFF_WIDTH = 12, 160


@dataclass(frozen=True)
class Drift:
    """Why a conversation is no longer valid; `diff` has the differing lines of the first different reply."""

    example: str
    cause: Cause
    reason: str
    diff: tuple[str, ...] = ()


@dataclass
class Group:
    """The conversations that drifted for one cause: their number, the first ids, and the first drift."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    first: Drift | None = None


@dataclass
class ReplayReport:
    """The result of a dataset's replay; `not_certified` counts imported conversations with calls, not replayed.

    `elsewhere` counts those that external servers certified at import, by server names; they are not replayed either,
    since those servers cannot be started here. `checks` counts all conversations that such servers checked, by verdict.
    Bad lines and drifted conversations are all counted, and the first ones are listed.
    """

    total: int
    held: int = 0
    not_certified: int = 0
    elsewhere: dict[str, int] = field(default_factory=dict)
    checks: dict[Verdict, int] = field(default_factory=dict)
    groups: dict[Cause, Group] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    bad: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)

    @property
    def drifted(self) -> int:
        return sum(group.count for group in self.groups.values())

    @property
    def not_replayed(self) -> int:
        return self.not_certified + sum(self.elsewhere.values())

    @property
    def holds(self) -> bool:
        read = self.held + self.not_replayed + self.drifted + self.bad
        return not (self.drifted or self.bad or self.changed) and read == self.total

    def add(self, drift: Drift) -> None:
        group = self.groups.setdefault(drift.cause, Group(first=drift))
        group.count += 1
        if len(group.examples) < FIRST_IDS:
            group.examples.append(drift.example)

    def add_foreign(self, example: Example) -> None:
        check = example.check
        if check:
            self.checks[check.verdict] = self.checks.get(check.verdict, 0) + 1
        if check and example.certified:
            servers = ", ".join(check.servers)
            self.elsewhere[servers] = self.elsewhere.get(servers, 0) + 1
        else:
            self.not_certified += 1

    def add_bad(self, line: BadLine) -> None:
        self.bad += 1
        if len(self.bad_lines) < MOST_BAD_LINES:
            self.bad_lines.append(line)


def verify(folder: Path, progress: Progress = lambda done, total: None) -> ReplayReport:
    """Replay every conversation of a folder on the present servers. Raises what `dataset_folder.read` raises."""
    known = read(folder)
    found = ReplayReport(
        total=sum(one.conversations for one in known.splits.values()), changed=list_changed_files(folder, known)
    )
    for done, example in enumerate(read_split_lines(folder, list(known.splits)), 1):
        if isinstance(example, BadLine):
            found.add_bad(example)
        elif not example.runs_here:
            found.add_foreign(example)
        elif drift := drift_of(example):
            found.add(drift)
        else:
            found.held += 1
        progress(done, max(found.total, done))
    return found


def read_split_lines(folder: Path, splits: list[str]) -> Iterator[Example | BadLine]:
    """Yield all lines of the splits whose files exist."""
    for split in splits:
        if (path := folder / f"{split}.jsonl").exists():
            yield from each_line(Example, path)


def drift_of(example: Example) -> Drift | None:
    """Return why an example is no longer valid; None when it is valid."""
    if example.source:
        return (
            None
            if example.turns and compute_oracle_reward(example) == 1.0
            else Drift(example.id, "oracle", "It does not earn 1.")
        )
    if wrong := unusable(example):
        return wrong
    today = replace(example, fingerprint=fingerprint(example.world.servers))
    try:
        require_valid(today)
    except Rejected as reason:
        return diagnose(today) or Drift(example.id, "other", str(reason))
    if today != example:
        return Drift(example.id, "code", f"{behaves_otherwise(example.world.servers, example.fingerprint)}.")
    return None


def unusable(example: Example) -> Drift | None:
    """Return why an example cannot run at all (inconsistent parts, a missing server or tool), or None."""
    steps = range(len(example.steps))
    fits = (
        example.turns
        and (example.kind == "missing_function" or (example.kind == "chain") == bool(example.steps))
        and len(example.answers) == len(example.turns)
        and len(example.digests) == len(example.steps) + 1
        and all(len(step.calls) == len(step.observations) for step in example.steps)
        and all(0 <= step.turn < len(example.turns) for step in example.steps)
        and all(a in steps and b in steps for a, b in example.edges)
        and all(0 < one.turn < len(example.turns) for one in example.arrivals)
        and all(0 <= one.step <= len(steps) and 0 <= one.turn < len(example.turns) for one in example.failures)
        and (not example.today or is_day(example.today))
        and example.world.servers
        and example.world.size in SIZES
    )
    if not fits:
        return Drift(example.id, "record", "Its kind, turns, steps, replies and digests are inconsistent.")
    if gone := [name for name in example.world.servers if name not in SERVERS]:
        return Drift(example.id, "server", f"The server {', '.join(gone)} no longer exists.")
    called = [call.name for step in example.steps for call in step.calls]
    if gone := sorted({name for name in (*example.offered, *called) if name not in TOOLS}):
        return Drift(example.id, "tool", f"The tool {', '.join(gone)} no longer exists.")
    return None


def is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def diagnose(example: Example) -> Drift | None:
    """Return the first difference in a replay, with a diff of the reply; None when there is none."""
    where = example.world
    world = World.open(where.seed, where.servers, where.size)
    if not example.digests or world.digest() != example.digests[0]:
        return Drift(example.id, "world", f"The world of seed {where.seed} with {', '.join(where.servers)} differs.")
    for position in range(len(example.steps) + 1):
        for call, then in list_step_calls(example, position):
            if (now := world.call(call.name, call.arguments or {}).text) != then:
                return Drift(example.id, "answer", f"{call.name}, step {position + 1}", difference(then, now))
        if position < len(example.steps) and world.digest() != example.digests[position + 1]:
            return Drift(example.id, "state", f"After step {position + 1}, with the same replies.")
    try:
        provenance(example)
    except Rejected as reason:
        return Drift(example.id, "provenance", str(reason))
    if (total := compute_oracle_reward(example)) is None or abs(total - LARGEST[example.abstains]) > 1e-9:
        return Drift(example.id, "oracle", f"It earns {total}, not {LARGEST[example.abstains]}.")
    return None


def list_step_calls(example: Example, position: int) -> list[tuple[ToolCall, str]]:
    """Return the calls of a step, after those that failed just before it, each with its observation."""
    failed = [(one.call, one.observation) for one in example.failures if one.step == position]
    steps = example.steps[position : position + 1]
    return failed + [pair for step in steps for pair in zip(step.calls, step.observations, strict=True)]


def compute_oracle_reward(example: Example) -> float | None:
    """Return the reward of the ground truth when it is run."""
    reward = oracle(example).reward
    return reward.total if reward else None


def difference(then: str, now: str) -> tuple[str, ...]:
    """Return the first differing lines of JSON spread over lines ("-" recorded, "+" present), cut to a width."""
    compared = difflib.unified_diff(spread(then), spread(now), lineterm="", n=0)
    lines = [line[:DIFF_WIDTH] for line in compared if not line.startswith(("---", "+++", "@@"))]
    more = len(lines) - DIFF_LINES
    return (*lines[:DIFF_LINES], *([f"and {more} more lines"] if more > 0 else []))


def spread(text: str) -> list[str]:
    """Split a text into lines, and JSON into one line per value."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return text.splitlines()
