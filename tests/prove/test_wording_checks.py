"""Checks of a model's words: the scripted words pass, and words with another meaning do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import networkx as nx
import pytest

from mcp_servers.catalogue import TOOLS
from tests.prove.known import cached_examples
from training_worker.core.trajectory import Act, Example
from training_worker.dataflow.templates import leaks, long_day
from training_worker.datasets.recipes import PLANS
from training_worker.synthesis.conversation import make
from training_worker.synthesis.knobs import PAPER
from training_worker.synthesis.wording_checks import DENIAL, Check, RewrittenText, all_topics, topic_words, values_said


@pytest.fixture(scope="module")
def people(graph: nx.DiGraph) -> tuple[Example, ...]:
    """Return conversations of the paper's recipe: of each kind, with spoken days, open values and failures."""
    recipe = replace(PLANS["1k"].recipe, knobs=replace(PAPER, dates=1.0, recovery=0.5, missing_function=0.15))
    made = (make(index, "train", graph, recipe)[0] for index in range(40))
    return tuple(cached_examples("wording", __file__, lambda: filter(None, made)))


def checks(examples: tuple[Example, ...]) -> Iterator[Check]:
    """Yield a check for each text: a user turn, then the assistant's."""
    for example in examples:
        for turn in range(len(example.turns)):
            yield Check(example, turn)
            yield Check(example, turn, "assistant")


def test_the_scripted_words_pass_and_leak_nothing(examples: tuple[Example, ...], people: tuple[Example, ...]) -> None:
    for check in checks(examples + people):
        assert check.fault(RewrittenText(check.old)) == ""
        assert check.speaker == "assistant" or leaks(check.old, said=" ".join(check.values)) == set()


def test_a_value_that_is_lost_or_new_is_noticed(examples: tuple[Example, ...], people: tuple[Example, ...]) -> None:
    seen = 0
    for check in checks(examples[:60] + people):
        for value in check.values:
            without = re.sub(rf"(?<!\w)(?<!\w-){re.escape(value)}(?!\w)", "something", check.old, flags=re.I)
            assert check.fault(RewrittenText(without)).startswith(("a value is lost", "values are in another order")), (
                value
            )
            seen += 1
        for more in ("Make it 987654.", "Tell eve@example.org.", "And for Zacharias.", 'Say "so be it".', "See x.pdf."):
            assert check.fault(RewrittenText(f"{check.old} {more}"))[:14] == "a value is new", more
    assert seen > 300


def test_another_amount_is_noticed_in_every_text(people: tuple[Example, ...]) -> None:
    seen = 0
    for check in checks(people):
        for found in re.finditer(r"(?<![\w,.-])[1-9]\d+(?![\w-])", check.old):
            other = check.old[: found.start()] + f"{int(found[0]) + 1}" + check.old[found.end() :]
            assert check.fault(RewrittenText(other)), other
            seen += 1
    assert seen > 50


def test_amounts_that_change_places_or_their_currency_are_noticed(people: tuple[Example, ...]) -> None:
    swapped = changed = 0
    for check in checks(people):
        amounts = list(dict.fromkeys(re.findall(r"(?<![\w.,-])\d[\d,.]*\d euros", check.old)))
        if len(amounts) > 1:
            one, other = amounts[:2]
            new = check.old.replace(one, "@").replace(other, one).replace("@", other)
            assert check.fault(RewrittenText(new)), new
            swapped += 1
        if amounts:
            assert check.fault(RewrittenText(check.old.replace(" euros", " dollars")))
            changed += 1
    assert swapped and changed


def test_words_that_ask_for_nothing_or_answer_nothing_are_noticed(people: tuple[Example, ...]) -> None:
    for check in checks(people):
        empty = check.act == "answer" or (check.speaker == "assistant" and not topic_words(check.old) & all_topics())
        assert empty or check.fault(RewrittenText("Hello there!")), check.old


def test_a_user_who_takes_leave_asks_for_nothing_more(people: tuple[Example, ...]) -> None:
    for one in people[:5]:
        turns, answers = (*one.turns, "Thanks, that is all."), (*one.answers, "You are welcome.")
        check = Check(replace(one, turns=turns, answers=answers, acts=(*one.acts, "answer")), len(one.turns))
        assert check.fault(RewrittenText("Great, I need nothing else.")).startswith("it denies")
        assert check.fault(RewrittenText("Great, thank you so much!")) == ""
        assert check.fault(RewrittenText(f"{check.old} Please freeze my card, too.")).startswith("a wish is new")


def test_what_is_done_is_not_denied_and_what_is_refused_not_promised(people: tuple[Example, ...]) -> None:
    refused = 0
    for check in checks(people):
        if check.act == "call":
            assert check.fault(RewrittenText(f"{check.old} (but never that)")).startswith("it denies")
        if check.act == "decline" and check.speaker == "assistant":
            about = sorted(one for one in topic_words(check.old) & all_topics() if not DENIAL.search(one))
            done = f"Sure, that is done. {' '.join(check.values)} {' '.join(about)}"
            assert check.fault(RewrittenText(done)).startswith("it denies"), done
            refused += 1
    assert refused


def test_a_question_back_asks_for_the_same_thing(people: tuple[Example, ...]) -> None:
    questions = [check for check in checks(people) if check.act == "ask" and check.speaker == "assistant"]
    assert questions
    for check in questions:
        assert check.fault(RewrittenText(check.old.rstrip("?") + "."))
        assert check.fault(RewrittenText(" ".join([*check.values, "Which colour do you like?"])))


def test_a_user_who_leaves_something_open_names_nothing_from_before(people: tuple[Example, ...]) -> None:
    example, named = next((one, value) for one in people for value in Check(one, 0).values if value[-1].isdigit())
    turns, answers = (*example.turns, "Show me one of them."), (*example.answers, "Which one do you mean?")
    faults: dict[Act, str] = {"ask": "a value is new", "call": ""}
    for act, fault in faults.items():
        one = replace(example, turns=turns, answers=answers, acts=(*example.acts, act))
        assert Check(one, len(example.turns)).fault(RewrittenText(f"Show me one of them, {named}."))[:14] == fault


def test_every_value_of_a_call_that_a_turn_says_has_to_stay(chains: list[Example]) -> None:
    for example in chains:
        for step in example.steps:
            for value in (step.calls[0].arguments or {}).values():
                if isinstance(value, str) and f" {value} " in example.turns[step.turn]:
                    assert value in " | ".join(values_said(example, step.turn))


def test_days_stay_as_the_user_says_them(people: tuple[Example, ...]) -> None:
    dated = [example for example in people if example.today]
    assert dated and all(long_day(date.fromisoformat(one.today)) in values_said(one, 0) for one in dated)
    values = {value for check in checks(people) for value in check.values}
    assert any("tomorrow" in value or "day at " in value for value in values)


@pytest.mark.parametrize("text", ["", "  \n ", "\x00", "Look:\u202e"])
def test_words_that_are_none_are_refused(text: str, examples: tuple[Example, ...]) -> None:
    assert Check(examples[0], 0).fault(RewrittenText(text)).startswith("empty")


def test_a_name_of_a_tool_or_field_or_a_flood_of_words_is_refused(people: tuple[Example, ...]) -> None:
    for check in checks(people[:10]):
        assert (
            check.fault(RewrittenText(f"{check.old} With transfer_money."))
            == "the name of a tool or a field: transfer_money"
        )
        assert check.fault(RewrittenText(check.old + " please" * 400)).startswith("too long")


def test_what_leaks_is_a_name_with_an_underscore_or_a_tools_full_name() -> None:
    assert leaks("Pay from my account, then repost it.") == {"repost"}
    assert leaks("Call list_accounts with booking_id.") == {"list_accounts", "booking_id"}
    assert leaks("Open notes_old.txt and user_notes.txt", said="notes_old.txt") == {"user_notes"}
    assert all(leaks(f"Do {name} now") == {name} for name in TOOLS)
