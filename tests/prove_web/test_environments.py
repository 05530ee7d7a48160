"""A project's environment: switches, checks of the servers, their versions, servers of others."""

import html
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import SERVERS, fingerprint
from mcp_servers.testing.verify import LAWS, check
from prove_web.accounts.models import Organisation, Project, User
from prove_web.core.env import envset
from prove_web.environments import server_checks, versions
from prove_web.environments.models import Environment, ServerCheck, ServerVersion, ThirdParty
from prove_web.environments.tasks import check as check_task
from prove_web.trajectories.models import Trajectory

from .examples import dataset_of, examples

pytestmark = pytest.mark.django_db
EXTERNAL = '''
from mcp.server import MCPServer
server = MCPServer("till", log_level="ERROR")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

server.run()
'''


@pytest.fixture
def mary_browser(mary: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(mary)


@pytest.fixture
def owner(alice: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(alice)


def at(project: Project, name: str, *rest: object) -> str:
    return reverse(name, args=[*project.path, *rest])


def test_servers_are_switched_off_and_on_again(mary_browser: Client, project: Project) -> None:
    on = [name for name in SERVERS if name != "banking"]
    chosen = {"servers": on, "seed": "12", "size": "small"}
    assert mary_browser.post(at(project, "environment-save"), chosen).status_code == 302
    saved = Environment.objects.get(project=project)
    assert (saved.off, saved.seed, saved.size) == (["banking"], 12, "small")
    assert "disabled</span>" in mary_browser.get(at(project, "servers")).content.decode()
    mary_browser.post(at(project, "environment-save"), {**chosen, "servers": list(SERVERS)})
    assert Environment.objects.get(project=project).off == []


@pytest.mark.parametrize(
    "wrong", [{"servers": []}, {"servers": ["no_such"]}, {"seed": "-1"}, {"seed": "x"}, {"size": "huge"}]
)
def test_an_environment_that_makes_no_sense_is_refused_with_the_fault(
    mary_browser: Client, project: Project, wrong: dict[str, Any]
) -> None:
    given = {"servers": ["maps"], "seed": "1", "size": "small", **wrong}
    answer = mary_browser.post(at(project, "environment-save"), given)
    assert answer.status_code == 422 and "invalid-feedback" in answer.content.decode()
    assert not Environment.objects.exists()


def test_another_project_keeps_its_own_environment(
    mary_browser: Client, project: Project, organisation: Organisation
) -> None:
    other = Project.objects.create(organisation=organisation, slug="second", name="Second")
    Environment.objects.create(project=other, off=["maps"])
    assert "disabled</span>" not in mary_browser.get(at(project, "servers")).content.decode()


@pytest.mark.parametrize("name", ["banking", pytest.param("vehicle", marks=pytest.mark.long)])
def test_a_check_finds_that_a_server_keeps_its_laws_and_gives_the_same_certificate_again(name: str) -> None:
    first, again = check(SERVERS[name]), check(SERVERS[name])
    assert first.ok and first.faults == () and first.calls > 500 and 0 < first.refused < first.calls
    assert 0.9 * len(SERVERS[name].tools) <= first.tools <= len(SERVERS[name].tools)
    assert first.certificate == again.certificate and set(first.laws) == set(LAWS)
    assert first.rows["small"] < first.rows["default"] < first.rows["large"]


@pytest.mark.long
def test_a_check_names_the_law_that_a_server_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    server = SERVERS["crm"]
    laws = {**server.invariants, "never": lambda state: False}
    monkeypatch.setattr(server, "invariants", laws)
    found = check(server)
    assert not found.ok and found.laws["invariants"] == found.calls and found.laws["replay"] == 0
    assert "invariants of this server hold" in found.faults[0] and "call 1" in found.faults[0]


@pytest.mark.long
def test_a_requested_check_appears_once_it_has_run(mary_browser: Client, project: Project, broker: str) -> None:
    page = at(project, "server", "maps")
    assert "Not checked" in mary_browser.get(page).content.decode()
    mary_browser.post(at(project, "server-check", "maps"))
    made = ServerCheck.objects.get()
    assert "Running invariant checks" in mary_browser.get(page).content.decode()
    mary_browser.post(at(project, "server-check", "maps"))
    assert ServerCheck.objects.count() == 1, "one at a time"
    check_task(made.pk)
    text = mary_browser.get(page).content.decode()
    made.refresh_from_db()
    assert made.ok and made.found["certificate"] in text and "Invariants hold, replay matches" in text
    assert f"large {made.found['rows']['large']}" in text
    assert "Invariants hold" in mary_browser.get(at(project, "servers")).content.decode()


def test_a_check_of_other_code_is_marked_as_stale() -> None:
    found = {"ok": True, "laws": {}, "rows": {}}
    made = server_checks.create_check("maps")
    ServerCheck.objects.filter(pk=made.pk).update(ok=True, found=found, fingerprint="other", ended_at=made.asked_at)
    assert server_checks.health(["maps"])["maps"].state == "stale"
    ServerCheck.objects.filter(pk=made.pk).update(fingerprint=fingerprint(("maps",)))
    assert server_checks.health(["maps", "crm"])["maps"].state == "passed"
    assert server_checks.health(["crm"])["crm"].state == "never"


def test_the_command_checks_and_says_what_is_not_there() -> None:
    call_command("check_servers", "maps")
    assert ServerCheck.objects.get().ok
    with pytest.raises(CommandError, match="Unknown server 'nothing'"):
        call_command("check_servers", "nothing")


def test_without_a_broker_a_check_says_what_to_run_instead(
    mary_browser: Client, project: Project, settings: Any
) -> None:
    from prove_web.live import message_broker

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    message_broker.broker.cache_clear()
    answer = mary_browser.post(at(project, "server-check", "maps"), follow=True)
    message_broker.broker.cache_clear()
    assert "manage.py check_servers maps" in answer.content.decode()
    assert ServerCheck.objects.get().ended_at is not None


def test_versions_are_written_down_once_and_again_when_the_code_is_another() -> None:
    assert set(versions.record()) == set(SERVERS)
    assert versions.record() == []
    ServerVersion.objects.filter(server="maps").update(fingerprint="of before")
    assert versions.record() == ["maps"]
    assert ServerVersion.objects.filter(server="maps").count() == 2


def test_changes_between_versions_are_listed_tool_by_tool() -> None:
    one = {"input": {"properties": {"a": {"type": "integer", "maximum": 5}}}, "description": "Old."}
    two = {"input": {"properties": {"a": {"type": "integer", "maximum": 9}, "b": {"type": "string"}}}}
    same = {"description": "Same."}
    found = versions.changes(
        {"t": one, "gone": same, "kept": same}, {"t": {**two, "description": "Old."}, "kept": same, "new": same}
    )
    by_tool = {each.tool: each for each in found}
    assert {name: each.how for name, each in by_tool.items()} == {"new": "added", "gone": "removed", "t": "changed"}
    assert by_tool["t"].lines == (
        ("input.properties.a.maximum", "5", "9"),
        ("input.properties.b", None, '{"type": "string"}'),
    )
    assert versions.changes({"t": one}, {"t": one}) == ()


def test_a_version_names_the_data_sets_made_before_it_with_other_code(
    mary_browser: Client, project: Project, organisation: Organisation
) -> None:
    versions.record()
    before, after = (
        dataset_of(project, examples()[:5], name="Before"),
        dataset_of(project, examples()[:5], name="Today"),
    )
    for each in Trajectory.objects.filter(dataset=before):
        each.record["fingerprint"] = "of before"
        each.save()
    name = examples()[0].world.servers[0]
    old = ServerVersion.objects.get(server=name)
    new = next(iter(SERVERS[name].tools))
    old.fingerprint, old.schemas = "of before", {tool: schema for tool, schema in old.schemas.items() if tool != new}
    old.save()
    assert versions.record() == [name]
    text = html.unescape(mary_browser.get(at(project, "server-versions", name)).content.decode())
    assert "1 dataset created before this version" in text and before.get_absolute_url() in text
    assert after.get_absolute_url() not in text
    assert "<strong>added</strong>" in text and new in text


def test_servers_of_others_are_not_allowed_unless_the_operator_says_so(
    owner: Client, project: Project, settings: Any
) -> None:
    assert frozenset() == settings.EXTERNAL_SERVERS
    assert "PROVE_EXTERNAL_SERVERS" in owner.get(at(project, "environments")).content.decode()
    owner.post(at(project, "third-party-add"), {"name": "till", "command": "echo"})
    assert not ThirdParty.objects.exists()
    other = ThirdParty.objects.create(project=project, name="till", command=["touch", "/tmp/never"])
    text = owner.post(at(project, "third-party", other.pk)).content.decode()
    assert "does not allow this server" in text


def test_allowing_urls_does_not_allow_commands(owner: Client, project: Project, settings: Any) -> None:
    settings.EXTERNAL_SERVERS = frozenset({"url"})
    text = owner.get(at(project, "environments")).content.decode()
    assert 'name="url"' in text and 'name="command"' not in text
    answer = owner.post(at(project, "third-party-add"), {"name": "till", "command": "echo"})
    assert answer.status_code == 422 and not ThirdParty.objects.exists()


def test_a_server_of_others_is_added_tried_and_removed(
    owner: Client, project: Project, settings: Any, tmp_path: Path
) -> None:
    settings.EXTERNAL_SERVERS = frozenset({"command"})
    program = tmp_path / "till.py"
    program.write_text(EXTERNAL, "utf-8")
    owner.post(at(project, "third-party-add"), {"name": "till", "command": f"{sys.executable} {program}"})
    other = ThirdParty.objects.get()
    assert other.command == [sys.executable, str(program)]
    page = at(project, "third-party", other.pk)
    assert "Add two numbers." in owner.post(page).content.decode()
    called = html.unescape(owner.post(page, {"tool": "add", "arguments": '{"a": 2, "b": 40}'}).content.decode())
    assert "42" in called and ">ok</span>" in "".join(called.split("\n"))
    assert "error</span>" in owner.post(page, {"tool": "nothing"}).content.decode()
    owner.post(at(project, "third-party-remove", other.pk))
    assert not ThirdParty.objects.exists()


def test_a_server_that_does_not_start_is_reported_with_its_own_words(
    owner: Client, project: Project, settings: Any
) -> None:
    settings.EXTERNAL_SERVERS = frozenset({"command"})
    words = [sys.executable, "-c", "raise SystemExit('the licence <b>is missing</b>')"]
    other = ThirdParty.objects.create(project=project, name="till", command=words)
    text = owner.post(at(project, "third-party", other.pk)).content.decode()
    assert "did not start" in text and "the licence &lt;b&gt;is missing&lt;/b&gt;" in text


def test_an_address_inside_the_network_is_refused(owner: Client, project: Project, settings: Any) -> None:
    settings.EXTERNAL_SERVERS = frozenset({"url"})
    owner.post(at(project, "third-party-add"), {"name": "inside", "url": "http://127.0.0.1:9/mcp"})
    text = owner.post(at(project, "third-party", ThirdParty.objects.get().pk)).content.decode()
    assert "inside a network" in text


@pytest.mark.parametrize(
    "wrong", [{"name": "No!"}, {"name": "banking"}, {"command": "'open"}, {"command": ""}, {"url": "ftp://x"}]
)
def test_a_server_of_others_that_makes_no_sense_is_refused(
    owner: Client, project: Project, settings: Any, wrong: dict[str, str]
) -> None:
    settings.EXTERNAL_SERVERS = frozenset({"command", "url"})
    given = {"name": "till", "command": "echo hello", **wrong}
    assert owner.post(at(project, "third-party-add"), given).status_code == 422
    assert not ThirdParty.objects.exists()


def test_the_setting_knows_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_EXTERNAL_SERVERS", "url, command")
    assert envset("PROVE_EXTERNAL_SERVERS", {"url", "command"}) == {"url", "command"}
    monkeypatch.setenv("PROVE_EXTERNAL_SERVERS", "shell")
    with pytest.raises(Exception, match="allowed values: command, url"):
        envset("PROVE_EXTERNAL_SERVERS", {"url", "command"})


def test_the_pages_make_few_queries(
    mary_browser: Client, project: Project, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    versions.record()
    mary_browser.get(at(project, "environments"))
    with django_assert_max_num_queries(10):
        mary_browser.get(at(project, "environments"))
    dataset_of(project, examples()[:20])
    with django_assert_max_num_queries(9):
        mary_browser.get(at(project, "server-versions", "banking"))


def test_a_missing_gateway_is_reported_as_unresponsive(
    mary_browser: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_MCP_PORT", "1")
    assert "no response at" in mary_browser.get(at(project, "gateway")).content.decode()
