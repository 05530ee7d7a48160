"""The effect of a wish on the results of earlier wishes of its conversation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mcp_servers.world import World
from training_worker.synthesis.dialogue import steps
from training_worker.synthesis.goals import is_circular
from training_worker.synthesis.plan import Plan, PlannedCall, Referent, Wish, invalidates_reports, takes_back
from training_worker.synthesis.referents import Description
from training_worker.synthesis.tool_results import ToolResult

DRAFT = {"to": "amir@acme.example", "subject": "fire drill", "body": "It is on Monday"}


def run(world: World, *calls: tuple[str, dict[str, Any]]) -> list[PlannedCall]:
    """Make calls, each for a wish of its own."""
    made = []
    for wish, (tool, arguments) in enumerate(calls):
        before = world.fork()
        reply = world.call(tool, arguments)
        assert reply.ok, reply.text
        made.append(PlannedCall(tool, arguments, ToolResult(tool, reply.text), wish, frozenset(), before, world.fork()))
    return made


@pytest.fixture
def mail() -> tuple[World, dict[str, str], str]:
    """Return a mailbox, a draft to write, and the id that it will have."""
    world = World.open(3, ("email",))
    address = world.fork().call("look_up_address", {"name": "a"}).data[0]["id"]
    draft = DRAFT | {"to": address}
    return world, draft, world.fork().call("create_draft", draft).data["id"]


def test_a_text_that_was_just_given_is_taken_back_by_another_one(mail: tuple[World, dict[str, str], str]) -> None:
    world, draft, id = mail
    calls = run(world, ("create_draft", draft), ("update_draft", {"draft": id, "body": "It is on Friday"}))
    assert takes_back(calls, 1) and not takes_back(calls, 0)


def test_to_send_what_was_written_takes_nothing_back(mail: tuple[World, dict[str, str], str]) -> None:
    world, draft, id = mail
    assert not takes_back(run(world, ("create_draft", draft), ("send_draft", {"draft": id})), 1)


def test_to_delete_what_was_written_takes_it_back(mail: tuple[World, dict[str, str], str]) -> None:
    world, draft, id = mail
    assert takes_back(run(world, ("create_draft", draft), ("delete_draft", {"draft": id})), 1)


def test_a_name_that_another_one_of_the_wish_explains_is_circular() -> None:
    file = Referent("/home/noor/plan.md", "FilePath", Description("the file plan.md", "attributes", ("name",)))
    tag = Referent("to-print", "Tag", Description("the tag of the file plan.md", "only"))
    assert is_circular({"file": [file], "tag": [tag]}) and not is_circular({"tag": [tag]})


def plan_of(calls: list[PlannedCall]) -> Plan:
    return Plan([Wish(call.tool, "", {}, [at], "opening") for at, call in enumerate(calls)], calls)


def test_a_sent_draft_outdates_its_creation_and_the_list_of_drafts(
    mail: tuple[World, dict[str, str], str],
) -> None:
    world, draft, id = mail
    plan = plan_of(run(world, ("create_draft", draft), ("list_drafts", {}), ("send_draft", {"draft": id})))
    assert (
        invalidates_reports(plan, 2, [0])
        and invalidates_reports(plan, 2, [1])
        and not invalidates_reports(plan, 1, [0])
    )


def test_a_write_leaves_the_reports_on_other_things_true(mail: tuple[World, dict[str, str], str]) -> None:
    world, draft, id = mail
    plan = plan_of(run(world, ("list_labels", {}), ("create_draft", draft), ("delete_draft", {"draft": id})))
    assert (
        not invalidates_reports(plan, 1, [0])
        and not invalidates_reports(plan, 2, [0])
        and invalidates_reports(plan, 2, [1])
    )


def test_a_day_that_was_just_given_is_taken_back_by_another_one() -> None:
    world = World.open(1, ("travel_booking",))
    first, second = (f"{world.now + timedelta(days=ahead):%Y-%m-%d}" for ahead in (20, 25))
    existing_stay = world.fork().call("get_itinerary", {}).data["stays"][0]
    hotel = next(one["id"] for one in world.fork().call("search_hotels", {"city": existing_stay["city"]}).data)
    room = world.fork().call("list_free_rooms", {"hotel": hotel, "arrival": first, "nights": 1}).data[0]["id"]
    booking = {"room": room, "traveller": existing_stay["traveller"], "arrival": first, "nights": 1}
    stay = world.fork().call("book_hotel_room", booking).data["id"]
    change = {"stay": stay, "arrival": second, "nights": 1}
    calls = run(world, ("book_hotel_room", booking), ("change_hotel_stay", change))
    assert takes_back(calls, 1) and invalidates_reports(plan_of(calls), 1, [0])


def test_a_requested_read_stays_behind_its_write_and_only_look_ups_move_first(
    mail: tuple[World, dict[str, str], str],
) -> None:
    world, draft, _ = mail
    plan = plan_of(run(world, ("create_draft", draft), ("list_labels", {})))
    assert steps(plan, [0, 1]) == [[0], [1]]
    plan.wishes[1].calls = []
    assert steps(plan, [0, 1]) == [[1], [0]], "nobody asks for it: it is looked up"
