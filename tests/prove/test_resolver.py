"""Resolver: every argument value comes from a user turn, an earlier observation or a default, or is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from training_worker.core.trajectory import Example, ForeignTool, Step, ToolCall, WorldRef
from training_worker.dataflow.resolver import Mention, ObservedLeaf, Origin, list_unresolved_values, resolve

Call = tuple[str, dict[str, Any], Any]

CARDS = [
    {"id": "CRD-11", "account": "ACC-1", "kind": "debit", "monthly_limit": 50000, "status": "active"},
    {"id": "CRD-12", "account": "ACC-2", "kind": "credit", "monthly_limit": 200000, "status": "active"},
    {"id": "CRD-13", "account": "ACC-2", "kind": "virtual", "monthly_limit": 80000, "status": "frozen"},
    {"id": "CRD-14", "account": "ACC-1", "kind": "virtual", "monthly_limit": 50000, "status": "active"},
]
ACCOUNTS = [
    {"id": "ACC-1", "kind": "checking", "balance": 5000, "currency": "EUR", "status": "open"},
    {"id": "ACC-2", "kind": "savings", "balance": 7000, "currency": "EUR", "status": "open"},
]
PEOPLE = [
    {"id": "flora.garcia@acme.example", "name": "Flora Garcia", "company": "Acme"},
    {"id": "tessa.sato@acme.example", "name": "Tessa Sato", "company": "Acme"},
]
FOUND_FILES = {
    "files": [
        {"id": "/home/igor/notes.txt", "name": "notes.txt", "bytes": 4},
        {"id": "/home/igor/old/plan.txt", "name": "plan.txt", "bytes": 9},
        {"id": "/home/igor/new/plan.txt", "name": "plan.txt", "bytes": 9},
    ]
}


def example(*turns: str | Call, today: str = "", tools: tuple[ForeignTool, ...] = ()) -> Example:
    """A conversation of user turns and calls in their order; each call belongs to the turn before it."""
    said = tuple(one for one in turns if isinstance(one, str))
    steps, turn = [], -1
    for one in turns:
        if isinstance(one, str):
            turn += 1
        else:
            name, arguments, result = one
            steps.append(Step((ToolCall(name, arguments),), turn, (json.dumps(result),)))
    return Example(
        id="train-0",
        kind="chain",
        split="train",
        world=WorldRef(0, ("banking",)),
        turns=said,
        steps=tuple(steps),
        edges=(),
        candidates=(),
        answers=(),
        digests=(),
        fingerprint="",
        today=today,
        tools=tools,
    )


def one_call(said: str, tool: str, today: str = "", **arguments: Any) -> Example:
    return example(said, (tool, arguments, None), today=today)


def cards(said: str, card: str, *more: str) -> Example:
    """Return a conversation that lists the four cards, then freezes one or more."""
    return example(
        said, ("list_cards", {}, CARDS), *(("freeze_card", {"card": one}, {"id": one}) for one in (card, *more))
    )


def description(one: Example) -> str:
    """What singles out the entity of the last call."""
    assert list_unresolved_values(one) == []
    return resolve(one)[-1].description


def test_an_id_said_as_it_stands_is_from_the_user() -> None:
    one = one_call("Please freeze CRD-12 now.", "freeze_card", card="CRD-12")
    assert resolve(one) == [Origin(0, 0, "card", (), "CRD-12", "user", Mention(0, 14, 20))]


def test_an_id_inside_another_word_is_not_said() -> None:
    assert len(list_unresolved_values(one_call("Please freeze CRD-123.", "freeze_card", card="CRD-12"))) == 1


def test_a_value_said_in_a_later_turn_is_unresolved() -> None:
    late = example("Freeze my card.", ("freeze_card", {"card": "CRD-12"}, None), "I mean CRD-12.")
    assert list_unresolved_values(late) == [
        'step 0, freeze_card.card: no user turn up to there says "CRD-12", no earlier observation shows it, '
        "and it is no default"
    ]


MONEY = {
    "Cap CRD-1 at 120 euros.": 12000,
    "Cap CRD-1 at €120.": 12000,
    "Cap CRD-1 at EUR 120 a month.": 12000,
    "Cap CRD-1 at 12000 cents.": 12000,
    "Cap CRD-1 at 49.90 euros": 4990,
    "Cap CRD-1 at €49.90!": 4990,
    "Cap CRD-1 at €1,200, please.": 120000,
    "Cap CRD-1 at 1,200 euros.": 120000,
    "Cap CRD-1 at 1,200.50 Euros.": 120050,
    "Cap CRD-1 at twelve euros.": 1200,
}


@pytest.mark.parametrize(("said", "cents"), MONEY.items())
def test_money_is_said_in_a_currency(said: str, cents: int) -> None:
    assert list_unresolved_values(one_call(said, "set_card_limit", card="CRD-1", monthly_limit=cents)) == []
    assert len(list_unresolved_values(one_call(said, "set_card_limit", card="CRD-1", monthly_limit=cents + 1))) == 1


@pytest.mark.parametrize("said", ["12 euros", "120", "120 cents", "1,120 euros", "120.50 euros"])
def test_another_amount_does_not_say_it(said: str) -> None:
    assert (
        len(
            list_unresolved_values(
                one_call(f"Cap CRD-1 at {said}.", "set_card_limit", card="CRD-1", monthly_limit=12000)
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("said", "nights"),
    [("3 nights", 3), ("three nights", 3), ("Three nights", 3), ("1 night", 1), ("one night", 1), ("a night", 1)],
)
def test_numbers_are_said_in_digits_words_and_with_a_unit(said: str, nights: int) -> None:
    ask = f"{said} in STY-1, from 2026-05-08."
    assert (
        list_unresolved_values(one_call(ask, "change_hotel_stay", stay="STY-1", arrival="2026-05-08", nights=nights))
        == []
    )


@pytest.mark.parametrize(
    "said", ["from 3 May 2026", "from May 3", "at 3:30", "for 3 euros", "for 3.5 weeks", "as RM-3"]
)
def test_a_number_in_a_date_a_time_an_id_or_a_price_is_none(said: str) -> None:
    stay = one_call(
        f"Move STY-1 {said} to 2026-05-08.", "change_hotel_stay", stay="STY-1", arrival="2026-05-08", nights=3
    )
    assert [text.split(":")[0] for text in list_unresolved_values(stay)] == ["step 0, change_hotel_stay.nights"]


@pytest.mark.parametrize(
    "said",
    ["2026-05-08", "8 May 2026", "May 8, 2026", "8 May", "tomorrow", "2026-05-08T00:00:00Z", "8 May 2026 at 0:00"],
)
def test_dates_are_written_out_or_relative(said: str) -> None:
    value = "2026-05-08T00:00:00Z" if ":" in said else "2026-05-08"
    tool, name = ("list_transactions", "since") if ":" in said else ("change_hotel_stay", "arrival")
    assert list_unresolved_values(one_call(f"From {said} on.", tool, "2026-05-07", **{name: value})) == []
    assert (
        len(
            list_unresolved_values(
                one_call(f"From {said} on.", tool, "2026-05-07", **{name: value.replace("08", "09", 1)})
            )
        )
        == 1
    )


def test_a_relative_date_needs_the_day_of_today() -> None:
    assert len(list_unresolved_values(one_call("From tomorrow on.", "change_hotel_stay", arrival="2026-05-08"))) == 1


def test_choices_and_booleans_are_said_by_their_paraphrases() -> None:
    find = one_call(
        "Which Gadgets are available right now?", "search_shop_products", category="electronics", in_stock=True
    )
    assert [one.where for one in resolve(find)] == [Mention(0, 6, 13), Mention(0, 18, 37)]
    other = one_call("Which gadgets are sold out?", "search_shop_products", category="toys", in_stock=True)
    assert len(list_unresolved_values(other)) == 2


def test_texts_are_said_in_other_case_and_in_quotes() -> None:
    said = "Pay 5 euros from ACC-1 to ACC-2, note \u201cbirthday Gift\u201d."
    paid = {"source": "ACC-1", "target": "ACC-2", "amount": 500}
    assert list_unresolved_values(one_call(said, "transfer_money", memo="Birthday gift", **paid)) == []
    assert len(list_unresolved_values(one_call(said, "transfer_money", memo="Birthday gifts", **paid))) == 1


def test_a_search_is_for_any_words_that_the_user_said() -> None:
    said = "When are the project kickoffs?"
    assert list_unresolved_values(one_call(said, "search_events", query="kickoff Project")) == []
    assert len(list_unresolved_values(one_call(said, "search_events", query="project review"))) == 1


def test_each_element_of_a_list_has_its_own_origin() -> None:
    mail = ForeignTool("mail", "", {"properties": {"to": {"type": "array"}, "cc": {"type": "array", "default": ["x"]}}})
    call = ("mail", {"to": ["ann", "bob"], "cc": ["x"]}, None)
    found = resolve(example("Write to Ann.", call, tools=(mail,)))
    assert [(one.parameter, one.path, one.kind) for one in found] == [("to", (0,), "user"), ("cc", (0,), "default")]
    assert list_unresolved_values(example("Write to Ann.", call, tools=(mail,)))[0].startswith("step 0, mail.to[1]: ")


def test_a_default_could_have_been_left_out() -> None:
    assert resolve(one_call("Any shop goods?", "search_shop_products", limit=5))[0].kind == "default"
    assert len(list_unresolved_values(one_call("Any shop goods?", "search_shop_products", limit=6))) == 1


def test_an_earlier_observation_shows_a_value_and_a_later_one_does_not() -> None:
    show: Call = ("list_accounts", {}, ACCOUNTS)
    cap: Call = ("set_card_limit", {"card": "CRD-1", "monthly_limit": 7000}, {})
    earlier = example("Cap CRD-1 at what is on my savings account.", show, cap)
    assert resolve(earlier)[1].where == ObservedLeaf(0, 0, (1, "balance"))
    assert len(list_unresolved_values(example("Cap CRD-1 at what is on my savings account.", cap, show))) == 1


def test_a_value_of_another_type_is_not_observed() -> None:
    show: Call = ("list_accounts", {}, [{"id": "ACC-1", "balance": "7000"}])
    cap: Call = ("set_card_limit", {"card": "CRD-1", "monthly_limit": 7000}, {})
    assert len(list_unresolved_values(example("Cap CRD-1.", show, cap))) == 1


def test_a_small_number_or_a_choice_is_observed_only_under_its_own_name() -> None:
    stay = {"id": "STY-1", "nights": 2, "guests": 4}
    show: Call = ("get_hotel_stay", {"stay": "STY-1"}, stay)
    same = example("Look at STY-1.", show, ("change_hotel_stay", {"nights": 2}, {}))
    other = example("Look at STY-1.", show, ("change_hotel_stay", {"nights": 4}, {}))
    assert (len(list_unresolved_values(same)), len(list_unresolved_values(other))) == (0, 1)


def test_an_id_among_four_that_nothing_singles_out_is_unresolved() -> None:
    assert list_unresolved_values(cards("Freeze the card.", "CRD-12")) == [
        "step 1, freeze_card.card: CRD-12 is one of 4 cards shown by list_cards, "
        "and nothing the user says singles it out"
    ]


def test_a_name_filled_with_fields_singles_a_row_out() -> None:
    one = cards("I lost my credit card.", "CRD-12")
    assert resolve(one) == [
        Origin(1, 0, "card", (), "CRD-12", "observation", ObservedLeaf(0, 0, (1, "id")), "credit card")
    ]
    assert description(cards("Freeze the card with a monthly limit of €2,000.", "CRD-12")).endswith("€2,000")


def test_a_name_that_fits_two_rows_or_another_row_singles_none_out() -> None:
    assert len(list_unresolved_values(cards("Freeze my virtual card.", "CRD-13"))) == 1
    assert len(list_unresolved_values(cards("Freeze my credit card.", "CRD-13"))) == 1
    assert len(list_unresolved_values(cards("Freeze the card with a monthly limit of 500 euros.", "CRD-11"))) == 1


def test_a_superlative_singles_out_the_one_extreme_row() -> None:
    assert description(cards("Freeze the card with the highest monthly limit.", "CRD-12"))
    assert len(list_unresolved_values(cards("Freeze the card with the highest monthly limit.", "CRD-11"))) == 1


def test_a_tied_superlative_singles_none_out() -> None:
    assert len(list_unresolved_values(cards("Freeze the card with the lowest monthly limit.", "CRD-11"))) == 1


def test_a_name_may_hold_the_name_of_another_entity() -> None:
    said = "Freeze the virtual card for my savings account."
    freeze: Call = ("freeze_card", {"card": "CRD-13"}, {})
    assert description(example(said, ("list_accounts", {}, ACCOUNTS), ("list_cards", {}, CARDS), freeze))
    assert len(list_unresolved_values(example(said, ("list_cards", {}, CARDS), freeze))) == 1


def test_the_only_row_of_its_kind_needs_no_description() -> None:
    one = example("Show my card and freeze it.", ("list_cards", {}, CARDS[:1]), ("freeze_card", {"card": "CRD-11"}, {}))
    assert description(one) == "the only card shown"


def test_an_id_that_an_earlier_call_used_is_known() -> None:
    one = cards("Freeze the card and set its limit.", "CRD-13", "CRD-13")
    assert [text.split(",")[0] for text in list_unresolved_values(one)] == ["step 1"]
    assert resolve(one)[-1].description == "used before, in step 1"


def test_all_rows_or_all_with_a_value_are_used_together() -> None:
    assert list_unresolved_values(cards("Freeze them all.", "CRD-11", "CRD-12", "CRD-13", "CRD-14")) == []
    assert list_unresolved_values(cards("Freeze all virtual ones.", "CRD-13", "CRD-14")) == []
    assert list_unresolved_values(cards("First of all, freeze one of the cards, a virtual one.", "CRD-13", "CRD-14"))
    assert len(list_unresolved_values(cards("Freeze all of them.", "CRD-11", "CRD-12"))) == 2


def test_a_text_field_names_a_row_and_the_longer_name_wins() -> None:
    scenes = [{"id": "HSCN-1", "name": "movie"}, {"id": "HSCN-2", "name": "movie night"}]
    automations = [{"id": f"HAUTO-{one['id'][-1]}", "scene": one["id"], "scene_name": one["name"]} for one in scenes]

    def start(said: str, scene: str) -> Example:
        return example(said, ("list_home_automations", {}, automations), ("activate_home_scene", {"scene": scene}, {}))

    assert description(start("I want the scene for Movie Night.", "HSCN-2")) == "Movie Night"
    assert len(list_unresolved_values(start("I want the scene for movie night.", "HSCN-1"))) == 1


def test_an_address_is_known_by_the_name_beside_it() -> None:
    def invite(said: str, who: str) -> Example:
        attend: Call = ("invite_attendee", {"event": "EVT-1", "attendee": who}, {})
        return example(said, ("find_contacts", {}, PEOPLE), attend)

    assert description(invite("Invite Tessa Sato to EVT-1.", "tessa.sato@acme.example")) == "Tessa Sato"
    assert description(invite("Invite Tessa to EVT-1.", "tessa.sato@acme.example")) == "Tessa"
    assert len(list_unresolved_values(invite("Invite Tessa Sato to EVT-1.", "flora.garcia@acme.example"))) == 1


def test_an_entity_is_known_by_the_field_that_holds_it() -> None:
    meeting = {"id": "VMTG-1", "host": PEOPLE[0]["id"], "guests": PEOPLE}
    show: Call = ("get_video_meeting", {"meeting": "VMTG-1"}, meeting)
    invite: Call = ("invite_attendee", {"event": "EVT-1", "attendee": "flora.garcia@acme.example"}, {})
    assert description(example("Open VMTG-1 and invite the host to EVT-1.", show, invite)) == "host"
    assert len(list_unresolved_values(example("Open VMTG-1 and invite someone to EVT-1.", show, invite))) == 1


def test_a_path_is_known_by_its_end() -> None:
    def read(said: str, path: str) -> Example:
        return example(said, ("find_files", {"pattern": "*"}, FOUND_FILES), ("read_file_head", {"file": path}, {}))

    assert list_unresolved_values(read("* and then the top of notes.txt.", "/home/igor/notes.txt")) == []
    assert list_unresolved_values(read("* and then the top of old/plan.txt.", "/home/igor/old/plan.txt")) == []
    assert len(list_unresolved_values(read("* and then the top of plan.txt.", "/home/igor/old/plan.txt"))) == 1


def test_a_path_that_nothing_shows_needs_a_known_folder() -> None:
    path = "/home/igor/trips/rome.txt"
    assert list_unresolved_values(one_call("Read rome.txt in /home/igor/trips.", "read_file_head", file=path)) == []
    assert len(list_unresolved_values(one_call("Read rome.txt.", "read_file_head", file=path))) == 1


def test_a_tool_that_others_made_has_its_schema_alone() -> None:
    tool = ForeignTool(
        "book", "", {"properties": {"city": {"type": "string"}, "seats": {"type": "integer", "default": 2}}}
    )
    book: Call = ("book", {"city": "Rome", "seats": 2}, {})
    assert [one.kind for one in resolve(example("To Rome.", book, tools=(tool,)))] == ["user", "default"]


def test_an_observation_that_is_no_json_shows_nothing() -> None:
    broken = example("Freeze it.", ("list_cards", {}, None), ("freeze_card", {"card": "CRD-12"}, {}))
    text = Step(broken.steps[0].calls, 0, ("error: CRD-12",))
    assert len(list_unresolved_values(Example(**{**vars(broken), "steps": (text, broken.steps[1])}))) == 1
