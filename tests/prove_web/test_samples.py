"""Random samples of a data set: the command that prints them, and the page, with the origin of every value."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset
from prove_web.trajectories.samples import SIZE, draw, turns_of
from training_worker.core.trajectory import Example, Level, write_lines
from training_worker.dataflow.provenance import single
from training_worker.graph.edges import longest_path

from .examples import chain, dataset_of, examples

SignIn = Callable[[User], Client]
HEADING = re.compile(r"^\d+ of \d+: ([^,\n]+)", re.MULTILINE)


def featured() -> list[Example]:
    """Return real examples, some with features and some of another level."""
    names, levels = ((), ("conditional",), (), ("conditional", "parallel")), get_args(Level)
    return [replace(one, features=names[number % 4], level=levels[number % 3]) for number, one in enumerate(examples())]


def folder_of(path: Path, held: Sequence[Example]) -> Path:
    """Write a data set whose last third is held out, without a manifest."""
    cut = len(held) * 2 // 3
    write_lines(path / "train.jsonl", held[:cut])
    write_lines(path / "held_out.jsonl", [replace(one, split="held_out") for one in held[cut:]])
    return path


def read(folder: Path, **options: object) -> str:
    out = io.StringIO()
    call_command("read", str(folder), stdout=out, no_color=True, **options)
    return out.getvalue()


def ids(printed: str) -> list[str]:
    return HEADING.findall(printed)


def path_of(example: Example) -> int:
    return longest_path(len(example.steps), example.edges)


def at(dataset: Dataset, **query: object) -> str:
    return f"{reverse('dataset-sample', args=[*dataset.project.path, dataset.number])}?{urlencode(query)}"


@pytest.mark.parametrize("seed", range(5))
def test_a_filtered_sample_has_the_order_of_the_full_draw(seed: int) -> None:
    named = [(one.id, one) for one in examples()]
    full = draw(named, seed, len(named))
    assert sorted(one.id for one in full) == sorted(id for id, _ in named)
    assert draw(reversed(named), seed) == full[:SIZE] != draw(named, seed + 1)
    chains = [one for one in full if one.kind == "chain"]
    assert draw((pair for pair in named if pair[1].kind == "chain"), seed, 5) == chains[:5]


def test_the_command_prints_all_that_passes_its_filters_and_nothing_else(tmp_path: Path) -> None:
    held = featured()
    folder = folder_of(tmp_path, held)
    cases = {
        "feature": ("parallel", [one for one in held if "parallel" in one.features]),
        "kind": ("chain", [one for one in held if one.kind == "chain"]),
        "level": ("minimal", [one for one in held if one.level == "minimal"]),
        "path": (3, [one for one in held if path_of(one) >= 3]),
        "split": ("held_out", held[len(held) * 2 // 3 :]),
    }
    for name, (value, expected) in cases.items():
        printed = read(folder, count=1_000, **{name: value})
        assert expected and sorted(ids(printed)) == sorted(one.id for one in expected), name
        assert re.search(rf"in all +{len(expected) if name == 'split' else len(held)} +{len(expected)}\b", printed), (
            name
        )


def test_the_same_seed_prints_the_same_and_another_one_others(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, examples())
    assert read(folder, seed=3, count=4) == read(folder, seed=3, count=4)
    assert ids(read(folder, seed=3, count=4)) == ids(read(folder, seed=3))[:4] != ids(read(folder, seed=4, count=4))


def test_an_unknown_feature_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"“colour”\. There are conditional, parallel\."):
        read(folder_of(tmp_path, featured()), feature="colour")
    with pytest.raises(CommandError, match="No conversation has a feature"):
        read(folder_of(tmp_path, [replace(one, features=()) for one in featured()]), feature="colour")
    with pytest.raises(CommandError, match="Remove one"):
        read(tmp_path, path=9)


def test_a_conversation_is_printed_with_all_that_is_said_and_called(tmp_path: Path) -> None:
    held = examples()[:20]
    printed = " ".join(read(folder_of(tmp_path, held), count=20).split())
    for example in held:
        for said in (*example.turns, *example.answers, *(call.name for step in example.steps for call in step.calls)):
            assert " ".join(said.split()) in printed


def test_every_value_of_a_ground_truth_has_an_origin_that_is_not_invented() -> None:
    for example in examples():
        calls = [call for turn in turns_of(example) for call in turn.calls if call.number]
        for call in calls:
            for argument in call.written:
                kinds = [piece.source.kind for piece in argument.pieces if piece.source]
                due = [one for one in single(call.arguments[argument.name]) if not isinstance(one, bool | None)]
                assert len(kinds) == len(due) and "invented" not in kinds, (example.id, call.tool, argument.name)


def test_a_terminal_is_given_no_commands(tmp_path: Path) -> None:
    attack = replace(chain(), turns=("\x1b[2J\x07Hi\x9b1m there", *chain().turns[1:]))
    printed = read(folder_of(tmp_path, [attack, chain(), chain()]))
    assert "[2J" in printed and all(sign.isprintable() or sign == "\n" for sign in printed)


def test_the_page_shows_what_the_command_prints(
    project: Project, victor: User, as_user: SignIn, tmp_path: Path
) -> None:
    held = examples()
    client, dataset = as_user(victor), dataset_of(project, held)
    page = client.get(at(dataset, seed=7))
    displayed = [one.trajectory.example for one in page.context["sample"]]
    assert displayed == ids(read(folder_of(tmp_path, held), seed=7)) and len(displayed) == SIZE
    for one in page.context["sample"]:
        assert all(
            turn.text in page.context["sample"][one.number - 1].example.turns
            for turn in one.turns
            if turn.role == "user"
        )
        assert f'href="{one.trajectory.get_absolute_url()}"' in page.text
    assert at(dataset, seed=8) in page.text and "1.30" not in page.text
    assert client.get(at(dataset, seed=8)).context["sample"][0].trajectory.example != displayed[0]


def test_every_anchor_of_the_page_is_there_once(project: Project, victor: User, as_user: SignIn) -> None:
    page = as_user(victor).get(at(dataset_of(project, examples()))).text
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    links = {link for link in re.findall(r'href="#([^"]+)"', page)}
    assert len(links) > SIZE and links <= set(anchors)


def test_the_page_draws_from_what_a_search_finds(project: Project, victor: User, as_user: SignIn) -> None:
    client, dataset = as_user(victor), dataset_of(project, featured())
    for query in ("feature:parallel", "path>=3", "kind:irrelevance", "feature:nothing"):
        expected = client.get(reverse("dataset", args=[*project.path, dataset.number]), {"q": query}).context["page"]
        page = client.get(at(dataset, q=query))
        assert page.context["count"] == expected.count and len(page.context["sample"]) == min(SIZE, expected.count)
        assert {one.trajectory.pk for one in page.context["sample"]} <= {one.pk for one in expected.rows}
        assert ("No matching conversations" in page.text) == (not expected.count)
    fault = client.get(at(dataset, q="steps>two"))
    assert fault.context["fault"] and "whole number" in fault.text and not fault.context["sample"]


def test_the_page_takes_as_many_queries_for_two_conversations_as_for_twenty(
    project: Project, victor: User, as_user: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = as_user(victor)
    for count in (2, 40):
        dataset = dataset_of(project, examples()[:count])
        client.get(at(dataset))  # its statistics are counted once
        with django_assert_num_queries(9):
            client.get(at(dataset))


def test_what_cannot_be_read_is_named_and_what_is_not_made_has_no_sample(
    project: Project, victor: User, as_user: SignIn
) -> None:
    client, dataset = as_user(victor), dataset_of(project, examples()[:1])
    one = dataset.trajectories.get()
    one.record = {**one.record, "turns": 3}
    one.save()
    assert "recorded by another version" in client.get(at(dataset)).text
    unfinished = dataset_of(project, examples()[:1], state=State.RUNNING)
    assert client.get(at(unfinished)).url == unfinished.get_absolute_url()
