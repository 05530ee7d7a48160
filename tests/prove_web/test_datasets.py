"""Data sets: the list, launching a new one, its progress while it is made, and searching its trajectories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from pytest_django import DjangoAssertNumQueries

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.models import Project, User
from prove_web.environments.models import Environment
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.denormalised_columns import build_search_text as said_in
from prove_web.trajectories.models import Dataset
from training_worker.core.trajectory import Example

from .examples import chain, dataset_of, examples

SignIn = Callable[[User], Client]
NUMBERS = {"name": "Ours", "train": "200", "held_out": "20", "seed": "3", "candidates": "8"}
GOOD = {**NUMBERS, "servers": ["email"]}
COUNTS = {
    "train": {"kept": 180, "kinds": {"chain": 160, "irrelevance": 20}, "lengths": {"0": 20, "2": 100, "10": 60}},
    "held_out": {"kept": 18, "kinds": {"chain": 18}, "lengths": {"2": 18}},
}


def at(name: str, project: Project, *rest: Any, **query: Any) -> str:
    return reverse(name, args=[*project.path, *rest]) + (f"?{urlencode(query)}" if query else "")


def copies(count: int, example: Example | None = None) -> list[Example]:
    return [replace(example or chain(), id=f"train-0-{number:06d}") for number in range(count)]


def listed(page: Any) -> list[str]:
    return [line.trajectory.example for line in page.context["lines"]]


def test_a_project_without_data_sets_says_how_to_make_the_first(project: Project, mary: User, as_user: SignIn) -> None:
    page = as_user(mary).get(at("datasets", project))
    assert at("dataset-new", project) in page.text and "No datasets yet" in page.text


def test_a_viewer_is_offered_no_button_that_their_role_cannot_use(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset_of(project, examples()[:1])
    client = as_user(victor)
    assert at("dataset-new", project) not in client.get(at("datasets", project)).text
    assert client.get(at("dataset-new", project)).status_code == 403
    assert client.post(at("dataset-new", project), GOOD).status_code == 403
    assert Dataset.objects.count() == 1


def test_the_list_shows_what_each_data_set_holds_and_who_made_it(project: Project, mary: User, as_user: SignIn) -> None:
    dataset_of(project, name="Ours", by=mary, result={"counts": COUNTS}, spec={"seed": 7})
    page = as_user(mary).get(at("datasets", project)).text
    for words in ("Ours", "mary", "180", "18", "seed 7", "irrelevance", "118 with 2 steps"):
        assert words in page


def test_the_list_takes_as_many_queries_for_one_data_set_as_for_twenty(
    project: Project, mary: User, as_user: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = as_user(mary)
    queries = 8  # session, user, project, role, the frame's projects, count, data sets, their versions
    for more in (1, 19):
        for _ in range(more):
            dataset_of(project, by=mary, result={"counts": COUNTS})
        with django_assert_num_queries(queries):
            client.get(at("datasets", project))


def test_another_teams_data_set_does_not_exist(project: Project, charlie: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, examples()[:1])
    client = as_user(charlie)
    for name, rest in (("datasets", ()), ("dataset", (dataset.number,)), ("dataset-new", ())):
        assert client.get(at(name, project, *rest)).status_code == 404


def test_a_data_set_of_another_project_of_the_team_is_not_found(project: Project, mary: User, as_user: SignIn) -> None:
    other = Project.objects.create(organisation=project.organisation, slug="two", name="Two")
    dataset = dataset_of(other, examples()[:1])
    assert as_user(mary).get(at("dataset", project, dataset.number)).status_code == 404


def test_launching_a_data_set_queues_its_job(
    broker: str, project: Project, mary: User, as_user: SignIn, django_capture_on_commit_callbacks: Any
) -> None:
    dataset_of(project)
    with django_capture_on_commit_callbacks(execute=True):
        answer = as_user(mary).post(at("dataset-new", project), GOOD)

    made = Dataset.objects.get(name="Ours")
    assert answer.url == made.get_absolute_url() and made.number == 2
    assert (made.job.kind, made.job.state, made.job.created_by) == (Kind.DATASET, State.QUEUED, mary)
    assert made.job.spec == {"seed": 3, "train": 200, "held_out": 20, "candidates": 8, "servers": ["email"]}
    assert made.job.sent_at is not None


def test_a_recipe_sets_all_of_the_rest(project: Project, mary: User, as_user: SignIn) -> None:
    client = as_user(mary)
    assert "prove-13k: 13,517 and 500 held out" in client.get(at("dataset-new", project)).text
    client.post(at("dataset-new", project), {"name": "", "recipe": "1k", "train": "nonsense"})
    assert Job.objects.get().spec == {"recipe": "1k"}
    refused = client.post(at("dataset-new", project), {**GOOD, "recipe": "prove-14k"})
    assert refused.status_code == 422 and "Unknown recipe “prove-14k”." in refused.text


def test_a_data_set_without_a_name_is_named_by_its_number(project: Project, mary: User, as_user: SignIn) -> None:
    as_user(mary).post(at("dataset-new", project), {**GOOD, "name": "  "})
    assert Dataset.objects.get().name == "Dataset 1" == Job.objects.get().title


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("train", "9"),
        ("train", "20001"),
        ("train", "many"),
        ("train", ""),
        ("train", "9" * 5000),
        ("train", "1e3"),
        ("held_out", "-1"),
        ("held_out", "2001"),
        ("seed", "20"),
        ("seed", "0.5"),
        ("candidates", "4"),
        ("candidates", "31"),
        ("name", "x" * 81),
        ("name", "a\0b"),
        ("servers", []),
        ("servers", ["email", "steam_engine"]),
    ],
)
def test_nonsense_is_refused_by_name_and_nothing_typed_is_lost(
    project: Project, mary: User, as_user: SignIn, field: str, value: str | list[str]
) -> None:
    page = as_user(mary).post(at("dataset-new", project), {**GOOD, field: value})

    assert page.status_code == 422 and not Dataset.objects.exists() and not Job.objects.exists()
    form = page.context["form"]
    assert list(form.errors) == [field]
    assert {name: form[name].value() for name in GOOD} == {**GOOD, field: value}
    assert "Nothing was created" in page.text


def test_the_limits_themselves_are_accepted(project: Project, mary: User, as_user: SignIn) -> None:
    client = as_user(mary)
    for train, held_out, seed, candidates in ((10, 0, 0, 5), (20000, 2000, 19, 30)):
        form = {"train": train, "held_out": held_out, "seed": seed, "candidates": candidates}
        form["servers"] = list(SERVERS)
        assert client.post(at("dataset-new", project), form).status_code == 302
    assert Dataset.objects.count() == 2


@pytest.mark.parametrize("state", [State.STARTING, State.RUNNING, State.STOPPING])
def test_a_data_set_in_the_making_shows_its_progress_live(
    project: Project, mary: User, as_user: SignIn, state: State
) -> None:
    spec = {"seed": 0, "train": 200, "held_out": 20, "candidates": 8}
    dataset = dataset_of(project, state=state, done=50, total=220, line="conversations", spec=spec)
    client = as_user(mary)

    page = client.get(at("dataset", project, dataset.number)).text
    assert f'data-live-job="{dataset.job_id}"' in page and "23 %" in page and "conversations" in page

    part = client.get(at("dataset", project, dataset.number, part="progress"))
    assert "23 %" in part.text and "<html" not in part.text


def test_a_data_set_in_the_queue_says_what_it_waits_for(project: Project, mary: User, as_user: SignIn) -> None:
    graph = Job.objects.create(project=project, kind=Kind.GRAPH, title="Dependency graph", state=State.RUNNING)
    dataset = dataset_of(project, state=State.QUEUED, after=graph)
    assert "after “Dependency graph”" in as_user(mary).get(at("dataset", project, dataset.number)).text


def test_a_page_that_polls_is_reloaded_once_there_is_more_to_see(project: Project, mary: User, as_user: SignIn) -> None:
    client = as_user(mary)
    filled, failed = dataset_of(project, examples()[:3]), dataset_of(project, state=State.FAILED)
    for dataset in (filled, failed):
        answer = client.get(at("dataset", project, dataset.number, part="progress"))
        assert answer["HX-Refresh"] == "true" and not answer.text


def test_a_data_set_that_is_made_but_not_loaded_yet_says_so_and_keeps_polling(
    project: Project, mary: User, as_user: SignIn
) -> None:
    dataset = dataset_of(project, result={"counts": COUNTS})
    client = as_user(mary)
    for query in ({}, {"part": "progress"}):
        answer = client.get(at("dataset", project, dataset.number, **query))
        assert "loading them into the database" in answer.text and "HX-Refresh" not in answer


def test_a_data_set_without_any_trajectory_says_so(project: Project, mary: User, as_user: SignIn) -> None:
    none = {"kept": 0, "kinds": {}, "lengths": {}}
    dataset = dataset_of(project, result={"counts": {"train": none, "held_out": none}})
    page = as_user(mary).get(at("dataset", project, dataset.number)).text
    assert "Every draw was dropped" in page


def test_a_data_set_that_failed_shows_why_as_text(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, state=State.FAILED, error="<script>alert(1)</script> ran out of memory")
    page = as_user(mary).get(at("dataset", project, dataset.number)).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; ran out of memory" in page and "Resume" in page


def test_a_data_set_counts_each_kind_length_server_and_tool(project: Project, mary: User, as_user: SignIn) -> None:
    held = [*examples(), *(replace(each, id=f"held-{each.id}", split="held_out") for each in examples()[:9])]
    dataset = dataset_of(project, held)
    stats = as_user(mary).get(at("dataset", project, dataset.number)).context["stats"]

    assert (stats.train, stats.held_out) == (len(examples()), 9)
    assert sum(bar.count for bar in stats.steps.bars) == sum(bar.count for bar in stats.kinds.bars) == len(held)
    for bar in stats.tools.bars:
        made = [each for each in held if any(call.name == bar.value for step in each.steps for call in step.calls)]
        assert (bar.train, bar.held_out) == (
            sum(each.split == "train" for each in made),
            sum(each.split == "held_out" for each in made),
        )
    assert {bar.value for bar in stats.tools.bars} | set(stats.tools.note.replace(",", "").split()) >= TOOLS.keys()


def test_a_chart_of_levels_appears_only_where_they_differ(project: Project, mary: User, as_user: SignIn) -> None:
    client, other = as_user(mary), replace(chain(), id="other", level="minimal")
    for held, expected in ((copies(3), False), ([*copies(3), other], True)):
        stats = client.get(at("dataset", project, dataset_of(project, held).number)).context["stats"]
        assert (stats.levels in stats.charts) == expected
    assert [(bar.value, bar.count) for bar in stats.levels.bars] == [("complete", 3), ("minimal", 1)]


def test_a_recipe_or_chain_about_servers_that_are_switched_off_is_refused_by_their_names(
    project: Project, mary: User, as_user: SignIn
) -> None:
    Environment.objects.create(project=project, off=["banking", "maps"])
    client, page = as_user(mary), at("dataset-new", project)
    assert "banking, maps are switched off" in client.get(page).text
    refused = client.post(page, {"recipe": "1k"})
    assert refused.status_code == 422 and "banking, maps are switched off" in refused.text
    chained = client.post(page, {**GOOD, "chain": "list_accounts,transfer_money"})
    assert chained.status_code == 422 and "Switched off in this project: banking." in chained.text
    assert not Job.objects.exists()
    assert client.post(page, {**GOOD, "servers": ["email"]}).status_code == 302


def test_the_list_knows_what_a_recipe_made(project: Project, mary: User, as_user: SignIn) -> None:
    splits = {
        "train": {"kinds": {"chain": 80, "irrelevance": 20}, "steps": {"0": 20, "2": 80}},
        "held_out": {"kinds": {"chain": 7}, "steps": {"3": 7}},
    }
    dataset_of(project, name="By recipe", result={"manifest": {"splits": splits}}, spec={"recipe": "100"})
    mix = as_user(mary).get(at("datasets", project)).context["datasets"][0].mix
    assert (mix.train, mix.held_out) == (100, 7)
    assert [(share.label, share.count) for share in mix.lengths] == [("0", 20), ("2", 80), ("3", 7)]


def test_each_filter_leaves_exactly_what_fits_it(project: Project, mary: User, as_user: SignIn) -> None:
    held = [
        replace(chain(), id="little", level="minimal"),
        *examples(),
        *(replace(each, id=f"held-{each.id}", split="held_out") for each in examples()[:9]),
    ]
    dataset = dataset_of(project, held)
    client = as_user(mary)
    tool = chain().steps[0].calls[0].name
    server = chain().world.servers[0]

    def names(each: Example) -> set[str]:
        return {call.name for step in each.steps for call in step.calls}

    fits: dict[tuple[str, str], Callable[[Example], bool]] = {
        ("split", "held_out"): lambda each: each.split == "held_out",
        ("level", "minimal"): lambda each: each.level == "minimal",
        ("kind", "missing_function"): lambda each: each.kind == "missing_function",
        ("steps", "2"): lambda each: len(each.steps) == 2,
        ("server", server): lambda each: server in each.world.servers,
        ("tool", tool): lambda each: tool in names(each),
        ("tool", "list"): lambda each: False,  # part of a name matches no tool
        ("q", "  BALANCE the "): lambda each: {"balance", "the"} <= {*said_in(each.id, asdict(each), None).split()},
        ("q", "held-train"): lambda each: each.split == "held_out",
    }
    for (field, value), fit in fits.items():
        page = client.get(at("dataset", project, dataset.number, **{field: value}))
        assert page.context["page"].count == sum(map(fit, held)), (field, value)


def test_filters_add_up(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, examples())
    page = as_user(mary).get(at("dataset", project, dataset.number, kind="chain", steps="1", q="zzz"))
    assert page.context["page"].count == 0 and "No matching trajectories" in page.text


@pytest.mark.parametrize(
    "query",
    [
        {"steps": "two"},
        {"steps": "-1"},
        {"steps": "NaN"},
        {"split": "x"},
        {"kind": "x"},
        {"q": "a\0b"},
        {"tool": "a\0b"},
    ],
)
def test_a_filter_that_makes_no_sense_narrows_nothing_and_says_so(
    project: Project, mary: User, as_user: SignIn, query: dict[str, str]
) -> None:
    dataset = dataset_of(project, examples()[:5])
    page = as_user(mary).get(at("dataset", project, dataset.number, **query))
    assert page.status_code == 200
    assert page.context["page"].count == 5 and "This filter is ignored." in page.text


@pytest.mark.parametrize("text", ["%", "_", "'", '"', "\\", "<script>alert(1)</script>", "é", "x" * 5000])
def test_any_text_may_be_searched_for(project: Project, mary: User, as_user: SignIn, text: str) -> None:
    dataset = dataset_of(project, examples()[:5])
    page = as_user(mary).get(at("dataset", project, dataset.number, q=text, tool=text))
    assert page.status_code == 200 and "<script>alert" not in page.text


def test_a_script_in_a_query_is_rendered_as_text(project: Project, mary: User, as_user: SignIn) -> None:
    attack = replace(chain(), turns=("<script>alert(1)</script>", *chain().turns[1:]))
    page = as_user(mary).get(at("dataset", project, dataset_of(project, [attack]).number)).text
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_long_lists_come_in_pages_of_fifty_that_keep_the_filter(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, copies(120))
    client = as_user(mary)
    steps = len(chain().steps)

    first = at("dataset", project, dataset.number, steps=steps)
    pages = [client.get(first)]
    while later := pages[-1].context["page"].later:
        pages.append(client.get(f"{first}&after={later}"))

    assert [len(listed(page)) for page in pages] == [50, 50, 20]
    assert len({name for page in pages for name in listed(page)}) == 120
    assert f"steps={steps}&amp;after={pages[1].context['page'].later}" in pages[1].text
    back = client.get(f"{first}&before={pages[2].context['page'].earlier}")
    assert listed(back) == listed(pages[1]) and back.context["page"].earlier and back.context["page"].later
    assert listed(client.get(f"{first}&after=x")) == listed(client.get(f"{first}&after={'9' * 30}")) == listed(pages[0])


def test_a_page_of_fifty_takes_as_many_queries_as_one_of_two(
    project: Project, mary: User, as_user: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = as_user(mary)
    client.get(at("dataset", project, dataset_of(project).number))  # records her visit in the session
    # session, user, project, role, projects; data set, whether it is filled, 4 of statistics; 7 of the list, 2 of
    # trajectories in a blind review, 3 of lineage
    queries = 22
    for count in (2, 60):
        dataset = dataset_of(project, copies(count))
        with django_assert_num_queries(queries):
            client.get(at("dataset", project, dataset.number))


def test_htmx_pushes_the_address_without_empty_fields(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, examples())
    address = at("dataset", project, dataset.number)
    query = {"q": "", "split": "", "kind": "chain", "steps": "", "server": "", "tool": ""}

    answer = as_user(mary).get(address, query, headers={"HX-Request": "true"})

    assert answer["HX-Push-Url"] == f"{address}?kind=chain"


def test_an_address_with_empty_fields_leads_to_the_one_without(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, examples())
    address, client = at("dataset", project, dataset.number), as_user(mary)
    query = {"q": "", "kind": "chain", "tool": ""}
    assert client.get(address, {**query, "page": "2"}).url == f"{address}?kind=chain&page=2"
    assert client.get(address, {"q": ""}).url == address


def test_a_data_set_says_how_long_it_took(project: Project, mary: User, as_user: SignIn) -> None:
    now = timezone.now()
    dataset = dataset_of(project, examples()[:1], started_at=now - timedelta(seconds=75), ended_at=now)
    assert "in 1 min 15 s" in as_user(mary).get(at("dataset", project, dataset.number)).text
