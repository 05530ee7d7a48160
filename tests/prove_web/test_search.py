"""Searching trajectories: the query language has laws, and a search finds what a slow scan finds."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Organisation, Project, User
from prove_web.query_language.ast import AllOf, AnyOf, FieldComparison, Negation, Node, Text, format_query
from prove_web.query_language.parsing import parse
from prove_web.review.models import Comment, Item, Queue, Review
from prove_web.review.schema import PLAIN
from prove_web.trajectories.denormalised_columns import derive_columns, tokens
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.many import attempt
from prove_web.trajectories.models import Trajectory, Words
from prove_web.trajectories.search import search
from prove_web.trajectories.search.fields import FIELDS
from training_worker.core.trajectory import dumps

from .examples import abstention, chain, dataset_of, examples

WORDS = st.sampled_from(["balance", "the", "account", "zebra", "acc*", "held", "ivan", "many"])
PHRASES = st.sampled_from(["the balance", "my account", "and then", "%", "a:b", "or (not)", ""])
NUMBERS = ("steps", "path", "turns", "length", "errors", "distractors")
SCORES = ("reward", "validity", "coverage", "efficiency", "name", "arguments")
VALUES = {
    "tool": ["list_accounts", "get_*", "nothing"],
    "server": ["banking", "email,calendar"],
    "split": ["train", "held-out"],
    "kind": ["chain", "irrelevance,missing_function"],
    "level": ["minimal", "complete"],
    "knob": ["distractors", "enums_stripped"],
    "feature": ["conditional", "par*", "several,nothing"],
    "status": ["ok", "error"],
    "has": ["rollout", "reward", "parent"],
}
FEATURED = ((), ("conditional",), ("conditional", "parallel", "several"), ("odd, one", "raw_id"))
GIVEN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def counts() -> st.SearchStrategy[Node]:
    ops = st.sampled_from(["<", "<=", ">", ">=", "=", "!=", ":"])
    integers = st.builds(FieldComparison, st.sampled_from(NUMBERS), ops, st.integers(0, 4).map(str))
    return integers | st.builds(
        FieldComparison, st.sampled_from(SCORES), ops, st.sampled_from(["0", "0.5", "1", "1.3", "-.1"])
    )


def chosen() -> st.SearchStrategy[Node]:
    named = st.sampled_from(sorted(VALUES))
    return named.flatmap(
        lambda one: st.builds(FieldComparison, st.just(one), st.sampled_from([":", "!="]), st.sampled_from(VALUES[one]))
    )


def trees(leaves: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def more(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return inner.map(Negation) | several.map(AllOf) | several.map(AnyOf)

    return st.recursive(leaves, more, max_leaves=6)


SAID = WORDS.map(Text) | st.sampled_from(["the balance", "list accounts"]).map(lambda one: Text(one, True))
MEANT = trees(SAID | counts() | chosen())
ANYTHING = trees(
    SAID | PHRASES.map(lambda one: Text(one, True)) | counts() | chosen() | st.just(FieldComparison("id", ":", "a (b"))
)


@GIVEN
@given(ANYTHING)
def test_a_tree_that_is_written_down_is_read_as_the_same_tree(tree: Node) -> None:
    assert flat(parse(format_query(tree))) == flat(tree)


def flat(node: Node) -> Node:
    """Flatten a list inside a list of the same kind, because both have the same text."""
    match node:
        case Negation(inner):
            return Negation(flat(inner))
        case AllOf(nodes) | AnyOf(nodes):
            kind = type(node)
            inner = [flat(one) for one in nodes]
            return kind(tuple(part for one in inner for part in (one.nodes if isinstance(one, kind) else (one,))))
    return node


@GIVEN
@given(st.text(max_size=60) | st.text('()"-:<>=!*, \tORANDtool\0é', max_size=30))
def test_any_text_is_a_search_or_has_a_fault_within_it(project: Project, text: str) -> None:
    found = search(project, text)
    assert list(found.rows) == []
    if found.fault:
        assert 0 <= found.fault.at <= len(text) and found.fault.message.endswith(".")
        before, at, after = found.fault.split_query(text)
        assert before + at + after in (text, text + " ")


@pytest.mark.parametrize(
    ("query", "at", "says"),
    [
        ('tool:x "late fee', 7, "Unclosed quotation mark"),
        ("(a OR b", 7, "Unclosed parenthesis"),
        ("a) b", 1, "Unmatched parenthesis"),
        ("a OR ", 5, "Incomplete query"),
        ("a tol:x", 2, "Did you mean “tool”?"),
        ("zzzz:1", 0, "There are tool, server"),
        ("steps>two", 6, "takes a whole number"),
        ("reward<=", 8, "has no value"),
        ("reward<nan", 7, "takes a number"),
        ("component:colour<1", 10, "such as coverage<1"),
        ("component:coverage<x", 19, "takes a number"),
        ("a split:training", 8, "Did you mean “train”?"),
        ("has:rolout", 4, "Did you mean “rollout”?"),
        ("tool>3", 4, "is not numeric"),
        ("a %", 2, "no letter or digit"),
        ("tool:a,", 5, "needs a value"),
        ("a\0b", 1, "cannot be searched for"),
        ("a" * 1001, 1000, "at most 1,000"),
        ("-" * 40 + "a", 0, "deep"),
    ],
)
def test_a_fault_is_reported_at_its_character_with_what_may_stand_there(
    project: Project, query: str, at: int, says: str
) -> None:
    found = search(project, query)
    assert found.fault and found.fault.at == at and says in found.fault.message
    assert not found.rows.exists()


@pytest.mark.parametrize("field", FIELDS)
def test_every_fields_own_example_is_a_query(project: Project, field: str) -> None:
    assert parse(FIELDS[field].example).field == field and search(project, FIELDS[field].example).fault is None


def filled(project: Project) -> tuple[Trajectory, ...]:
    """Store demonstrations and attempts of two data sets, one of them an edit of another."""
    draw = random.Random(3)
    held = [replace(one, features=draw.choice(FEATURED)) for one in examples()]
    demos = dataset_of(project, [replace(one, split="held_out") if draw.random() < 0.3 else one for one in held])
    attempts = dataset_of(project)
    rows = []
    for example in examples()[:30]:
        made = row(attempts, example)
        rollout = attempt(example, draw)
        made.rollout = json.loads(dumps(rollout))
        made.reward, made.coverage = draw.choice([(None, None), (rollout.reward.total, rollout.reward.coverage)])
        made.parent = draw.choice([None, demos.trajectories.first()])
        rows.append(made)
    Trajectory.objects.bulk_create(rows)
    return tuple(Trajectory.objects.order_by("pk"))


@GIVEN
@given(MEANT)
def test_a_search_finds_what_a_slow_reading_of_every_trajectory_finds(search_case: tuple[Any, ...], tree: Node) -> None:
    project, rows = search_case
    found = search(project, format_query(tree))
    assert found.fault is None
    assert {one.pk for one in found.rows} == {one.pk for one in rows if fits(one, tree)}, format_query(tree)


@pytest.fixture
def search_case(project: Project) -> tuple[Project, tuple[Trajectory, ...]]:
    other = Project.objects.create(organisation=project.organisation, slug="two", name="Two")
    dataset_of(other, examples()[:5])
    filled(project)
    return project, tuple(Trajectory.objects.filter(dataset__project=project).select_related("words").order_by("pk"))


def fits(one: Trajectory, node: Node) -> bool:
    match node:
        case Negation(inner):
            return not fits(one, inner)
        case AllOf(nodes):
            return all(fits(one, each) for each in nodes)
        case AnyOf(nodes):
            return any(fits(one, each) for each in nodes)
        case Text(text, quoted):
            return says(one.words.text.split(), tokens(text), begins=not quoted and text.endswith("*"))
        case FieldComparison():
            return answers(one, node)


def says(said: list[str], wanted: list[str], *, begins: bool) -> bool:
    *first, last = wanted
    for at in range(len(said) - len(wanted) + 1):
        here = said[at : at + len(wanted)]
        if here[:-1] == first and (here[-1].startswith(last) if begins else here[-1] == last):
            return True
    return False


def answers(one: Trajectory, comparison: FieldComparison) -> bool:
    name, op = comparison.field, comparison.op
    if name in NUMBERS or name in SCORES:
        mine, value = path_of(one) if name == "path" else getattr(one, name), float(comparison.value)
        if mine is None:
            return False
        equal = abs(mine - value) < 1e-9
        kinds = {"<": mine < value and not equal, "<=": mine < value or equal, ">": mine > value and not equal}
        return {**kinds, ">=": mine > value or equal, "=": equal, ":": equal, "!=": not equal}[op]
    held = any(has(one, name, value) for value in comparison.value.split(","))
    return held != (op == "!=")


def path_of(one: Trajectory) -> int:
    """Return the length of the longest path by trying all of them."""
    edges = one.record["edges"]

    def longest(step: int) -> int:
        return 1 + max((longest(later) for earlier, later in edges if earlier == step), default=0)

    return max(map(longest, range(len(one.record["steps"]))), default=0)


def has(one: Trajectory, name: str, value: str) -> bool:
    if name == "feature":
        return any(map(re.compile(value.replace("*", ".*")).fullmatch, one.record.get("features", ())))
    if name in ("tool", "server", "knob"):
        mine = {"tool": one.tools, "server": one.servers, "knob": one.knobs}[name].split(",")
        return any(each.startswith(value[:-1]) for each in mine if each) if value.endswith("*") else value in mine
    if name == "status":
        return (one.errors > 0) == (value == "error")
    if name == "has":
        there = {"rollout": one.rollout, "reward": one.reward is not None, "parent": one.parent_id}
        return bool(there[value])
    return bool(getattr(one, name) == value.replace("-", "_"))


def test_the_full_text_follows_what_is_saved_and_what_is_removed(project: Project) -> None:
    dataset = dataset_of(project, [chain()])
    (one,) = dataset.trajectories.all()
    one.record = {**one.record, "turns": ["A quagga, naïvely"]}
    one.save()
    for query, count in (("quagga", 1), ("naively", 1), ('"quagga naively"', 1), ("quag*", 1), ("quag", 0)):
        assert search(project, query).rows.count() == count, query
    one.delete()
    assert not search(project, "quagga").rows.exists() and not Words.objects.exists()


@pytest.mark.parametrize(
    "attack", ['"quagga" OR text:*', "NEAR(a b)", "text : a", "^a", "'); DROP TABLE x; --", "a*b*", '{a}" b']
)
def test_no_text_is_read_as_the_databases_own_syntax(project: Project, attack: str) -> None:
    dataset_of(project, examples()[:3])
    for query in (attack, f'"{attack.replace(chr(34), "")}"'):
        found = search(project, query)
        assert found.fault or found.rows.count() <= 3


def test_a_search_finds_what_reviewers_decided(project: Project, bob: User, alice: User) -> None:
    first, second, third = (dataset := dataset_of(project, examples()[:3])).trajectories.all()
    queue = Queue.objects.create(project=project, number=2, name="Q", schema=PLAIN.model_dump(), blind=False)
    items = [Item.objects.create(queue=queue, position=n, trajectory=one) for n, one in enumerate((first, second), 1)]
    Item.objects.filter(pk=items[0].pk).update(verdict="accept", state=Item.State.SETTLED)
    answers = {"verdict": "reject", "faults": ["wrong tool"]}
    Review.objects.create(item=items[1], reviewer=bob, state=Review.State.DONE, answers=answers)
    Review.objects.create(item=items[1], reviewer=alice, state=Review.State.DRAFT, answers={"verdict": "fix"})
    Comment.objects.create(trajectory=third, author=bob, text="Hm.")
    expected = {
        "label:accept": [first],
        "label:reject": [second],
        'label:"wrong tool"': [second],
        "label:fix": [],
        "reviewer:bob": [second],
        "reviewer:alice": [],
        "queue:2": [first, second],
        "queue:3": [],
        "has:label": [first, second],
        "has:comment": [third],
        f"dataset:{dataset.number} -queue:2": [third],
        f"id:{second.example}": [second],
    }
    for query, rows in expected.items():
        assert list(search(project, query).rows) == rows, query


def test_what_is_said_in_a_blind_queue_is_found_once_its_item_is_settled(project: Project, bob: User) -> None:
    (one,) = dataset_of(project, examples()[:1]).trajectories.all()
    queue = Queue.objects.create(project=project, number=2, name="Q", schema=PLAIN.model_dump(), reviewers=2)
    item = Item.objects.create(queue=queue, position=1, trajectory=one)
    Review.objects.create(item=item, reviewer=bob, state=Review.State.DONE, answers={"verdict": "reject"})
    queries = ("label:reject", "reviewer:bob", "has:label")
    assert [list(search(project, query).rows) for query in queries] == [[], [], []]
    Item.objects.filter(pk=item.pk).update(verdict="reject", state=Item.State.SETTLED)
    assert [list(search(project, query).rows) for query in queries] == [[one], [one], [one]]


def test_a_search_stays_within_its_project_and_its_data_set(project: Project, organisation: Organisation) -> None:
    other = Project.objects.create(organisation=organisation, slug="two", name="Two")
    dataset_of(other, examples()[:4])
    one, two = dataset_of(project, examples()[:2]), dataset_of(project, examples()[:3])
    assert [search(project, "").rows.count(), search(project, "", one).rows.count()] == [5, 2]
    assert search(project, "id:train*", two).fault is None


def test_what_is_read_off_a_record_that_is_none_is_empty() -> None:
    shapes: list[Any] = [None, 3, [], {"steps": 3, "turns": {}}, {"steps": [1, {"calls": [None, "x"]}], "level": 4}]
    nothing = {
        "level": "",
        "persona": "",
        "knobs": "",
        "features": "",
        "distractors": 0,
        "turns": 0,
        "errors": 0,
        "end": "",
        "run": None,
    }
    for shape in shapes:
        found = derive_columns(shape, shape, shape)
        assert {name: found[name] for name in nothing} == nothing


def test_rows_from_before_are_made_findable_when_the_site_is_brought_up_to_date(project: Project) -> None:
    dataset_of(project, [chain(), abstention()])
    Words.objects.all().delete()
    Trajectory.objects.update(reward=None, coverage=None, length=0, level="", path=0)
    assert not search(project, "train").rows.exists()
    import_module("prove_web.trajectories.migrations.0004_full_text").fill(apps, connection)
    assert search(project, "train level:complete reward>=1").rows.count() == 2
    assert search(project, "coverage:1 length>1").rows.count() == 1


def test_features_and_paths_of_rows_from_before_are_read_off_their_records(project: Project) -> None:
    filled(project)
    known = list(Trajectory.objects.order_by("pk").values_list("features", "path"))
    assert any(features for features, _ in known) and any(path > 1 for _, path in known)
    Trajectory.objects.update(features="", path=0)
    import_module("prove_web.trajectories.migrations.0011_fill_features_and_paths").fill(apps, connection)
    assert list(Trajectory.objects.order_by("pk").values_list("features", "path")) == known
