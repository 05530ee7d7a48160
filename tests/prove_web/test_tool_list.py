"""The list of all tools, their pages, and calling one from its page."""

import html
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core.random_walk import Walker
from mcp_servers.error_catalog import refusals_of
from prove_web.accounts.models import Project, User
from prove_web.environments.models import Environment
from prove_web.experiments.models import Point, Run
from prove_web.live.models import Job, Kind
from prove_web.servers.catalogue import CATEGORIES, entries
from prove_web.servers.models import LiveSession
from prove_web.servers.tool_list import COLUMNS
from training_worker.monitoring.metrics import TOOLS as BY_TOOL

from .examples import dataset_of, examples

pytestmark = pytest.mark.django_db
NAMED = re.compile(r'<a class="tool-link" href="[^"]*"><code>(\w+)</code>')


@pytest.fixture
def browser(bob: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(bob)


@pytest.fixture
def listed(browser: Client, project: Project) -> Callable[..., list[str]]:
    """Return a function that reads the names of the listed tools from all pages."""

    def names(**query: str) -> list[str]:
        found: list[str] = []
        for number in range(1, 9):
            text = browser.get(reverse("tools", args=project.path), {**query, "page": str(number)}).content.decode()
            found += NAMED.findall(text)
            if 'rel="next"' not in text:
                break
        return found

    return names


def test_every_server_stands_under_one_category() -> None:
    listed = [name for names in CATEGORIES.values() for name in names]
    assert sorted(listed) == sorted(SERVERS)


@pytest.mark.long
def test_all_tools_are_listed_once_in_any_order(listed: Callable[..., list[str]]) -> None:
    assert sorted(listed(sort="-gives")) == sorted(TOOLS)
    assert listed(sort="nonsense") == list(TOOLS)
    assert listed(sort="-tool") == sorted(TOOLS, reverse=True)


@pytest.mark.parametrize("column", COLUMNS)
def test_each_column_sorts_both_ways_and_says_so(browser: Client, project: Project, column: str) -> None:
    for sort, said in ((column, "ascending"), (f"-{column}", "descending")):
        text = browser.get(reverse("tools", args=project.path), {"sort": sort}).content.decode()
        assert text.count(f'aria-sort="{said}"') == 1


def test_the_filters_are_those_of_the_schemas(listed: Callable[..., list[str]]) -> None:
    assert set(listed(takes="AccountId")) == {n for n, (_, t) in TOOLS.items() if "AccountId" in t.ids.values()}
    assert set(listed(gives="AccountId")) == {n for n, (_, t) in TOOLS.items() if "AccountId" in t.produces}
    assert set(listed(sensitive="1")) == {n for n, (_, t) in TOOLS.items() if t.sensitive}
    both = listed(sensitive="1", server="banking", kind="write")
    assert both and all(TOOLS[name][0].name == "banking" and entries()[name].mark == "write" for name in both)
    assert listed(takes="NoSuchId") == []


def test_a_list_filters_and_sorts_by_the_tools_of_a_data_set(
    listed: Callable[..., list[str]], project: Project
) -> None:
    first, second = dataset_of(project, examples()[:1]), dataset_of(project, examples()[:30])
    called = {call.name for one in examples()[:30] for step in one.steps for call in step.calls}
    assert set(listed(used="yes")) == called, "the newest data set is looked at unless another is chosen"
    assert set(listed(used="no")) == set(TOOLS) - called
    assert set(listed(used="yes", data=str(first.number))) < called
    assert set(listed(sort="-used")[: len(called)]) == called
    assert second.number > first.number


def ran(project: Project, **tools: list[int]) -> Run:
    data = dataset_of(project, examples()[:2])
    job = Job.objects.create(project=project, kind=Kind.RUN, title="Run")
    run = Run.objects.create(project=project, number=data.number, name="Run", dataset=data, job=job)
    Point.objects.create(run=run, step=1, metrics={BY_TOOL: tools})
    return run


def test_success_is_that_of_the_last_run(listed: Callable[..., list[str]], browser: Client, project: Project) -> None:
    ran(project, get_event=[10, 10])
    last = ran(project, create_event=[10, 5], list_events=[4, 1])
    assert listed(sort="-success")[:2] == ["list_events", "create_event"]
    text = browser.get(reverse("tools", args=project.path), {"q": "create_event"}).content.decode()
    assert f"{reverse('run-rollouts', args=[*project.path, last.number])}?q=tool%3Acreate_event" in text
    assert ">50 %<" in text
    Point.objects.create(run=last, step=2, metrics={BY_TOOL: {"create_event": [30, 5]}})
    assert ">75 %<" in browser.get(reverse("tools", args=project.path), {"q": "create_event"}).content.decode()


def test_what_is_switched_off_is_not_offered_anywhere(
    listed: Callable[..., list[str]], browser: Client, mary: User, as_user: Callable[[User], Client], project: Project
) -> None:
    Environment.objects.create(project=project, off=["banking"], seed=5, size="small")
    assert not {TOOLS[name][0].name for name in listed()} & {"banking"}
    session = browser.get(reverse("session-new", args=project.path)).content.decode()
    data = as_user(mary).get(reverse("dataset-new", args=project.path)).content.decode()
    found = browser.get(reverse("find", args=project.path), {"q": "transfer money"}).content.decode()
    for text in (session, data):
        assert 'value="banking"' not in text and 'value="calendar"' in text
    assert "transfer_money" not in found
    assert 'value="5"' in session and '<option value="small" selected>' in session
    refused = browser.post(
        reverse("session-new", args=project.path), {"servers": "banking", "seed": 1, "size": "small"}
    )
    assert refused.status_code == 422 and "or is disabled" in refused.content.decode()
    tool = browser.get(reverse("tool", args=[*project.path, "transfer_money"])).content.decode()
    assert "disabled in this project" in tool and "call-form" not in tool
    assert browser.post(reverse("tool-call", args=[*project.path, "transfer_money"])).status_code == 302
    assert not LiveSession.objects.exists()


@pytest.mark.long
def test_the_refusals_of_a_tool_are_those_its_code_can_come_to() -> None:
    codes = {one.code for one in refusals_of("transfer_money")}
    assert {"insufficient_funds", "same_account", "not_found", "invalid_arguments"} <= codes
    assert "card_frozen" not in codes
    for name, (server, _) in TOOLS.items():
        assert all(one.message and "ToolError" not in one.message for one in refusals_of(name)), (name, server.name)


def test_what_a_walk_is_refused_for_is_on_the_tools_page() -> None:
    for server in SERVERS.values():
        session = server.open(3, "small")
        walker = Walker(server.tools, [session.state], "refusals", server.name)
        for _ in range(80):
            step = walker.walk(session)
            if step.reply and not step.reply.ok:
                codes = [re.sub(r"{.*?}", r"\\w+", one.code) for one in refusals_of(step.tool)]
                assert any(re.fullmatch(code, step.reply.data["error"]) for code in codes), (step.tool, step.reply)


def test_a_tools_page_shows_refusals_and_where_it_is_used(browser: Client, project: Project) -> None:
    run = ran(project, list_accounts=[4, 1])
    text = html.unescape(browser.get(reverse("tool", args=[*project.path, "list_accounts"])).content.decode())
    assert "4 calls, 75 % succeeded" in text
    assert reverse("run-tools", args=[*project.path, run.number]) in text
    name = next(call.name for one in examples() for step in one.steps for call in step.calls)
    data = dataset_of(project, examples())
    text = browser.get(reverse("tool", args=[*project.path, name])).content.decode()
    assert f"{data.get_absolute_url()}?tool={name}" in text


def test_a_call_from_a_tools_page_opens_a_session_with_it(browser: Client, project: Project, bob: User) -> None:
    Environment.objects.create(project=project, seed=9, size="small")
    answer = browser.post(reverse("tool-call", args=[*project.path, "list_accounts"]))
    session = LiveSession.objects.get()
    assert (session.seed, session.size, session.servers, session.created_by) == (9, "small", ["banking"], bob)
    assert answer.status_code == 302 and answer["Location"].startswith(session.get_absolute_url())
    assert [(call.tool, call.ok) for call in session.calls.all()] == [("list_accounts", True)]
    assert browser.get(answer["Location"]).status_code == 200


def test_a_fault_stands_beside_its_field_and_opens_no_session(browser: Client, project: Project) -> None:
    address = reverse("tool-call", args=[*project.path, "transfer_money"])
    answer = browser.post(address, {"arg-amount": "much"})
    assert answer.status_code == 422 and 'value="much"' in answer.content.decode()
    assert "invalid-feedback" in answer.content.decode() and not LiveSession.objects.exists()


def test_an_example_on_a_tools_page_works_when_it_is_called(browser: Client, project: Project) -> None:
    address = reverse("tool-call", args=[*project.path, "transfer_money"])
    text = browser.post(address, {"example": "1"}).content.decode()
    given = dict(re.findall(r'name="(arg-\w+)" value="([^"]+)"', text))
    assert {"arg-source", "arg-target", "arg-amount"} <= {*given} or len(given) >= 3
    browser.post(address, given)
    assert LiveSession.objects.get().calls.get().ok


def test_entities_to_choose_from_are_those_of_the_first_world(browser: Client, project: Project) -> None:
    address = reverse("tool-pick", args=[*project.path, "transfer_money"])
    assert "ACC-" in browser.get(address, {"type": "AccountId"}).content.decode()
