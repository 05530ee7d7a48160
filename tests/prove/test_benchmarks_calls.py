"""What BFCL evaluates is written by us: literals only, in a process that can do no harm."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import ToolCall
from training_worker.evaluation.bfcl.conversation import Conversation
from training_worker.evaluation.bfcl.entries import Entry
from training_worker.evaluation.bfcl.inside.calls import NOTHING, format_python_call
from training_worker.evaluation.bfcl.inside.notation import read_calls
from training_worker.evaluation.policies import silent
from training_worker.evaluation.protocol import Policy
from training_worker.evaluation.tau2.conversation import Part
from training_worker.evaluation.teval.parser import answer_in

ROOT = Path(__file__).parents[2]
NAMES = {"cd", "post_tweet", "__import__", "eval(x)", "a.b"}  # even if such names were documented
EVIL = "__import__('os').system('touch /tmp/evil')"
TEXTS = st.text(max_size=20) | st.sampled_from([EVIL, "cd", "a'); evil('", 'x"""', "\\", "{x}", "\ud800", "None"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(NAMES)) | TEXTS, st.dictionaries(TEXTS | st.sampled_from(["folder", "b"]), VALUES))
def test_a_call_is_a_documented_name_with_literals_or_nothing(name: str, arguments: dict[str, Any]) -> None:
    text = format_python_call((name, arguments), NAMES)
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if text == NOTHING:
        return
    assert node.func.id == name in NAMES and not node.args
    assert {one.arg: ast.literal_eval(one.value) for one in node.keywords} == arguments


@pytest.mark.parametrize(
    "name", [EVIL, "cd.__class__", "os.system", "eval", "print", "cd(); evil", "cd\n", "", "eval(x)", "a.b"]
)
def test_a_name_that_is_no_documented_plain_one_is_not_called(name: str) -> None:
    assert format_python_call((name, {}), NAMES) == NOTHING


@pytest.mark.parametrize("key", ["folder=evil(), x", "a b", "", "__class__", "_x", "lambda", "**evil()", "\uff46older"])
def test_an_argument_without_a_plain_name_is_not_passed(key: str) -> None:
    assert format_python_call(("cd", {key: 1}), NAMES) == NOTHING


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1, {"x": float("-inf")}]])
def test_a_number_without_a_literal_is_not_passed(value: Any) -> None:
    assert format_python_call(("cd", {"folder": value}), NAMES) == NOTHING


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[cd(folder='a'), ls(a=True)]", [("cd", {"folder": "a"}), ("ls", {"a": True})]),
        ("cd(folder='a')", [("cd", {"folder": "a"})]),
        ("```\n[cd(folder=a)]\n```", [("cd", {"folder": "a"})]),
        ("[f(x=-1.5, y=[1, (2, None)], z={'k': 2*3})]", [("f", {"x": -1.5, "y": [1, [2, None]], "z": {"k": 6}})]),
        ("[a.b(x=1)]", [("a.b", {"x": 1})]),
        ("[cd('dropped')]", [("cd", {})]),
        (r"[cd(folder='\d')]", [("cd", {"folder": "\\d"})]),
        ("[]", []),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_the_notation_of_the_prompt_is_read(text: str, calls: list[Any]) -> None:
    assert read_calls(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "I cannot do that.", "", f"[cd(folder={EVIL})]", f"[{EVIL}, 1]", "[cd(**x)]", "[(lambda: 1)()]",
        "[cd(x=9**9**9)]", "[f(x=1/0)]", "[" * 100_000,
        "[f(x=" + "-" * 50_000 + "1)]",
        "[f(x=b'1')]", "[f(x=[i for i in y])]", "[f(x='a'*10)]", "[f(x=1)", "\x00",
    ],
)  # fmt: skip
def test_what_is_not_in_the_notation_is_no_call(text: str) -> None:
    calls = read_calls(text)
    assert calls is None or calls in ([], [("f", {"x": 1})])  # a missing bracket is added


def test_an_answer_of_any_length_is_read() -> None:
    letters = "a" * 200_000
    assert read_calls(f"[f(x='{letters}')]") == [("f", {"x": letters})]
    assert len(read_calls(f"[{', '.join(['ls()'] * 20_000)}]") or ()) == 20_000


def test_no_number_of_calls_makes_an_answer_malformed() -> None:
    """The benchmark's own checker judges what many calls are worth."""
    policy = Policy(model="many", speak=silent)
    many = write_calls([ToolCall("ls", {"of": "x" * 1_000})] * 500)
    entry = Entry(id="e", category="base", turns=((),), classes=(), held_out={}, truth=())
    nothing: Any = None
    talk = Conversation(entry, nothing, policy, nothing, nothing, "run")
    assert len(talk.read(many)) == 500 and not talk.malformed
    assert talk.read(many + "<tool_call>{") == [] and talk.malformed == 1
    assert len(Part(nothing).read(many)) == 500
    assert answer_in("x" * 200_000) == "x" * 200_000


TRIES = """
import json, os, socket, subprocess
from training_worker.evaluation.confined.confine import confine
confine()
tried = {
    "system": lambda: os.system("true"), "run": lambda: subprocess.run(["true"]), "fork": os.fork,
    "write": lambda: open("/tmp/written-by-a-test", "w"), "append": lambda: open(os.devnull, "a"),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9)), "remove": lambda: os.remove("/tmp/nothing"),
    "memory": lambda: bytearray(3 << 30),
}
said = {}
for name, attempt in tried.items():
    try:
        attempt()
        said[name] = "done"
    except (PermissionError, MemoryError) as error:
        said[name] = type(error).__name__
with open("/proc/self/status" if os.path.exists("/proc") else os.devnull) as file:
    said["read"] = "done"
print(json.dumps(said))
"""


def test_a_confined_process_starts_nothing_writes_nothing_and_reaches_nobody() -> None:
    done = subprocess.run([sys.executable, "-c", TRIES], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    if sys.platform == "darwin":
        del said["memory"]  # that system has no such limit
    allowed = [name for name, outcome in said.items() if outcome == "done"]
    assert allowed == ["read"]
