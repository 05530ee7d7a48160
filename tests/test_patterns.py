"""Every pattern takes linear time, whatever text it meets: until `re` returns, all threads of a process wait."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from patterns import PACKAGES, Pattern, patterns

from mcp_servers.filesystem.tools_files import GAP, glob
from prove_web.servers.arguments import NATIVE
from tests.sharing import SEEN_BY_PYTEST, checked, digest_of

BOUNDED = {"prove_web/query_language/completion.py"}  # quadratic, in a query of at most 1,000 characters
SHORT = 200
LITERAL = "texts that are escaped, next to each other or one of many"
PUT_TOGETHER = {  # patterns that functions make: why they are linear, or some of them to try
    "mcp_servers/filesystem/tools_files.py glob": [glob(name).pattern for name in ("*a*a*a*b", "?*?*a*", "*" * 40)],
    "mcp_servers/filesystem/tools_files.py search_file_contents": [rf"(?<![^\W_])a{GAP}a{GAP}b(?![^\W_])"],
    "mcp_servers/testing/certificate.py is_of": [r"\w+", r"no_such_\w+"],  # codes of our own servers
    "mcp_servers/testing/fuzzer.py place": "patterns of our own fuzz.toml, over results of our own servers",
    "mcp_servers/testing/phrases.py slot_faults": LITERAL,
    "prove_web/live/log_search.py read_lines_around": LITERAL,
    "prove_web/live/log_search.py seek": LITERAL,
    "prove_web/servers/arguments.py input_type": [*NATIVE.values()],
    "prove_web/sharing/guest_sanitizer.py build_redactor": LITERAL,  # and a pattern that `untold` has
    "prove_web/supervisor/output.py __init__": LITERAL,
    "prove_web/trajectories/edit_services.py explain_rejection": LITERAL,
    "training_worker/evaluation/results.py folders_of": LITERAL,
    "training_worker/synthesis/dialogue.py names_entity": LITERAL,
    "training_worker/dataflow/resolver.py find_rank": LITERAL,
    "training_worker/dataflow/resolver.py speaks_of_several": [
        r"(?<!\bone of the )\bcards\b|\b(?:all|both|each|every) (?:\w+ ){0,3}(?:card|ones?)\b"
    ],
    "training_worker/training/augmentation.py reword": LITERAL,
    "training_worker/policy/conversation.py control_texts": LITERAL,
    "training_worker/policy/tokenizer.py train_tokenizer": LITERAL,
}


FULL_MATCH = {
    "mcp_servers/filesystem/tools_files.py glob",
    "prove_web/servers/arguments.py input_type",
}  # only full matches


CHECKED = SEEN_BY_PYTEST.with_name("patterns")


def test_every_pattern_takes_linear_time() -> None:
    """A pattern is not tried again while it, its uses and what tries it are those that were checked last."""
    with checked("patterns", (*PACKAGES, "tests/patterns.py", "tests/test_patterns.py")) as unchanged:
        if not unchanged:
            assert_patterns_are_linear()


def assert_patterns_are_linear() -> None:
    found = [one for package in PACKAGES for one in patterns(package)]
    assert {one for one in found if isinstance(one, str)} == {*PUT_TOGETHER}
    written = [replace(one, longest=SHORT if one.place in BOUNDED else 0) for one in found if isinstance(one, Pattern)]
    tried = [
        Pattern(place, one, 0, ("fullmatch",) if place in FULL_MATCH else ("sub",))
        for place, some in PUT_TOGETHER.items()
        if some is not LITERAL
        for one in some
    ]
    tool = f"{sys.hexversion} {digest_of(('tests/patterns.py',))}"
    names = {f"{tool} {one}": one for one in (*written, *tried)}
    known = CHECKED.read_text("utf-8").splitlines() if CHECKED.exists() else ()
    assert list(slow([one for name, one in names.items() if name not in known])) == []
    CHECKED.parent.mkdir(parents=True, exist_ok=True)
    CHECKED.write_text("\n".join(names), "utf-8")


def slow(given: Sequence[Pattern]) -> Iterator[str]:
    """The places of those that a process of limited processor time does not come through with."""
    left = list(given)
    while left:
        lines = "".join(f"{json.dumps(asdict(one))}\n" for one in left)
        program = [sys.executable, str(Path(__file__).parent / "patterns.py")]
        done = subprocess.run(program, input=lines, capture_output=True, text=True)
        if done.returncode == 0:
            return
        assert done.returncode < 0, done.stderr
        begun = len(done.stdout.splitlines())
        yield f"{left[begun - 1].place}: {left[begun - 1].text}"
        left = left[begun:]


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "sub"),  # begins again at each letter
        (r"a\s*,?\s*b", "match"),  # two repeats share what they take
    ],
)
def test_a_quadratic_pattern_is_found(text: str, use: str) -> None:
    assert list(slow([Pattern("", text, 0, (use,))])) == [f": {text}"]


@pytest.mark.parametrize(("text", "use"), [(r"[\w.+-]+@[\w-]+", "fullmatch"), (r"(?<!\w)\w++@", "search")])
def test_a_linear_pattern_is_not(text: str, use: str) -> None:
    assert list(slow([Pattern("", text, 0, (use,))])) == []
