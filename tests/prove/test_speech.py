"""Ways to say values, and the names of entities: each text is distinct, and the resolver understands it."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps, loads
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw
from mcp_servers.core.phrases import EntityPhrases, Phrases, ValuePhrases
from mcp_servers.world import World
from training_worker.core.trajectory import Example, Step, ToolCall, WorldRef
from training_worker.dataflow.resolver import list_unresolved_values
from training_worker.dataflow.speech import content_words, forms, phrases_for
from training_worker.synthesis.dialogue import gives_reason
from training_worker.synthesis.referents import descriptions
from training_worker.synthesis.replies import convert_to_second_person, decline, report, tool_title

PHRASES = Phrases(
    values={
        "amount": ValuePhrases(money=True),
        "nights": ValuePhrases(unit=("night", "nights")),
        "memo": ValuePhrases(quoted=True),
        "to": ValuePhrases(words={"open": ("open", "wide open"), "true": ("yes please",)}),
    },
    entities={
        "CardId": EntityPhrases(
            noun=("card", "cards"),
            names=("my {kind} card", "the card for {name}"),
            most={"limit": ("the card with the highest limit",)},
            least={"limit": ("the card with the lowest limit",)},
        )
    },
)


@pytest.mark.parametrize(
    ("name", "value", "today", "said"),
    [
        ("amount", 12_000, "", ("120 euros", "€120")),
        ("amount", 100, "", ("1 euro", "€1")),
        ("amount", 123_450, "", ("1,234.50 euros", "€1,234.50")),
        ("amount", -500, "", ("-5 euros", "-€5")),
        ("nights", 1, "", ("1 night",)),
        ("nights", 3, "", ("3 nights",)),
        ("memo", "rent", "", ('"rent"',)),
        ("to", "open", "", ("open", "wide open")),
        ("to", True, "", ("yes please",)),
        ("other", True, "", ()),
        ("other", "2026-03-05", "2026-03-04", ("tomorrow", "5 March 2026")),
        ("other", "2026-03-05T14:00:00Z", "", ("5 March 2026 at 14:00",)),
        ("nights", [1, 2], "", ("1 night and 2 nights",)),
        ("other", "  ", "", ()),
        ("other", None, "", ()),
    ],
)
def test_a_value_is_said_as_people_say_it(name: str, value: Any, today: str, said: tuple[str, ...]) -> None:
    assert forms(PHRASES, name, value, today) == said


def saying(words: str, name: str, arguments: dict[str, Any]) -> Example:
    """Return a conversation of one turn and one call."""
    return Example(
        id="train-0",
        kind="chain",
        split="train",
        world=WorldRef(0, (TOOLS[name][0].name,)),
        turns=(words,),
        steps=(Step((ToolCall(name, arguments),), 0, ("{}",)),),
        edges=(),
        candidates=(name,),
        answers=("",),
        digests=(),
        fingerprint="",
    )


def choices() -> Iterator[tuple[str, str, Any]]:
    """Yield every allowed value of every parameter, and some amounts and numbers with a unit."""
    for name, (_, tool) in TOOLS.items():
        phrases = phrases_for(name)
        for parameter, schema in tool.input_schema["properties"].items():
            parts = (schema, *schema.get("anyOf", ()))
            yield from ((name, parameter, value) for part in parts for value in part.get("enum", ()))
            said = phrases.values.get(parameter)
            if said and (said.money or said.unit) and any(part.get("type") == "integer" for part in parts):
                yield from ((name, parameter, value) for value in (100, 12_000, 4_990))


def test_the_resolver_understands_every_way_to_say_a_choice_or_an_amount() -> None:
    heard = 0
    for name, parameter, value in choices():
        for way in forms(phrases_for(name), parameter, value):
            assert list_unresolved_values(saying(f"It is to be {way}.", name, {parameter: value})) == [], (
                name,
                parameter,
                way,
            )
            heard += 1
    assert heard > 1_000


def test_another_amount_is_not_understood() -> None:
    assert list_unresolved_values(saying("Move 120 euros.", "transfer_money", {"amount": 1_200}))
    assert not list_unresolved_values(saying("Move 12 euros.", "transfer_money", {"amount": 1_200}))


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["debit", "credit", "travel"]),
            "name": st.sampled_from(["Ana Diaz", "Bo Lund", "CRD-1234", ""]),
            "limit": st.integers(1, 4),
        }
    ),
    min_size=1,
    max_size=6,
)


@given(ROWS)
def test_a_description_fits_one_row_alone(rows: list[dict[str, Any]]) -> None:
    said = [{one.text for one in descriptions(PHRASES, "CardId", row, rows)} for row in rows]
    for at, own in enumerate(said):
        assert not any(own & other for other in said[:at])
        assert not any("CRD-1234" in text for text in own), "nobody names a thing by an id"
    if len(rows) == 1:
        assert "the card" in said[0]


@given(ROWS)
def test_a_superlative_names_the_row_that_is_alone_at_the_end(rows: list[dict[str, Any]]) -> None:
    limits = [row["limit"] for row in rows]
    for row in rows:
        texts = {one.text for one in descriptions(PHRASES, "CardId", row, rows) if one.kind == "superlative"}
        alone = len(rows) > 1 and limits.count(row["limit"]) == 1
        assert ("the card with the highest limit" in texts) == (alone and row["limit"] == max(limits))
        assert ("the card with the lowest limit" in texts) == (alone and row["limit"] == min(limits))


def test_what_has_no_phrases_has_no_name() -> None:
    assert descriptions(PHRASES, "AccountId", {"kind": "debit"}, [{"kind": "debit"}]) == []


@pytest.mark.parametrize(
    ("words", "answered"),
    [
        ("my savings account", "your savings account"),
        ("the trip that I share with me", "the trip that you share with you"),
        ('"my note"', '"my note"'),
    ],
)
def test_the_assistant_speaks_of_what_is_the_user_s(words: str, answered: str) -> None:
    assert convert_to_second_person(words) == answered


@pytest.mark.parametrize("seed", range(10))
def test_a_report_names_what_was_observed_and_fills_every_slot(seed: int) -> None:
    rows = '[{"id":"ACC-1","kind":"savings","balance":12000,"currency":"EUR","status":"open"}]'
    text = report("list_accounts", {}, {}, rows, Draw(seed))
    assert "120 euros" in text and "{" not in text
    nothing = report("list_accounts", {"status": "frozen"}, {}, "[]", Draw(seed))
    assert nothing in ("No account fits that.", "You have no such account.")


def test_a_refusal_says_what_cannot_be_done() -> None:
    for name in TOOLS:
        assert tool_title(name) in decline(name, ("list_accounts", "get_account"), Draw(name))
        assert " " in tool_title(name)
    assert tool_title("switch_smart_device") == "turn a light, plug, thermostat, speaker, camera or sprinkler on or off"
    assert tool_title("create_archive").endswith("into a new .zip archive")


def test_a_refusal_says_it_in_the_words_of_a_request() -> None:
    said = {decline("freeze_card", (), Draw(seed), {"card": "my virtual card"}) for seed in range(20)}
    assert all("your virtual card" in text for text in said) and len(said) > 8


def test_what_somebody_quotes_is_not_turned_to_the_other_person() -> None:
    assert convert_to_second_person('my post "our first demo"') == 'your post "our first demo"'


def test_a_refusal_offers_what_is_near_and_nothing_else() -> None:
    far = {decline("pay_payee", ("read_file", "get_flight"), Draw(seed)) for seed in range(40)}
    near = {decline("pay_payee", ("list_accounts", "get_account", "read_file"), Draw(seed)) for seed in range(40)}
    assert not any(tool_title("read_file") in text for text in far | near)
    assert any(tool_title("list_accounts") in text for text in near)


def test_what_is_left_out_of_a_list_is_said_and_a_page_is_not_counted() -> None:
    deals = {"deals": [], "count": 31, "amount": 310_000, "expected": 100_000}
    rows = loads(World.open(1, ("crm",), "default").call("list_sales_deals", {}).text)["deals"]
    text = report("list_sales_deals", {}, {}, dumps(deals | {"deals": rows}), Draw(3))
    assert "among others" in text
    accounts = World.open(1, ("banking",), "small").call("list_accounts", {"limit": 2}).text
    assert not any("2 " in report("list_accounts", {"limit": 2}, {}, accounts, Draw(seed))[:14] for seed in range(20))


def test_a_list_that_may_go_on_is_called_the_first_ones() -> None:
    world = World.open(1, ("calendar",), "default")
    page, all_of_few = world.call("list_events", {}).text, dumps(loads(world.call("list_events", {}).text)[:2])
    assert "(the first 5)" in report("list_events", {}, {}, page, Draw(1))
    assert "the first" not in report("list_events", {}, {}, all_of_few, Draw(1))
    assert "the first" not in report("list_events", {"limit": 5}, {}, page, Draw(1)), "the user knows how many"


def test_a_list_that_may_go_on_is_marked_among_several() -> None:
    stays = [{"hotel_name": f"Inn {at}", "city": "Rome", "name": "Ana Roy", "arrival": "2026-03-05"} for at in range(5)]
    flight = {"number": "MK 1", "to_city": "Rome", "name": "Ana Roy", "departs": "2026-03-05T09:30:00Z"}
    text = report("get_itinerary", {}, {}, dumps({"flights": [flight], "stays": stays, "total": 2_000}), Draw(1))
    assert "Inn 4 in Rome for Ana Roy from 5 March 2026 (the first 5)" in text and text.count("first") == 1


def test_columns_that_hold_shortened_lists_are_all_there_are() -> None:
    columns = [{"status": f"column {at}", "count": 1, "issues": [{"id": "ISS-1"}]} for at in range(5)]
    board = {"id": "SPRT-1", "name": "GAM 28", "end": "2026-05-10", "points": 53, "done": 14, "capacity": 61}
    assert "the first" not in report("view_sprint_board", {}, {}, dumps(board | {"columns": columns}), Draw(1))


def test_a_report_covers_all_lists_of_a_result() -> None:
    flight = {"number": "MK 1", "to_city": "Rome", "name": "Ana Roy", "departs": "2026-03-05T09:30:00Z"}
    stay = {"hotel_name": "Nordlys", "city": "Rome", "name": "Ana Roy", "arrival": "2026-03-05"}
    for flights, stays in (([flight], [stay]), ([], [stay]), ([flight], [])):
        text = report("get_itinerary", {}, {}, dumps({"flights": flights, "stays": stays, "total": 2_000}), Draw(1))
        assert ("flight MK 1" in text) == bool(flights) and ("Nordlys" in text) == bool(stays)


def test_a_report_says_what_the_user_said_beyond_what_is_needed() -> None:
    result = dumps({"side": "buy", "symbol": "SELO", "quantity": 6, "filled": 0, "status": "open"})
    arguments, words = {"order": "SOR-1", "price": 3600}, {"order": "my SELO order", "price": "€36"}
    assert all("€36" in report("replace_stock_order", arguments, words, result, Draw(seed)) for seed in range(9))


@pytest.mark.parametrize(
    ("phrase", "says_why"),
    [
        ("I lost my wallet. Block {card}.", True),
        ("My pockets are empty, so block {card}.", True),
        ("block {card} because it is gone", True),
        ("Block {card}. The code is {code}.", False),
        ("My bid on {listing}: {amount}.", False),
        ("write {text} so that everybody sees it", False),
    ],
)
def test_a_request_says_why_in_a_clause_or_a_sentence_of_its_own(phrase: str, says_why: bool) -> None:
    assert gives_reason(phrase) == says_why


def test_a_report_of_an_empty_result_names_only_what_was_searched_for() -> None:
    words = {"hashtag": "baking", "author": "hugo@delta.example"}
    arguments = dict(words)
    wide = {report("search_posts", {"hashtag": "baking"}, {"hashtag": "baking"}, "[]", Draw(seed)) for seed in range(9)}
    narrow = {report("search_posts", arguments, words, "[]", Draw(seed)) for seed in range(9)}
    assert any("baking" in text for text in wide) and all("hugo" in text or "baking" not in text for text in narrow)


def test_a_refusal_is_in_words_of_the_request() -> None:
    words, shared = {"invoice": "the Workshop invoice"}, 0
    for clause in phrases_for("get_customer_invoice").tools["get_customer_invoice"].clauses:
        request = clause.split("[")[0].strip()
        said = {decline("get_customer_invoice", (), Draw(seed), words, request) for seed in range(9)}
        own = content_words(request.replace("{invoice}", ""))
        assert all(own <= content_words(text) for text in said), (request, said)
        shared += bool(own)
    assert shared >= 3
