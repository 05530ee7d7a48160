"""Behaviour certificates: data sets go stale by what a server does, not by how its source is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from library.tools import server as library

from mcp_servers.catalogue import SERVERS, TOOLS, find_changed_servers, fingerprint
from mcp_servers.core.server import NotCertified
from mcp_servers.testing import certificate
from mcp_servers.testing.certificate import (
    SIZES,
    certify,
    check,
    list_declared_outcomes,
    list_unreachable_outcomes,
    sources,
)
from mcp_servers.testing.fuzzer import dictionary

ROOT = Path(__file__).parents[2]
CHECKED = ROOT / ".pytest_cache" / "certified"
every_server = pytest.mark.parametrize("server", SERVERS.values(), ids=lambda server: server.name)


@every_server
def test_a_server_does_what_its_certificate_says_and_its_walks_reach_every_success_and_refusal(server):
    """Not walked again while sources, libraries and certificate are those that were checked last."""
    done = CHECKED / f"{server.name}-{sources(server)}-{server.fingerprint}"
    if not done.exists():
        assert "\n".join(check(server).lines) == "", f"python -m mcp_servers certify --server {server.name}"
        CHECKED.mkdir(parents=True, exist_ok=True)
        done.touch()


def test_few_refusals_are_left_out_of_the_walks_and_each_has_a_reason():
    for size in SIZES:
        left_out = sum(
            len(list_unreachable_outcomes(server, size)) + len(dictionary(server).rare) for server in SERVERS.values()
        )
        assert left_out < 0.07 * sum(len(list_declared_outcomes(server)) for server in SERVERS.values())
    listed = [part for one in map(dictionary, SERVERS.values()) for part in (one.rare, *one.unreached.values())]
    reasons = [why for part in listed for why in part.values()]
    assert all(len(why.split()) > 2 for why in reasons)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the servers, to change."""
    shutil.copytree(ROOT / "mcp_servers", tmp_path / "mcp_servers", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def command(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    line = [sys.executable, "-m", "mcp_servers", "certify", *words]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")


def test_a_comment_changes_no_identity_and_a_reply_or_a_schema_does_and_the_first_differing_call_is_named(shop):
    servers = shop / "mcp_servers"
    edit(
        servers / "banking" / "tools.py",
        "from __future__",
        "# A comment.\n\n\nfrom __future__",
    )
    edit(servers / "core" / "times.py", "from __future__", "# Another one.\nfrom __future__")
    edit(servers / "payments" / "tools.py", "LONGEST_TERM:\n", "LONGEST_TERM or amount % 7 == 0:\n")
    edit(servers / "calendar" / "tools.py", "choose days closer together", "choose closer days")
    edit(servers / "email" / "tools.py", "Field(ge=1, le=", "Field(ge=1, le=1")
    names = ("banking", "payments", "calendar", "email")
    done = command(shop, "--check", *(word for name in names for word in ("--server", name)))
    assert done.returncode == 1
    assert done.stdout == f"banking: as certified, {SERVERS['banking'].fingerprint}\n"
    payments, calendar, email = done.stderr.split(": not as certified\n")[1:]
    assert "world of seed" in payments and "call " in payments and ": draft_invoice {" in payments
    assert "reply before: digest" in payments and "reply now: {" in payments
    assert "choose closer days" in calendar and "python -m mcp_servers certify --server calendar" in calendar
    assert "another schema or description: " in email
    renewed = command(shop, "--server", "calendar", "--server", "banking")
    assert f"banking: {SERVERS['banking'].fingerprint}, as before" in renewed.stdout
    assert f", before {SERVERS['calendar'].fingerprint}" in renewed.stdout and "choose closer days" in renewed.stdout


def test_a_change_of_state_behind_the_same_reply_is_named(monkeypatch):
    server = SERVERS["banking"]
    tool = server.tools["freeze_card"]

    def forgetful(bank, card):
        found = function(bank, card)
        bank.cards.change(card, pin="0007")
        return found

    function = tool.function
    monkeypatch.setattr(tool, "function", forgetful)
    (line,) = check(server).differences
    assert ": freeze_card {" in line and "the reply is the same, the state after it is not" in line


def test_faults_and_odd_input_are_part_of_what_is_certified(monkeypatch):
    monkeypatch.setitem(certificate.MET, "stale", 14)
    (line,) = check(SERVERS["banking"]).differences
    assert "walk to faults" in line


def test_what_no_walk_reaches_is_named_with_what_to_do(monkeypatch):
    server = SERVERS["banking"]
    monkeypatch.setattr(
        certificate,
        "list_declared_outcomes",
        lambda server: list_declared_outcomes(server) | {("freeze_card", "too_cold")},
    )
    assert [line for line in check(server).gaps if "too_cold" in line] == [
        f"no walk in a {size} world comes to freeze_card.too_cold; say in fuzz.toml what leads there, or why nothing "
        "does"
        for size in SIZES
    ]


def test_the_identity_of_servers_is_read_and_nothing_is_run(monkeypatch):
    monkeypatch.setattr(certificate, "run_walk", lambda *_: pytest.fail("walked"))
    assert len(fingerprint(SERVERS)) <= 64, "it is stored in columns of 64 characters"


def test_a_fingerprint_tells_which_server_changed():
    names = ("banking", "calendar", "email")
    now = fingerprint(names)
    place = 17 + 2 * names.index("calendar")
    assert find_changed_servers(names, now) == ()
    assert find_changed_servers(names, f"{'0' * 16}{now[16:place]}zz{now[place + 2 :]}") == ("calendar",)
    assert find_changed_servers(names, "0123456789abcdef") == names, "one of an older format tells none"
    assert find_changed_servers(("banking", "steam_engine"), now) == ("banking", "steam_engine")


def test_a_server_without_a_certificate_says_how_to_make_one():
    with pytest.raises(NotCertified, match=r"library has no behaviour certificate .*certify --server library"):
        library.fingerprint  # noqa: B018


def test_a_certificate_is_the_same_in_another_process_with_another_hash_seed(shop):
    before = (shop / "mcp_servers" / "payments" / "certificate.json").read_bytes()
    done = command(shop, "--server", "payments", PYTHONHASHSEED="7")
    assert done.returncode == 0 and ", as before" in done.stdout
    assert (shop / "mcp_servers" / "payments" / "certificate.json").read_bytes() == before


def test_any_server_of_the_catalogue_can_be_certified(monkeypatch):
    monkeypatch.setitem(SERVERS, library.name, library)
    for name, tool in library.tools.items():
        monkeypatch.setitem(TOOLS, name, (library, tool))
    made, coverage = certify(library)
    assert json.loads(made.dumps())["schemas"].keys() == library.tools.keys()
    assert {size: coverage.find_missing_outcomes(library, size) for size in SIZES} == {size: set() for size in SIZES}


@pytest.mark.long
@every_server
@pytest.mark.parametrize("python", ["python3.11", "python3.12"])
def test_a_certificate_is_the_same_on_every_python(server, python):
    path = shutil.which(python)
    packages = "import dateutil, faker, pydantic"
    if path is None or subprocess.run([path, "-c", packages], capture_output=True).returncode:
        pytest.skip(f"no {python} here with the packages of the servers")
    words = [path, "-m", "mcp_servers", "certify", "--check", "--server", server.name]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "3"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
