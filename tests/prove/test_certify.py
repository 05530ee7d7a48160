"""Imported calls, replayed twice on real servers that others wrote: what is the same, what is not, and what broke."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.core import Reply, ServerFailed
from mcp_servers.mcp.external import External
from training_worker.core.trajectory import Example, Step, ToolCall, dumps, loads
from training_worker.datasets.importers import external_replay
from training_worker.datasets.importers.formats import FORMATS, load, make
from training_worker.datasets.replay import verify
from training_worker.environment.episode import Attempt, NotCertified, NotLive

SERVER = """
import json, os, sys
from pathlib import Path

TOOLS = sys.argv[1:]
kept = Path(sys.argv[0]).with_suffix(".count")

def answer(name, given):
    if name == "die":
        os._exit(3)
    if name == "refuse":
        return {"isError": True, "content": [{"type": "text", "text": "No such\\x1b[31m city."}]}
    said = {"add": lambda: given["a"] + given["b"], "pid": os.getpid, "count": counted}.get(name, lambda: 1)()
    failed = name == "flaky" and counted() % 2 == 0
    return {"isError": failed, "content": [{"type": "text", "text": json.dumps({"padding": "x" * 300, "value": said})}]}

def counted():
    count = int(kept.read_text()) + 1 if kept.exists() else 1
    kept.write_text(str(count))
    return count

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        reply = {"result": {"protocolVersion": "2025-11-25", **about}}
    elif asked["method"] == "tools/list":
        reply = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}}
    elif asked["method"] == "tools/call":
        reply = {"result": answer(asked["params"]["name"], asked["params"].get("arguments", {}))}
    else:
        reply = {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""
TOOLS = ("add", "count", "refuse", "pid", "die", "flaky")
SUM = json.dumps({"value": 3, "padding": "x" * 300}, indent=2)  # other spaces, another order of keys


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> External:
    path = tmp_path_factory.mktemp("strange") / "server.py"
    path.write_text(SERVER)
    return External("strange", command=(sys.executable, "-S", str(path), *TOOLS))


def row(*calls: tuple[str, dict[str, Any]], results: tuple[str, ...] = (), said: str = "Do it") -> dict[str, Any]:
    """Return a chat that makes these calls one after another, with these results of the first ones."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    for place, (name, arguments) in enumerate(calls):
        call = {"id": str(place), "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages += [{"role": "tool", "tool_call_id": str(place), "content": text} for text in results[place:][:1]]
    tools = [{"name": name} for name in (*TOOLS, "elsewhere")]
    return {"messages": [*messages, {"role": "assistant", "content": "Done."}], "tools": tools}


ADD = ("add", {"a": 1, "b": 2})


def imported(at: Path, *rows: dict[str, Any]) -> list[Example]:
    path = at / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return load(path, FORMATS["openai"]).examples


def test_only_what_is_answered_alike_twice_and_as_recorded_is_certified(strange: External, tmp_path: Path) -> None:
    rows = [
        row(ADD, ADD),
        row(ADD, results=(SUM,)),
        row(ADD, results=('{"value": 4}',)),
        row(ADD, ("count", {})),
        row(ADD, ("refuse", {})),
        row(("flaky", {})),
        row(("elsewhere", {})),
        row(("refuse", {}), ("pid", {})),
    ]
    marked = external_replay.certify(imported(tmp_path, *rows), [strange])
    checks = [example.check for example in marked if example.check]
    assert [check.verdict for check in checks] == [
        *["same", "same", "otherwise", "differs", "refused", "differs", "refused", "differs"]
    ]
    assert [(check.step, check.call) for check in checks[2:]] == [
        *[(0, "add"), (1, "count"), (1, "refuse"), (0, "flaky"), (0, "elsewhere"), (1, "pid")]
    ]
    assert [line[:11] for line in checks[3].told] == ['- "value": ', '+ "value": ']
    assert checks[4].told == ('"No such\\u001b[31m city."',) and "no tool elsewhere on strange" in checks[6].told[0]
    assert [line[:9] for line in checks[5].told] == ["- succeed", "+ fails: "]
    assert [example.certified for example in marked] == [True, True, *[False] * 6]
    assert all(check.servers == ("strange",) for check in checks)
    assert [loads(Example, dumps(example)) for example in marked] == marked


def test_a_server_that_dies_says_nothing_about_a_conversation(strange: External, tmp_path: Path) -> None:
    rows = [row(("die", {}), said=f"Try {n}") for n in range(external_replay.PATIENCE + 1)]
    (fine, *died) = external_replay.certify(imported(tmp_path, row(ADD), *rows), [strange])
    assert fine.certified
    assert {example.check.verdict for example in died if example.check} == {"not_checked"}
    first, last = died[0].check, died[-1].check
    assert first and first.told[0].startswith("strange") and "die" in first.told[0]
    assert (
        last
        and last.told[0].startswith(f"Not tried, after {external_replay.PATIENCE} in a row")
        and "die" in last.told[0]
    )
    assert not any(example.certified for example in died)


def test_a_server_that_cannot_be_opened_stops_the_import(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="gone did not start"):
        external_replay.certify(imported(tmp_path, row(ADD)), [External("gone", ("/nowhere/server",))])


def test_each_call_goes_to_the_first_server_that_has_its_tool(strange: External, tmp_path: Path) -> None:
    other = External("other", command=(*strange.command[:3], "elsewhere", "add"))
    (example,) = external_replay.certify(imported(tmp_path, row(ADD, ("elsewhere", {}))), [strange, other])
    assert example.certified and example.check and example.check.servers == ("strange", "other")


def test_a_certified_conversation_of_others_has_no_rollouts_and_says_so(strange: External, tmp_path: Path) -> None:
    same, differs = external_replay.certify(imported(tmp_path, row(ADD), row(("pid", {}))), [strange])
    with pytest.raises(NotLive, match="rollouts are not available yet"):
        Attempt(same)
    with pytest.raises(NotCertified, match="calls that cannot be run here"):
        Attempt(differs)


def test_the_data_set_stores_the_marks_and_its_report_and_card_list_them(strange: External, tmp_path: Path) -> None:
    imported(tmp_path, row(ADD), *(row(ADD, ("count", {}), said=f"{n}") for n in range(external_replay.FIRST + 1)))
    marked: list[Example] = []

    def marks(examples: list[Example]) -> list[Example]:
        marked.extend(external_replay.certify(examples, [strange]))
        return marked

    rows, out = tmp_path / "rows.jsonl", tmp_path / "set"
    part = make(rows, out, FORMATS["openai"], servers=["strange"], certify=marks).splits["train"]
    assert part.checks == {"differs": 6, "same": 1} and part.not_certified == 6
    found = verify(out)
    assert found.holds and found.held == 0 and found.elsewhere == {"strange": 1} and found.not_certified == 6
    lines = external_replay.format_verdicts(marked)
    assert lines[0] == "1 certified: same results twice, equal to recorded results if any (strange)"
    assert lines[1] == "6 not deterministic: different results the second time (strange)"
    assert (
        lines[2].endswith(": count, step 2") and lines[-1] == "  and 1 more" and lines[3].startswith('    - "value": ')
    )


def test_an_import_without_a_server_is_written_as_before(tmp_path: Path) -> None:
    (example,) = imported(tmp_path, row(ADD))
    assert "check" not in json.loads(dumps(example)) and not example.certified
    imported(tmp_path, row(ADD))
    make(tmp_path / "rows.jsonl", tmp_path / "set", FORMATS["openai"])
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert "checks" not in manifest["splits"]["train"] and "servers" not in manifest["settings"]


def test_the_part_of_a_long_reply_that_differs_is_displayed() -> None:
    one, other = (json.dumps("x" * 5_000 + end + "y" * size) for end, size in (("one", 9), ("two", 30_000)))
    for then, now in ((one, one.replace("one", "two")), (one, other)):
        verdict, lines = external_replay.fault(Reply(True, then), Reply(True, now), None) or ("", ())
        assert verdict == "differs" and "one" in lines[0] and "two" in lines[1] and len(lines) == 2
        assert all(len(line) < 2 * external_replay.WIDTH for line in lines)
    assert external_replay.fault(Reply(True, '{"a": 1}'), Reply(True, '{"a":1}'), None) == (
        *("differs", ('- ...{"a": 1}', '+ ...{"a":1}')),
    )


def test_a_step_without_all_its_results_is_not_compared_with_them(strange: External, tmp_path: Path) -> None:
    (example,) = imported(tmp_path, row(ADD, results=("recorded",)))
    steps = (Step((ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 1, "b": 3})), 0, ("recorded",)),)
    assert external_replay.verify_example(replace(example, steps=steps), [strange]).verdict == "same"
