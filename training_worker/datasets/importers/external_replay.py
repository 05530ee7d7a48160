"""Certification of imported conversations on external servers: each one is replayed twice, on fresh sessions.

If the results of the two replays differ, the server is not deterministic and the conversation is not certified. A
connection or server failure is not a result: then nothing is known about the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any, Protocol

from mcp_servers.core import Reply, ServerFailed

from ...core.trajectory import Example, ServerCheck, ToolCall, Verdict
from ...synthesis.dataset import Progress
from ..replay import difference

VERDICTS: dict[Verdict, str] = {
    "same": "certified: same results twice, equal to recorded results if any",
    "differs": "not deterministic: different results the second time",
    "refused": "rejected: a call fails",
    "otherwise": "inconsistent: results differ from the recorded ones",
    "not_checked": "not checked: a server failed",
}
PATIENCE = 5  # consecutive conversations with a server failure before the rest is skipped
WIDTH, BEFORE = 160, 40
LONG = 20_000  # characters from which two results are not compared line by line
FIRST = 5  # listed conversations per verdict


class Session(Protocol):
    """One session of an external server; `call` raises ServerFailed for anything that is not a result."""

    @property
    def tools(self) -> Mapping[str, Any]: ...
    def call(self, name: str, arguments: dict[str, Any]) -> Reply: ...
    def close(self) -> None: ...


class Opens(Protocol):
    """An external server that opens fresh sessions; raises ServerFailed."""

    @property
    def name(self) -> str: ...
    def open(self) -> Session: ...


def certify(
    examples: Iterable[Example], servers: Sequence[Opens], progress: Progress = lambda done, total: None
) -> list[Example]:
    """Return the examples, those with calls checked. Raises ServerFailed if a server cannot be opened at the start."""
    for server in servers:
        server.open().close()
    found = list(examples)
    due, broke = sum(not example.abstains for example in found), ""
    marked, done, in_a_row = list[Example](), 0, 0
    for example in found:
        if example.abstains:
            marked.append(example)
            continue
        if in_a_row < PATIENCE:
            check = verify_example(example, servers)
            in_a_row = in_a_row + 1 if check.verdict == "not_checked" else 0
            broke = check.told[0] if in_a_row else ""
        else:
            reason = f"Not tried, after {PATIENCE} in a row on which a server broke. {broke}"
            check = ServerCheck(servers=names(servers), verdict="not_checked", told=(reason,))
        marked.append(replace(example, check=check))
        progress(done := done + 1, due)
    return marked


def names(servers: Sequence[Opens]) -> tuple[str, ...]:
    return tuple(server.name for server in servers)


def verify_example(example: Example, servers: Sequence[Opens]) -> ServerCheck:
    """Return the verdict on one example. Raises nothing."""
    calls = [(index, call) for index, step in enumerate(example.steps) for call in step.calls]
    try:
        first, second = (replay_calls([call for _, call in calls], servers) for _ in range(2))
    except ServerFailed as error:
        return ServerCheck(servers=names(servers), verdict="not_checked", told=(str(error)[:WIDTH],))
    recorded = [text for step in example.steps for text in pad_observations(step.observations, len(step.calls))]
    judged: dict[Verdict, ServerCheck] = {}
    for (index, call), one, other, then in zip(calls, first, second, recorded, strict=True):
        if found := fault(one, other, then):
            verdict, details = found
            at = ServerCheck(servers=names(servers), verdict=verdict, step=index, call=call.name, told=details)
            judged.setdefault(verdict, at)
    worst = next((judged[verdict] for verdict in ("differs", "refused", "otherwise") if verdict in judged), None)
    return worst or ServerCheck(servers=names(servers), verdict="same")


def replay_calls(calls: Iterable[ToolCall], servers: Sequence[Opens]) -> list[Reply]:
    """Return the results of the calls in order on fresh sessions; each call goes to the first server with its tool."""
    with ExitStack() as opened:
        sessions = [opened.enter_context(closing(server.open())) for server in servers]
        return [call_tool(sessions, call) or unknown(call, servers) for call in calls]


def call_tool(sessions: Iterable[Session], call: ToolCall) -> Reply | None:
    able = (session for session in sessions if call.name in session.tools)
    return next((session.call(call.name, call.arguments or {}) for session in able), None)


def unknown(call: ToolCall, servers: Sequence[Opens]) -> Reply:
    return Reply(False, json.dumps(f"There is no tool {call.name[:100]} on {', '.join(names(servers))}."))


def pad_observations(texts: Sequence[str], size: int) -> list[str | None]:
    """Return the recorded results of a step's calls; None for every call if any result is missing."""
    return list(texts) if len(texts) == size else [None] * size


def fault(one: Reply, other: Reply, recorded: str | None) -> tuple[Verdict, tuple[str, ...]] | None:
    """Return the fault of a call with these results in two replays, and the lines to show; None if it has none."""
    if one.ok != other.ok:
        return "differs", tuple(
            f"{sign} {'succeeds' if reply.ok else 'fails'}: {sanitize_text(reply.text)}"
            for sign, reply in (("-", one), ("+", other))
        )
    if one.text != other.text:
        return "differs", list_differing_lines(one.text, other.text)
    if not one.ok:
        return "refused", (sanitize_text(one.text),)
    if recorded is not None and canonical(recorded) != canonical(one.text):
        return "otherwise", list_differing_lines(recorded, one.text)
    return None


def canonical(text: str) -> str:
    """Return a result as canonical JSON, independent of white space and key order; plain text becomes a JSON string."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return json.dumps(value, sort_keys=True)


def list_differing_lines(then: str, now: str) -> tuple[str, ...]:
    """Return the differing lines, "-" then and "+" now; for long texts the part around the first difference."""
    if len(then) + len(now) < LONG:
        lines = tuple(sanitize_text(line) for line in difference(then, now))
        before, after = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
        if before != after:
            return lines
    common = next((at for at, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
    start = max(0, common - BEFORE)
    return tuple(f"{sign} ...{sanitize_text(text[start:])}" for sign, text in (("-", then), ("+", now)))


def sanitize_text(text: str) -> str:
    """Return untrusted text truncated and on one line, without control characters and lone surrogates."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:WIDTH])


def format_verdicts(examples: Iterable[Example]) -> list[str]:
    """Return the verdicts as lines: counts, and for those not certified the first conversations with step and call."""
    found: dict[Verdict, list[tuple[str, ServerCheck]]] = {verdict: [] for verdict in VERDICTS}
    for example in examples:
        if example.check:
            found[example.check.verdict].append((example.id, example.check))
    lines = []
    for verdict, group in found.items():
        if group:
            lines.append(f"{len(group):,} {VERDICTS[verdict]} ({', '.join(group[0][1].servers)})")
        for id, check in group[: FIRST if verdict != "same" else 0]:
            where = f": {check.call}, step {check.step + 1}" if check.step is not None else ""
            lines += [f"  {id}{where}", *(f"    {line}" for line in check.told)]
        if verdict != "same" and len(group) > FIRST:
            lines.append(f"  and {len(group) - FIRST:,} more")
    return lines
