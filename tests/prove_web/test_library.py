"""The page of all trajectories: refining, sorting, paging, completion, views; and what a data set's page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, SavedView, User
from prove_web.query_language.completion import Completion
from prove_web.query_language.completion import complete as complete_query
from prove_web.review.models import Item, Queue
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.paging import SORTS
from prove_web.trajectories.search.fields import FIELDS
from prove_web.trajectories.search.values import VALUES
from prove_web.trajectories.text_stats import distinct, measure, moving_ratio

from .examples import chain, dataset_of, examples

SignIn = Callable[[User], Client]


def at(name: str, project: Project, *rest: Any, **query: Any) -> str:
    return reverse(name, args=[*project.path, *rest]) + (f"?{urlencode(query)}" if query else "")


def listed(page: Any) -> list[int]:
    return [line.trajectory.pk for line in page.context["lines"]]


def test_a_project_without_data_says_where_trajectories_come_from(
    project: Project, victor: User, as_user: SignIn
) -> None:
    page = as_user(victor).get(at("trajectories", project))
    assert "No trajectories yet" in page.text and at("datasets", project) in page.text


def test_the_list_shows_query_tools_reward_and_what_was_made_of_it(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset = dataset_of(project, [chain()], name="Ours")
    one = dataset.trajectories.get()
    queue = Queue.objects.create(project=project, number=1, name="Q", schema=PLAIN.model_dump())
    Item.objects.create(queue=queue, position=1, trajectory=one, verdict="fix", state=Item.State.SETTLED)
    Trajectory.objects.filter(pk=one.pk).update(parent=one)
    page = as_user(victor).get(at("trajectories", project)).text
    for text in ("Ours", one.tools.split(",")[0], "1.30", "edited", ">fix<", "1 total"):
        assert text in page, text


@pytest.mark.parametrize("sort", SORTS)
def test_going_through_the_pages_shows_each_row_once_in_order_and_back_again(
    project: Project, victor: User, as_user: SignIn, sort: str
) -> None:
    dataset = dataset_of(project, [replace(one, id=f"{n}-{one.id}") for n in range(3) for one in examples()])
    for number, one in enumerate(dataset.trajectories.all()):
        Trajectory.objects.filter(pk=one.pk).update(reward=[None, 0.5, 1.3, 0.1][number % 4], errors=number % 3)
    client = as_user(victor)
    first = at("trajectories", project, sort=sort)
    pages = [client.get(first)]
    while later := pages[-1].context["page"].later:
        pages.append(client.get(f"{first}&after={later}"))
    seen = [pk for page in pages for pk in listed(page)]
    column, sign = sort.removeprefix("-"), -1 if sort.startswith("-") else 1
    rows = {one.pk: one for one in Trajectory.objects.all()}

    def key(pk: int) -> tuple[bool, float, int]:
        value = pk if column == "made" else getattr(rows[pk], column)
        return value is None, sign * (value or 0), sign * pk

    assert seen == sorted(rows, key=key) and len(pages) > 2
    back = client.get(f"{first}&before={pages[-1].context['page'].earlier}")
    assert listed(back) == listed(pages[-2])


@pytest.mark.long
def test_the_counts_to_refine_by_are_those_that_refining_finds(project: Project, victor: User, as_user: SignIn) -> None:
    dataset_of(project, [replace(one, split=["train", "held_out"][n % 2]) for n, one in enumerate(examples())])
    client = as_user(victor)
    for query in ("", "kind:chain", "balance OR account", "reward>1 -server:email"):
        facets = client.get(at("trajectories", project, q=query)).context["facets"]
        for facet in facets:
            for one in facet.values:
                found = client.get(at("trajectories", project, q=one.query)).context
                assert not found["fault"]
                assert one.on or found["page"].count == one.count, (query, one)
        by_kind = next(facet for facet in facets if facet.name == "kind")
        assert (
            sum(one.count for one in by_kind.values)
            == client.get(at("trajectories", project, q=query)).context["page"].count
        )


def test_a_refinement_that_is_on_leads_back_to_the_list_without_it(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset_of(project, examples())
    page = as_user(victor).get(at("trajectories", project, q="kind:chain reward>1"))
    on = [one for facet in page.context["facets"] for one in facet.values if one.on]
    assert [(one.label, one.query) for one in on] == [("Chain", "reward>1")]


def test_a_fault_is_marked_at_its_character_and_what_was_typed_stays(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset_of(project, examples()[:2])
    page = as_user(victor).get(at("trajectories", project, q="balance steps>two <b>"))
    assert page.status_code == 200 and page.context["marked"] == ("balance steps>", "t", "wo <b>")
    assert 'value="balance steps&gt;two &lt;b&gt;"' in page.text and 'aria-invalid="true"' in page.text
    assert "steps&gt;<mark>t</mark>wo &lt;b&gt;" in page.text and not page.context["lines"]


def test_the_list_takes_as_many_queries_for_forty_rows_as_for_two(
    project: Project, victor: User, as_user: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = as_user(victor)
    queries = 16  # session, user, project, role twice, projects; ids, rows, count, 4 marks, 2 of counts, views
    for count in (2, 40):
        dataset_of(project, examples()[:count])
        with django_assert_num_queries(queries):
            client.get(at("trajectories", project, q="train"))


def test_a_search_is_saved_for_the_team_renamed_and_removed(
    project: Project, bob: User, victor: User, as_user: SignIn
) -> None:
    client, page = as_user(bob), at("trajectories", project)
    dataset_of(project, examples()[:2])
    for _ in range(2):  # a search saved again under its name is replaced
        client.post(
            at("trajectory-views", project), {"name": " Good ones ", "q": "reward>1", "sort": "-reward", "x": "1"}
        )
    view = SavedView.objects.get()
    assert (view.name, view.query, view.made_by) == ("Good ones", "q=reward%3E1&sort=-reward", bob)
    assert f"{page}?q=reward%3E1&amp;sort=-reward" in as_user(victor).get(page).text
    change = at("trajectory-view", project, view.pk)
    client.post(change, {"name": "Best"})
    SavedView.objects.create(project=project, page="trajectories", name="Other", query="")
    for bad in ("", "x" * 81, "Other"):
        client.post(change, {"name": bad})
    view.refresh_from_db()
    assert view.name == "Best"
    client.post(change, {"remove": "1"})
    assert [one.name for one in SavedView.objects.all()] == ["Other"]


def test_next_and_previous_stay_within_the_search_of_all_the_project(
    project: Project, victor: User, as_user: SignIn
) -> None:
    first, second = dataset_of(project, examples()[:3]), dataset_of(project, examples()[:3])
    client = as_user(victor)
    page = client.get(at("trajectories", project, q=f"id:{examples()[1].id}"))
    assert len(page.context["lines"]) == 2
    link = f"?{page.context['link']}"
    newer = client.get(at("trajectory", project, second.number, examples()[1].id) + link).context["around"]
    assert newer.earlier is None and newer.later.dataset == first and newer.later.example == examples()[1].id
    assert newer.back.startswith(at("trajectories", project)) and "in=all" not in newer.back
    older = client.get(newer.later.get_absolute_url() + "?" + newer.address).context["around"]
    assert older.earlier.dataset == second and older.later is None


@pytest.mark.parametrize(
    ("typed", "first", "result"),
    [
        ("", "tool:", "tool:"),
        ("to", "tool:", "tool:"),
        ("balance -sta", "status:", "balance -status:"),
        ("rew", "reward<", "reward<"),
        ("tool:transf", "transfer_money", "tool:transfer_money"),
        ("level:minimal,com", "complete", "level:minimal,complete"),
        ("reviewer:bo", "bob", "reviewer:bob"),
        ('label:"wrong t', '"wrong tool"', 'label:"wrong tool"'),
        ("component:cov", "coverage<1", "component:coverage<1"),
    ],
)
def test_what_may_stand_before_the_cursor_is_offered(
    project: Project, victor: User, bob: User, as_user: SignIn, typed: str, first: str, result: str
) -> None:
    Queue.objects.create(project=project, number=1, name="Q", schema=PLAIN.model_dump())
    found = as_user(victor).get(at("trajectory-completion", project, q=typed, at=len(typed))).json()
    assert found["options"][0]["text"] == first
    assert typed[: found["start"]] + first + typed[found["end"] :] == result


def complete(project: Project, query: str, at: int) -> Completion:
    return complete_query(project, query, at, FIELDS, VALUES.get)


@pytest.mark.parametrize("typed", ["balanceq", 'some "words in a', "steps>", "zzz:a"])
def test_nothing_is_offered_where_anything_may_stand(project: Project, typed: str) -> None:
    assert complete(project, typed, len(typed)).options == ()


def test_a_completion_in_the_middle_replaces_the_word_it_is_in(project: Project) -> None:
    query = "balance tool:tran_x steps>2"
    found = complete(project, query, query.index("_x"))
    assert (query[found.start : found.end], found.options[0].text) == ("tran_x", "transfer_money")


@given(st.text(max_size=30), st.integers(-3, 40))
def test_a_completion_lies_within_the_text(typed: str, place: int) -> None:
    found = complete(Project(organisation_id=0), typed.replace(":", " ").replace("=", " "), place)
    assert 0 <= found.start <= found.end <= len(typed)


def test_a_data_set_says_where_it_comes_from_and_what_uses_it(project: Project, victor: User, as_user: SignIn) -> None:
    first = dataset_of(project, examples()[:3], name="First")
    second = dataset_of(project, examples()[:2], name="Second")
    queue = Queue.objects.create(
        project=project, number=4, name="Look", schema=PLAIN.model_dump(), source={"dataset": 2}
    )
    Dataset.objects.filter(pk=second.pk).update(parent=first, origin={"query": "reward>1", "queue": queue.number})
    client = as_user(victor)
    later = client.get(at("dataset", project, second.number)).context["lineage"]
    assert [(one.kind, one.label) for one in later.sources] == [
        ("Previous version", "First #1"),
        ("Search", "reward>1"),
        ("Review queue", "Look"),
    ]
    assert [one.label for one in later.uses] == ["Look"]
    earlier = client.get(at("dataset", project, first.number)).context["lineage"]
    assert [(one.kind, one.label) for one in earlier.uses] == [("Next version", "Second #2")]
    rows = [(each.dataset.name, each.depth) for each in client.get(at("datasets", project)).context["datasets"]]
    assert rows == [("First", 0), ("Second", 1)]


def test_the_data_card_says_what_was_drawn_and_why_some_was_dropped(
    project: Project, victor: User, as_user: SignIn
) -> None:
    part = {"kinds": {"chain": 2}, "steps": {"2": 2}, "drawn": 9, "conversations": 2, "duplicates": 3}
    manifest = {
        "recipe": "100",
        "seed": 0,
        "code": "abc",
        "splits": {"train": {**part, "dropped": {"not replayed": 4}}},
    }
    dataset = dataset_of(project, examples()[:2], result={"manifest": manifest})
    page = as_user(victor).get(at("dataset", project, dataset.number))
    card = page.context["card"]
    assert (card.drawn, card.accepted, card.duplicates, card.dropped) == (9, 2, 3, (("not replayed", 4),))
    assert ("Seed", "0") in card.facts and "not replayed" in page.text


def test_the_variety_of_language_is_measured_as_the_papers_say(project: Project, victor: User, as_user: SignIn) -> None:
    said = [["a", "b", "a", "b"], ["a", "c"]]
    assert (distinct(said, 1), distinct(said, 2), distinct(said, 4)) == (3 / 6, 3 / 4, 1.0)
    assert moving_ratio(["a", "b", "a", "a"]) == 0.5
    words = [str(number % 150) for number in range(400)]
    windows = [len({*words[start : start + 100]}) / 100 for start in range(301)]
    assert moving_ratio(words) == pytest.approx(sum(windows) / len(windows))
    found = measure(said, 2)
    assert (found.turns, found.words, found.different, found.mean) == (2, 6, 3, 3.0)
    assert sum(one.count for one in found.lengths) == 2 and measure([], 0).ratio == 0.0
    dataset = dataset_of(project, examples()[:9])
    part = as_user(victor).get(at("dataset", project, dataset.number, part="language")).context["language"]
    assert (part.trajectories, part.turns) == (9, sum(len(one.turns) for one in examples()[:9]))


def test_knobs_manners_and_difficulties_are_counted_and_lead_to_their_trajectories(
    project: Project, victor: User, as_user: SignIn
) -> None:
    said = (("conditional", "odd_one"), ())
    held = [
        replace(one, distractors=n % 3, persona=["curt", ""][n % 2], features=said[n % 2])
        for n, one in enumerate(examples())
    ]
    dataset = dataset_of(project, held)
    client = as_user(victor)
    stats = client.get(at("dataset", project, dataset.number)).context["stats"]
    counts = Counter(bar.value for chart in (stats.knobs, stats.personas) for bar in chart.bars)
    assert counts["knob:distractors"] == counts["persona:curt"] == 1
    counts = {bar.value for bar in stats.difficulties.bars}
    assert {"feature:conditional", "feature:odd_one"} <= counts
    for bar in (*stats.knobs.bars, *stats.personas.bars, *stats.difficulties.bars):
        assert client.get(at("dataset", project, dataset.number, q=bar.value)).context["page"].count == bar.count
