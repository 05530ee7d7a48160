"""What the customer database does and refuses, checked through its own tools in one small world."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from calling import do, refused, small_worlds, world_with

from mcp_servers.core import Session
from mcp_servers.crm import server
from mcp_servers.crm.state import Crm, Deal, Product

TITLE = "cloud migration"


@pytest.fixture
def crm() -> Session[Crm]:
    return server.open(7, "small")


def worlds() -> Iterator[Session[Crm]]:
    return small_worlds(server)


def day(session: Session[Crm], days: int) -> str:
    return (session.state.now + timedelta(days=days)).date().isoformat()


def contact(session: Session[Crm], archived: bool = False) -> str:
    """A contact without open deals; of the archived ones any."""
    busy = {deal.contact for deal in session.state.deals if deal.is_open}
    return next(row.id for row in session.state.contacts if row.archived == archived and row.id not in busy)


def prospect(session: Session[Crm]) -> str:
    """A person who is neither contact nor lead."""
    state = session.state
    return next(row.id for row in state.people if row.id not in state.contacts and not state.leads.where(person=row.id))


def mine(session: Session[Crm], stage: str) -> Deal:
    return next(deal for deal in session.state.deals.where(stage=stage) if deal.owner == session.state.me)


def product(session: Session[Crm], least_discount: int = 0) -> Product:
    rows = session.state.products
    return next(row for row in rows if not row.discontinued and row.max_discount >= least_discount)


def new_deal(session: Session[Crm], person: str | None = None) -> Any:
    person = person or contact(session)
    return do(session, "create_sales_deal", contact=person, title=TITLE, close_on=day(session, 30))


def quoted(session: Session[Crm], deal: str, discount: int = 0, units: int = 20) -> Any:
    item = product(session, discount)
    return do(session, "quote_product", deal=deal, product=item.id, quantity=units, discount=discount)


def later(session: Session[Crm], days: int) -> None:
    """Let days pass: a note that much later."""
    note = {"person": contact(session), "kind": "note", "text": "wish a good start"}
    assert session.call("log_sales_activity", note, now=session.state.now + timedelta(days=days)).ok


def test_a_prospect_becomes_lead_contact_and_a_won_deal(crm: Session[Crm]) -> None:
    person = prospect(crm)
    lead = do(crm, "create_lead", person=person, source="referral")
    assert (lead["status"], lead["owner"], lead["person"]) == ("new", crm.state.me, person)
    assert refused(crm, "convert_lead", lead=lead["id"]) == "lead_not_contacted"
    do(crm, "log_sales_activity", person=person, kind="note", text="ask about the budget")
    assert refused(crm, "convert_lead", lead=lead["id"]) == "lead_not_contacted"
    do(crm, "log_sales_activity", person=person, kind="call", text="ask about the budget")
    assert crm.state.leads[lead["id"]].status == "contacted"
    companies = crm.state.companies.where(domain=person.split("@")[1])
    converted = do(crm, "convert_lead", lead=lead["id"], title=TITLE)
    assert (converted["status"], converted["contact"]) == ("converted", person)
    assert crm.state.contacts[person].company == companies[0].id
    [deal] = crm.state.deals.where(contact=person)
    assert (deal.title, deal.stage, deal.owner, deal.amount) == (TITLE, "qualification", crm.state.me, 0)
    assert deal.close_on.isoformat() == day(crm, 30)

    def move(stage: str) -> Any:
        return do(crm, "move_deal", deal=deal.id, stage=stage)

    assert refused(crm, "move_deal", deal=deal.id, stage="discovery") == "call_required"
    do(crm, "log_sales_activity", person=person, kind="call", text="plan a product demo", deal=deal.id)
    assert move("discovery")["stage"] == "discovery"
    assert refused(crm, "move_deal", deal=deal.id, stage="proposal") == "quote_not_sent"
    quote = quoted(crm, deal.id)
    assert refused(crm, "move_deal", deal=deal.id, stage="proposal") == "quote_not_sent"
    sent = do(crm, "send_quote", quote=quote["id"])
    assert (sent["status"], sent["valid_until"], sent["approved"]) == ("sent", day(crm, 14), False)
    move("proposal")
    assert refused(crm, "move_deal", deal=deal.id, stage="negotiation") == "meeting_required"
    do(crm, "log_sales_activity", person=person, kind="meeting", text="plan a product demo", deal=deal.id)
    move("negotiation")
    task = {"person": person, "kind": "task", "text": "send a case study", "deal": deal.id, "due": day(crm, 0)}
    task_id = do(crm, "log_sales_activity", **task)["id"]
    assert refused(crm, "move_deal", deal=deal.id, stage="won") == "open_tasks"
    assert do(crm, "complete_sales_task", task=task_id)["done"] is True
    assert move("won")["amount"] == quote["total"]
    seen = do(crm, "get_sales_deal", deal=deal.id)
    assert (seen["quote"]["status"], seen["tasks"], "next" in seen) == ("accepted", [], False)
    for stage in ("lost", "won", "discovery"):
        assert refused(crm, "move_deal", deal=deal.id, stage=stage) == "deal_closed"


def test_search_finds_people_companies_and_sales_people_by_words(crm: Session[Crm]) -> None:
    person = next(iter(crm.state.people))
    first, last = person.name.split()
    for query in (person.name, f"{last} {first}", f"{first.upper()} {person.company}"):
        assert [row["id"] for row in do(crm, "search_crm", query=query)["people"]] == [person.id]
    assert do(crm, "search_crm", query=f"{first} nowhere")["people"] == []
    found = do(crm, "search_crm", query=person.company)
    assert {row["domain"] for row in found["companies"]} == {person.id.split("@")[1]}
    assert len(found["companies"]) == 2
    member = list(crm.state.team)[-1]
    [seen] = do(crm, "search_crm", query=member.name)["team"]
    assert (seen["id"], seen["name"], seen["away"]) == (member.id, member.name, True)


def test_search_keeps_to_one_kind(crm: Session[Crm]) -> None:
    state = crm.state
    for kind, ids in {
        "contact": {row.id for row in state.contacts if not row.archived},
        "lead": {row.person for row in state.leads if row.is_open and not state.is_contact(row.person)},
    }.items():
        found = do(crm, "search_crm", kind=kind, limit=50)
        assert {row["id"] for row in found["people"]} == ids
        assert found["companies"] == found["team"] == []
    assert len(do(crm, "search_crm", kind="sales person")["team"]) == len(state.team)
    assert len(do(crm, "search_crm", kind="company", limit=50)["companies"]) == len(state.companies)
    everything = do(crm, "search_crm", limit=2)
    assert [len(everything[part]) for part in ("people", "companies", "team")] == [2, 2, 2]


def test_a_search_tells_how_many_contacts_and_how_much_room_there_is(crm: Session[Crm]) -> None:
    company = next(row for row in crm.state.companies if crm.state.contacts.where(company=row.id))
    [seen] = [row for row in do(crm, "search_crm", query=company.name)["companies"] if row["id"] == company.id]
    active = [row for row in crm.state.contacts.where(company=company.id) if not row.archived]
    assert seen["contacts"] == len(active)

    def room() -> int:
        return int(next(row["room"] for row in do(crm, "search_crm")["team"] if row["id"] == crm.state.me))

    before = room()
    new_deal(crm)
    assert room() == before - 1


def test_a_lead_is_of_somebody_new(crm: Session[Crm]) -> None:
    person = prospect(crm)
    do(crm, "create_lead", person=person, source="website")
    [seen] = do(crm, "search_crm", query=crm.state.people[person].name)["people"]
    [lead] = crm.state.leads.where(person=person)
    assert (seen["kind"], seen["lead"]) == ("lead", lead.id)
    assert refused(crm, "create_lead", person=person, source="webinar") == "lead_exists"
    assert refused(crm, "create_lead", person=contact(crm), source="website") == "duplicate_contact"
    colleague = list(crm.state.team)[1].email
    assert refused(crm, "create_lead", person=colleague, source="website") == "on_the_sales_team"
    assert refused(crm, "create_lead", person="nobody@acme.example", source="website") == "not_found"


def test_a_lead_is_converted_once_and_only_by_its_owner() -> None:
    def first(status: str, own: bool = True) -> tuple[Session[Crm], str]:
        return next(
            (session, lead.id)
            for session in worlds()
            for lead in session.state.leads.where(status=status)
            if (lead.owner == session.state.me) == own and not session.state.is_contact(lead.person)
        )

    session, lead = first("contacted")
    do(session, "convert_lead", lead=lead)
    assert not session.state.deals.where(contact=session.state.leads[lead].person)
    assert refused(session, "convert_lead", lead=lead) == "lead_already_converted"
    session, lead = first("contacted", own=False)
    assert refused(session, "convert_lead", lead=lead) == "not_the_owner"
    session, lead = first("disqualified")
    assert refused(session, "convert_lead", lead=lead) == "lead_disqualified"


def test_a_lead_of_a_contact_is_not_converted() -> None:
    session, lead = next(
        (session, row.id)
        for session in worlds()
        for row in session.state.leads
        if row.is_open and session.state.is_contact(row.person) and row.owner == session.state.me
    )
    assert refused(session, "convert_lead", lead=lead) == "duplicate_contact"


def test_an_archived_contact_takes_no_deals_until_a_new_lead_is_converted(crm: Session[Crm]) -> None:
    person = contact(crm)
    company = crm.state.contacts[person].company
    do(crm, "archive_crm_contact", contact=person)
    assert refused(crm, "archive_crm_contact", contact=person) == "contact_archived"
    deal = {"contact": person, "title": TITLE, "close_on": day(crm, 9)}
    assert refused(crm, "create_sales_deal", **deal) == "contact_archived"
    lead = do(crm, "create_lead", person=person, source="website")["id"]
    do(crm, "log_sales_activity", person=person, kind="meeting", text="agree on the next steps")
    do(crm, "convert_lead", lead=lead)
    assert crm.state.contacts[person].company == company
    do(crm, "create_sales_deal", **deal)
    assert refused(crm, "archive_crm_contact", contact=person) == "contact_has_open_deals"


def test_only_contacts_get_deals(crm: Session[Crm]) -> None:
    deal = {"title": TITLE, "close_on": day(crm, 9)}
    assert refused(crm, "create_sales_deal", contact=prospect(crm), **deal) == "not_a_contact"
    assert refused(crm, "archive_crm_contact", contact=prospect(crm)) == "not_a_contact"


def test_a_deal_is_new_and_closes_within_two_years(crm: Session[Crm]) -> None:
    person = contact(crm)
    deal = {"contact": person, "title": TITLE}
    assert refused(crm, "create_sales_deal", **deal, close_on=day(crm, 0)) == "in_the_past"
    assert refused(crm, "create_sales_deal", **deal, close_on=day(crm, 731)) == "too_far_ahead"
    made = do(crm, "create_sales_deal", **deal, close_on=day(crm, 730))
    assert (made["title"], made["stage"], made["amount"], made["owner"]) == (TITLE, "qualification", 0, crm.state.me)
    assert refused(crm, "create_sales_deal", **deal, close_on=day(crm, 1)) == "deal_exists"
    do(crm, "move_deal", deal=made["id"], stage="lost", loss_reason="price")
    do(crm, "create_sales_deal", **deal, close_on=day(crm, 1))


def test_nobody_opens_more_deals_than_allowed(crm: Session[Crm]) -> None:
    person, number = contact(crm), 0
    deal = {"contact": person, "close_on": day(crm, 9)}
    while crm.call("create_sales_deal", {**deal, "title": f"pilot {number}"}).ok:
        number += 1
    assert number >= 3 and refused(crm, "create_sales_deal", **deal, title=TITLE) == "owner_at_capacity"
    do(crm, "move_deal", deal=mine(crm, "negotiation").id, stage="lost", loss_reason="no budget")
    do(crm, "create_sales_deal", **deal, title=TITLE)


def test_entries_of_one_domain_are_merged_with_their_contacts_and_deals() -> None:
    session, deal, other = next(
        (session, deal, other.id)
        for session in worlds()
        for deal in session.state.deals
        for other in session.state.companies.where(domain=session.state.companies[deal.company].domain)
        if other.id != deal.company
    )
    stranger = next(row for row in session.state.companies if row.domain != session.state.companies[other].domain)
    assert refused(session, "merge_companies", company=other, duplicate=other) == "same_company"
    assert refused(session, "merge_companies", company=other, duplicate=stranger.id) == "not_duplicates"
    merged = do(session, "merge_companies", company=other, duplicate=deal.company)
    active = [row for row in session.state.contacts.where(company=other) if not row.archived]
    assert (merged["id"], merged["contacts"]) == (other, len(active))
    assert do(session, "get_sales_deal", deal=deal.id)["company"]["id"] == other
    assert refused(session, "merge_companies", company=other, duplicate=deal.company) == "not_found"


def test_the_pipeline_is_forecast_by_stage(crm: Session[Crm]) -> None:
    seen = do(crm, "list_sales_deals", limit=50)
    rows = [deal for deal in crm.state.deals if deal.is_open]
    chances = {"qualification": 10, "discovery": 25, "proposal": 50, "negotiation": 75}
    assert {row["id"] for row in seen["deals"]} == {deal.id for deal in rows}
    assert (seen["count"], seen["amount"]) == (len(rows), sum(deal.amount for deal in rows))
    assert seen["expected"] == sum(deal.amount * chances[deal.stage] for deal in rows) // 100
    days = [row["close_on"] for row in seen["deals"]]
    assert days == sorted(days)
    assert len(do(crm, "list_sales_deals", limit=2)["deals"]) == 2


def test_the_pipeline_is_narrowed_by_owner_stage_and_day(crm: Session[Crm]) -> None:
    own = [deal for deal in crm.state.deals if deal.is_open and deal.owner == crm.state.me]
    assert do(crm, "list_sales_deals", owner=crm.state.me)["count"] == len(own)
    last = max(deal.close_on for deal in own)
    until = {"owner": crm.state.me, "until": last.isoformat()}
    assert do(crm, "list_sales_deals", **until)["count"] == len(own)
    until["until"] = (last - timedelta(days=1)).isoformat()
    assert do(crm, "list_sales_deals", **until)["count"] == sum(deal.close_on < last for deal in own)
    do(crm, "move_deal", deal=own[0].id, stage="lost", loss_reason="competitor")
    lost = do(crm, "list_sales_deals", stage="lost", limit=50)
    assert own[0].id in [row["id"] for row in lost["deals"]] and lost["expected"] == 0
    assert refused(crm, "list_sales_deals", owner="SREP-x") == "not_found"


def test_stages_come_one_by_one_and_back_at_once() -> None:
    session = next(
        world for world in worlds() if not world.state.activities.where(deal=mine(world, "negotiation").id)[1:]
    )
    deal = mine(session, "negotiation").id
    assert refused(session, "move_deal", deal=deal, stage="negotiation") == "already_in_stage"
    assert do(session, "get_sales_deal", deal=deal)["next"] == "won"
    do(session, "move_deal", deal=deal, stage="qualification")
    assert do(session, "get_sales_deal", deal=deal)["next"] == "discovery"
    for stage in ("proposal", "negotiation", "won"):
        assert refused(session, "move_deal", deal=deal, stage=stage) == "stage_not_reachable"
    do(session, "move_deal", deal=deal, stage="discovery")


def test_a_deal_is_lost_for_a_reason_with_its_quote_and_tasks(crm: Session[Crm]) -> None:
    deal = new_deal(crm)
    quote = quoted(crm, deal["id"])["id"]
    task = {"person": deal["contact"], "kind": "task", "text": "send a case study", "deal": deal["id"]}
    task_id = do(crm, "log_sales_activity", **task, due=day(crm, 2))["id"]
    assert [row["id"] for row in do(crm, "get_sales_deal", deal=deal["id"])["tasks"]] == [task_id]
    assert refused(crm, "move_deal", deal=deal["id"], stage="lost") == "loss_reason_required"
    reason = {"stage": "discovery", "loss_reason": "price"}
    assert refused(crm, "move_deal", deal=deal["id"], **reason) == "reason_not_needed"
    do(crm, "move_deal", deal=deal["id"], stage="lost", loss_reason="price")
    assert do(crm, "get_sales_deal", deal=deal["id"])["loss_reason"] == "price"
    assert crm.state.quotes[quote].status == "declined"
    assert refused(crm, "complete_sales_task", task=task_id) == "task_done"
    assert refused(crm, "send_quote", quote=quote) == "deal_closed"
    item = product(crm)
    assert refused(crm, "quote_product", deal=deal["id"], product=item.id, quantity=20) == "deal_closed"
    call = {"person": deal["contact"], "kind": "call", "text": "wish a good start", "deal": deal["id"]}
    assert refused(crm, "log_sales_activity", **call) == "deal_closed"


def test_a_deal_is_handed_over_with_its_tasks_for_good() -> None:
    session, taker = next(
        (world, member)
        for world in worlds()
        for member in list(world.state.team)[1:-1]
        if member.deal_limit > len([deal for deal in world.state.deals.where(owner=member.id) if deal.is_open])
    )
    deal, me = new_deal(session), session.state.me
    task = {"person": deal["contact"], "kind": "task", "text": "send a case study", "due": day(session, 2)}
    task_id = do(session, "log_sales_activity", **task, deal=deal["id"])["id"]
    assert refused(session, "assign_deal", deal=deal["id"], owner=me) == "already_the_owner"
    away = list(session.state.team)[-1].id
    assert refused(session, "assign_deal", deal=deal["id"], owner=away) == "owner_away"
    assert do(session, "assign_deal", deal=deal["id"], owner=taker.id)["owner"] == taker.id
    assert do(session, "get_sales_deal", deal=deal["id"])["owner"] == {"id": taker.id, "name": taker.name}
    item = product(session).id
    assert refused(session, "complete_sales_task", task=task_id) == "not_the_owner"
    assert refused(session, "assign_deal", deal=deal["id"], owner=me) == "not_the_owner"
    assert refused(session, "move_deal", deal=deal["id"], stage="qualification") == "not_the_owner"
    assert refused(session, "quote_product", deal=deal["id"], product=item, quantity=20) == "not_the_owner"
    assert refused(session, "log_sales_activity", **task, deal=deal["id"]) == "not_the_owner"


def test_deals_of_somebody_away_are_taken_over_and_full_colleagues_take_none(crm: Session[Crm]) -> None:
    open_deal = next(row for row in crm.state.deals if row.is_open and row.owner == crm.state.me)
    away = next(row for row in crm.state.team if row.away)

    def hand_over(state: Crm) -> None:
        state.team.change(away.id, deal_limit=away.deal_limit + 1)
        state.deals.change(open_deal.id, owner=away.id)
        for row in state.activities.where(deal=open_deal.id):
            state.activities.change(row.id, owner=away.id)

    session = world_with(server, hand_over)
    deal = session.state.deals[open_deal.id]
    assert refused(session, "move_deal", deal=deal.id, stage=deal.stage) == "not_the_owner"
    do(session, "assign_deal", deal=deal.id, owner=session.state.me)
    assert refused(session, "move_deal", deal=deal.id, stage=deal.stage) == "already_in_stage"
    full = next(row for row in list(crm.state.team)[1:-1] if not row.away)
    taken = sum(deal.is_open for deal in crm.state.deals.where(owner=full.id))
    session = world_with(server, lambda state: state.team.change(full.id, deal_limit=taken))
    open_one = mine(session, "discovery").id
    assert refused(session, "assign_deal", deal=open_one, owner=full.id) == "owner_at_capacity"
    do(session, "move_deal", deal=open_one, stage="lost", loss_reason="price")
    assert refused(session, "assign_deal", deal=open_one, owner=full.id) == "deal_closed"


def test_products_are_found_by_the_words_of_their_name(crm: Session[Crm]) -> None:
    item = product(crm)
    family, tier = item.item.split()
    assert do(crm, "find_sales_products", query=f"{tier.lower()} {family.upper()}")[0]["id"] == item.id
    assert do(crm, "find_sales_products", query=f"{family} nonsense") == []
    rows = do(crm, "find_sales_products", limit=50)
    assert [row["id"] for row in rows] == [row.id for row in crm.state.products]
    assert len(do(crm, "find_sales_products", limit=1)) == 1


def test_a_quote_adds_up_and_a_line_is_replaced_or_taken_off(crm: Session[Crm]) -> None:
    deal = new_deal(crm)["id"]
    first, second = [row for row in crm.state.products if not row.discontinued][:2]
    quote = {"deal": deal, "product": first.id}
    made = do(crm, "quote_product", **quote, quantity=13, discount=5)
    total = 13 * first.price * 95 // 100
    assert made["lines"] == [
        {"product": first.id, "item": first.item, "quantity": 13, "price": first.price, "discount": 5, "total": total}
    ]
    assert (made["total"], made["status"], made["title"]) == (total, "draft", TITLE)
    do(crm, "quote_product", deal=deal, product=second.id, quantity=20)
    both = do(crm, "quote_product", **quote, quantity=30)
    assert [line["quantity"] for line in both["lines"]] == [30, 20]
    assert both["id"] == made["id"] and both["total"] == 30 * first.price + 20 * second.price
    assert do(crm, "get_sales_deal", deal=deal)["amount"] == both["total"]
    left = do(crm, "quote_product", **quote, quantity=0)
    assert [line["product"] for line in left["lines"]] == [second.id]
    assert refused(crm, "quote_product", **quote, quantity=0) == "not_on_quote"
    empty = do(crm, "quote_product", deal=deal, product=second.id, quantity=0)
    assert refused(crm, "send_quote", quote=empty["id"]) == "quote_empty"


def test_a_product_is_quoted_within_its_limits() -> None:
    session, item = next(
        (world, row) for world in worlds() for row in world.state.products if row.minimum > 1 and not row.discontinued
    )
    quote = {"deal": new_deal(session)["id"], "product": item.id}
    assert refused(session, "quote_product", **quote, quantity=item.minimum - 1) == "below_minimum"
    over = {"quantity": item.minimum, "discount": item.max_discount + 1}
    assert refused(session, "quote_product", **quote, **over) == "discount_too_high"
    do(session, "quote_product", **quote, quantity=item.minimum, discount=item.max_discount)
    session, item = next((world, row) for world in worlds() for row in world.state.products if row.discontinued)
    quote = {"deal": new_deal(session)["id"], "product": item.id}
    assert refused(session, "quote_product", **quote, quantity=20) == "product_discontinued"


def test_a_quote_has_eight_lines_at_most() -> None:
    session = server.open(2, "default")
    deal = new_deal(session)["id"]
    sold = [row.id for row in session.state.products if not row.discontinued][:9]
    for item in sold[:8]:
        do(session, "quote_product", deal=deal, product=item, quantity=20)
    assert refused(session, "quote_product", deal=deal, product=sold[8], quantity=20) == "quote_full"
    do(session, "quote_product", deal=deal, product=sold[7], quantity=30)


def with_generous_product() -> Session[Crm]:
    return next(
        world
        for world in worlds()
        if any(row.max_discount >= 20 and not row.discontinued for row in world.state.products)
    )


def test_a_high_discount_needs_a_managers_code() -> None:
    session = with_generous_product()
    quote = quoted(session, new_deal(session)["id"], discount=16)["id"]
    code = next(member.approval_code for member in session.state.team if member.approval_code)
    assert refused(session, "send_quote", quote=quote) == "needs_approval"
    wrong = "000000" if code != "000000" else "000001"
    assert refused(session, "send_quote", quote=quote, approval_code=wrong) == "wrong_approval_code"
    assert server.known(session.state)[quote, "approval_code"] == code
    assert do(session, "send_quote", quote=quote, approval_code=code)["approved"] is True


def test_fifteen_percent_need_no_code_and_a_sent_quote_is_not_sent_again() -> None:
    session = with_generous_product()
    quote = quoted(session, new_deal(session)["id"], discount=15)["id"]
    do(session, "send_quote", quote=quote)
    assert refused(session, "send_quote", quote=quote) == "quote_already_sent"


def test_no_tool_tells_an_approval_code() -> None:
    assert [tool.name for tool in server.tools.values() if "approval_code" in str(tool.output_schema)] == []


def test_changing_a_sent_quote_makes_a_new_draft_with_its_lines(crm: Session[Crm]) -> None:
    deal = new_deal(crm)["id"]
    first = quoted(crm, deal)
    do(crm, "send_quote", quote=first["id"])
    other = [row for row in crm.state.products if not row.discontinued][1]
    second = do(crm, "quote_product", deal=deal, product=other.id, quantity=10)
    assert second["id"] != first["id"] and second["status"] == "draft"
    assert [line["product"] for line in second["lines"]] == [first["lines"][0]["product"], other.id]
    assert refused(crm, "send_quote", quote=first["id"]) == "quote_replaced"
    assert do(crm, "get_sales_deal", deal=deal)["quote"]["id"] == second["id"]


def test_an_expired_quote_is_quoted_again(crm: Session[Crm]) -> None:
    deal = new_deal(crm)
    call = {"person": deal["contact"], "kind": "meeting", "text": "plan a product demo", "deal": deal["id"]}
    do(crm, "log_sales_activity", **call)
    do(crm, "move_deal", deal=deal["id"], stage="discovery")
    quote = quoted(crm, deal["id"])["id"]
    do(crm, "send_quote", quote=quote)
    later(crm, 14)
    assert refused(crm, "send_quote", quote=quote) == "quote_already_sent"
    later(crm, 1)
    assert refused(crm, "move_deal", deal=deal["id"], stage="proposal") == "quote_expired"
    assert refused(crm, "send_quote", quote=quote) == "quote_expired"
    again = quoted(crm, deal["id"])["id"]
    assert again != quote and do(crm, "send_quote", quote=again)["valid_until"] == day(crm, 14)
    do(crm, "move_deal", deal=deal["id"], stage="proposal")
    do(crm, "move_deal", deal=deal["id"], stage="negotiation")
    later(crm, 15)
    assert refused(crm, "move_deal", deal=deal["id"], stage="won") == "quote_expired"


def test_activities_are_with_leads_and_contacts_on_their_own_deals(crm: Session[Crm]) -> None:
    call = {"kind": "call", "text": "wish a good start"}
    assert refused(crm, "log_sales_activity", person=prospect(crm), **call) == "not_in_contact"
    colleague = list(crm.state.team)[1].email
    assert refused(crm, "log_sales_activity", person=colleague, **call) == "on_the_sales_team"
    person, deal = contact(crm), mine(crm, "discovery")
    assert refused(crm, "log_sales_activity", person=person, **call, deal=deal.id) == "other_contact"
    made = do(crm, "log_sales_activity", person=deal.contact, **call, deal=deal.id)
    assert "due" not in made and "done" not in made
    assert (made["text"], made["kind"]) == ("wish a good start", "call")
    assert (made["person"], made["deal"]) == (deal.contact, deal.id)
    assert do(crm, "list_sales_activities", deal=deal.id)[0]["id"] == made["id"]
    assert do(crm, "list_sales_activities", person=deal.contact)[0]["id"] == made["id"]
    assert do(crm, "list_sales_activities", deal=deal.id, person=person) == []
    assert refused(crm, "list_sales_activities", deal="OPP-x") == "not_found"
    assert refused(crm, "list_sales_activities", person="nobody@acme.example") == "not_found"


def test_tasks_are_due_listed_by_day_and_completed_once(crm: Session[Crm]) -> None:
    person = contact(crm)
    task = {"person": person, "kind": "task", "text": "send a case study"}
    assert refused(crm, "log_sales_activity", **task) == "due_required"
    assert refused(crm, "log_sales_activity", **task, due=day(crm, -1)) == "in_the_past"
    assert refused(crm, "log_sales_activity", **task, due=day(crm, 731)) == "too_far_ahead"
    call = {**task, "kind": "call"}
    assert refused(crm, "log_sales_activity", **call, due=day(crm, 1)) == "due_only_for_tasks"
    late = do(crm, "log_sales_activity", **task, due=day(crm, 700))
    early = do(crm, "log_sales_activity", **task, due=day(crm, 600))
    assert (late["kind"], late["done"], late["due"]) == ("task", False, day(crm, 700))
    rows = do(crm, "list_sales_activities", limit=50)
    assert [row["id"] for row in rows[-2:]] == [early["id"], late["id"]]
    assert all(row["done"] is False for row in rows)
    assert len(do(crm, "list_sales_activities", limit=1)) == 1
    note = do(crm, "log_sales_activity", **{**task, "kind": "note"})["id"]
    assert refused(crm, "complete_sales_task", task=note) == "not_a_task"
    do(crm, "complete_sales_task", task=early["id"])
    assert refused(crm, "complete_sales_task", task=early["id"]) == "task_done"
    assert early["id"] not in [row["id"] for row in do(crm, "list_sales_activities", limit=50)]


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_every_world_has_an_own_deal_in_each_open_stage_and_somebody_to_win(seed: int) -> None:
    session = server.open(seed, "small")
    for stage in ("qualification", "discovery", "proposal", "negotiation"):
        assert mine(session, stage)
    assert contact(session) and product(session)
    assert session.state.leads.where(status="contacted")
