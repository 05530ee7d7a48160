"""The search for another way to serve a request: what it finds, what it does not, and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.world import World
from training_worker.graph.sampler import contexts
from training_worker.synthesis.decline_proof import Search, Unsearchable, effect, facts, search

SEED = 5


@dataclass(frozen=True)
class Call:
    """A hidden call."""

    tool: str
    arguments: dict[str, Any]


def opened(*servers: str) -> World:
    return World.open(SEED, servers)


def look(world: World, call: Call, *tools: str, graph: nx.DiGraph | None = None, **options: Any) -> Search:
    """Search with these tools, or with all others of the world's servers."""
    names = tools or tuple(name for name in world.tools() if name != call.tool)
    known = {name: contexts(world, [name], 0) for name in world.sessions}
    return search(world, names, call, graph if graph is not None else nx.DiGraph(), known, **options)


def names(found: Search) -> list[str]:
    return [call.name for call in found.by]


def first(world: World, tool: str, **wanted: Any) -> dict[str, Any]:
    """Return the first row with these values that a tool lists."""
    rows = world.fork().call(tool, {}).data
    return next(row for row in rows if all(row.get(name) == value for name, value in wanted.items()))


def account(world: World) -> Call:
    return Call("get_account", {"account": first(world, "list_accounts")["id"]})


BALANCE = "What is the balance of {account}?"


def test_the_balance_of_an_account_is_served_by_the_list_of_accounts() -> None:
    world = opened("banking")
    found = look(world, account(world), phrase=BALANCE)
    assert found.served and names(found) == ["list_accounts"]


def test_how_much_is_left_on_an_account_may_mean_its_balance() -> None:
    world = opened("banking")
    assert look(world, account(world), phrase="tell me how much is left on {account}").served


@pytest.mark.parametrize("phrase", ["find out the IBAN of {account}", "show me the details of {account}"])
def test_what_no_other_tool_shows_of_an_account_is_not_served(phrase: str) -> None:
    world = opened("banking")
    found = look(world, account(world), phrase=phrase)
    assert not found.served and found.by == () and not found.exhausted


def test_the_balance_is_not_served_by_the_tools_of_other_servers() -> None:
    world = opened("banking", "calendar", "issue_tracker")
    others = [name for server in ("calendar", "issue_tracker") for name in SERVERS[server].tools]
    assert not look(world, account(world), *others, phrase=BALANCE).served


def test_a_list_is_served_by_single_look_ups_whose_ids_the_visible_tools_give() -> None:
    world = opened("trading")
    linked = nx.DiGraph((one, other) for one in world.tools() for other in world.tools())
    found = look(world, Call("list_portfolios", {}), graph=linked)
    assert found.served and set(names(found)) == {"get_portfolio"}
    assert not look(world, Call("list_portfolios", {}), "get_portfolio", graph=linked).served


def test_a_visible_tool_serves_its_own_request() -> None:
    world = opened("banking")
    assert names(look(world, account(world), "get_account")) == ["get_account"]


def test_a_card_is_not_frozen_by_the_list_of_cards_nor_by_any_other_tool() -> None:
    world = opened("banking")
    call = Call("freeze_card", {"card": first(world, "list_cards", status="active")["id"]})
    assert not look(world, call, "list_cards").served
    assert not look(world, call).served


def cart() -> tuple[World, dict[str, Any]]:
    """Return a shop with something in its cart, and its line there."""
    world = opened("shopping")
    return world, world.fork().call("show_shop_cart", {}).data["lines"][0]


def test_more_of_what_is_in_the_cart_is_ordered_by_its_quantity_and_the_other_way_round() -> None:
    world, line = cart()
    more = Call("add_to_shop_cart", {"item": line["item"], "quantity": 2})
    assert names(look(world, more)) == ["set_shop_cart_quantity"]
    total = Call("set_shop_cart_quantity", {"line": line["id"], "quantity": line["quantity"] + 2})
    assert names(look(world, total)) == ["add_to_shop_cart"]


def test_an_event_that_is_cancelled_and_created_again_is_not_the_event_that_is_renamed() -> None:
    world = opened("calendar")
    event = next(row for row in world.fork().call("list_events", {}).data if renames(world, row["id"]))
    assert not look(world, Call("rename_event", {"event": event["id"], "title": "party"})).served


def renames(world: World, event: str) -> bool:
    return world.fork().call("rename_event", {"event": event, "title": "party"}).ok


def test_an_issue_is_moved_along_by_no_tool_but_one() -> None:
    world = opened("issue_tracker")
    rows = world.fork().call("search_issues", {"query": 'status:"to do"'}).data
    calls = [Call("transition_issue", {"issue": row["id"], "status": "in progress"}) for row in rows]
    call = next(one for one in calls if world.fork().call(one.tool, one.arguments).ok)
    assert not look(world, call).served


def test_an_email_is_sent_by_a_draft_that_is_written_and_sent(graph: nx.DiGraph) -> None:
    world = opened("email")
    words = {"to": "nils.kim@acme.example", "subject": "lunch", "body": "Shall we meet at noon?"}
    found = look(world, Call("send_email", words), graph=graph)
    assert names(found) == ["create_draft", "send_draft"] and found.by[0].arguments == words


def test_the_values_of_the_hidden_call_are_tried_first() -> None:
    world = opened("maps")
    one, other = (row["id"] for row in world.fork().call("search_places", {"limit": 2}).data)
    call = Call("get_distance_matrix", {"origins": [other], "destinations": [one], "mode": "walking"})
    found = look(world, call, "get_directions")
    assert found.calls == 1 and found.by[0].arguments == {"origin": other, "destination": one, "mode": "walking"}


def test_a_search_ends_with_its_budget_and_says_so() -> None:
    world = opened("banking")
    call = account(world)
    full = look(world, call)
    assert not full.exhausted and full.calls > 10
    for budget in (0, 1, 10, full.calls - 1):
        cut = look(world, call, budget=budget)
        assert cut == Search(False, (), budget, True)
    assert look(world, call, budget=full.calls) == full


def test_a_search_that_finds_something_is_not_exhausted() -> None:
    world, line = cart()
    call = Call("add_to_shop_cart", {"item": line["item"], "quantity": 2})
    full = look(world, call)
    assert look(world, call, budget=full.calls) == full and not full.exhausted


@pytest.mark.parametrize("tool", ["get_account", "freeze_card"])
def test_a_search_leaves_the_world_as_it_is_and_gives_the_same_twice(tool: str) -> None:
    world = opened("banking")
    card = first(world, "list_cards", status="active")["id"]
    call = account(world) if tool == "get_account" else Call(tool, {"card": card})
    digest, steps = world.digest(), [len(one.history()) for one in world.sessions.values()]
    assert look(world, call) == look(world, call) == look(opened("banking"), call)
    assert (world.digest(), [len(one.history()) for one in world.sessions.values()]) == (digest, steps)


def test_a_request_that_is_refused_or_shows_nothing_cannot_be_searched() -> None:
    world = opened("banking", "calendar")
    with pytest.raises(Unsearchable, match="is refused"):
        look(world, Call("get_account", {"account": "ACC-0000"}))
    with pytest.raises(Unsearchable, match="shows nothing"):
        look(world, Call("search_events", {"query": "no such words"}))


def test_values_that_the_request_rests_on_are_no_facts_unless_it_names_their_field() -> None:
    call, reply = Call("get_account", {"account": "ACC-1"}), {"id": "ACC-1", "balance": 1200, "iban": "DE 12"}
    assert [values(one) for one in facts(call, reply)] == [{1200, "DE 12"}]
    assert [values(one) for one in facts(call, reply, frozenset({1200}))] == [{"DE 12"}]
    assert [values(one) for one in facts(call, reply, frozenset({1200}), BALANCE)] == [{1200}]
    assert [values(one) for one in facts(call, reply, frozenset({1200, "DE 12"}))] == [{1200, "DE 12"}]


def values(wanted: Sequence[Any] | frozenset[Any]) -> set[Any]:
    return {fact.key[2] for fact in wanted}


def test_effects_are_equal_whenever_and_under_whatever_id_a_row_is_created() -> None:
    world = opened("email")
    words = {"to": "nils.kim@acme.example", "subject": "lunch", "body": "Shall we meet at noon?"}
    once, later = world.fork(), world.fork()
    once.call("send_email", words)
    draft = later.call("create_draft", words | {"body": "Shall we?"}).data["id"]
    later.call("delete_draft", {"draft": draft})
    assert later.now > world.now and effect(world, later) == ()
    later.call("send_email", words)
    assert effect(world, once) == effect(world, later) and once.digest() != later.digest()
    later.call("send_email", words)
    assert effect(world, once) != effect(world, later)
