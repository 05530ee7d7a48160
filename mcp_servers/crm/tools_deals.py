"""Tools on deals: the pipeline and its forecast, their stages, and who owns them."""

from __future__ import annotations

from datetime import timedelta
from heapq import nsmallest
from operator import attrgetter

from ..kit import ToolError
from .parameters import (
    ROWS,
    AskedOwner,
    AskedStage,
    CloseOn,
    ContactRef,
    DealRef,
    Limit,
    Loss,
    NewStage,
    OwnerRef,
    Title,
    Until,
)
from .pipeline import advance, lose, open_new_deal
from .rules import active_contact, open_deal, own_deal, require_day_to_come, require_room
from .server import server
from .state import CHANCES, CLOSED, Crm, Deal, SalesDealId
from .views import DealDetails, DealLine, Pipeline, deal_details, deal_line


@server.read()
def list_sales_deals(
    crm: Crm, owner: AskedOwner = None, stage: AskedStage = None, until: Until = None, limit: Limit = ROWS
) -> Pipeline:
    """List deals by closing day, with their number, total and expected cents."""
    wanted = None if owner is None else crm.team[owner].id
    stages = (stage,) if stage else tuple(one for one in CHANCES if one not in CLOSED)
    rows = [deal for one in stages for deal in crm.deals.where(stage=one)]
    if wanted is not None:
        rows = [deal for deal in rows if deal.owner == wanted]
    if until is not None:
        rows = [deal for deal in rows if deal.close_on <= until]
    return Pipeline(
        deals=tuple(deal_line(deal) for deal in nsmallest(limit, rows, key=attrgetter("close_on", "id"))),
        count=len(rows),
        amount=sum(deal.amount for deal in rows),
        expected=sum(deal.amount * CHANCES[deal.stage] for deal in rows) // 100,
    )


@server.read()
def get_sales_deal(crm: Crm, deal: DealRef) -> DealDetails:
    """Get one deal with its contact, company, quote, open tasks and next stage."""
    return deal_details(crm, crm.deals[deal])


@server.write(idempotent=True)
def create_sales_deal(crm: Crm, contact: ContactRef, title: Title, close_on: CloseOn) -> DealLine:
    """Create a deal of yours with a contact, in the first stage."""
    row, today = active_contact(crm, contact), crm.now.date()
    require_day_to_come(today, close_on, today + timedelta(days=1))
    for deal in crm.deals.where(contact=contact, title=title):
        if deal.is_open:
            raise ToolError("deal_exists", f"{deal.id} with this title is open already; use it or change the title.")
    return deal_line(open_new_deal(crm, row, title, close_on))


@server.write(destructive=True, idempotent=True)
def move_deal(crm: Crm, deal: DealRef, stage: NewStage, loss_reason: Loss = None) -> DealLine:
    """Move your deal to its next stage, back, or to lost. Won and lost are final."""
    row = own_deal(crm, deal)
    if stage != "lost" and loss_reason is not None:
        raise ToolError("reason_not_needed", "Only a lost deal has a loss reason; leave it out.")
    if stage != "lost":
        return deal_line(advance(crm, row, stage))
    if loss_reason is None:
        raise ToolError("loss_reason_required", "A deal is lost for a reason; give the loss_reason.")
    return deal_line(lose(crm, row, loss_reason))


@server.write(destructive=True, idempotent=True)
def assign_deal(crm: Crm, deal: DealRef, owner: OwnerRef) -> DealLine:
    """Assign your deal, or that of somebody away, to a sales person."""
    row, taker = assignable(crm, deal), crm.team[owner]
    if row.owner == owner:
        raise ToolError("already_the_owner", f"{taker.name} owns {deal} already; name somebody else.")
    if taker.away:
        raise ToolError("owner_away", f"{taker.name} is away; name somebody who is there.")
    require_room(crm, owner)
    for activity in crm.activities.where(deal=deal):
        if not activity.done:
            crm.activities.change(activity.id, owner=owner)
    return deal_line(crm.deals.change(deal, owner=owner))


def assignable(crm: Crm, id: SalesDealId) -> Deal:
    """The open deal, whose owner is the user or away. Raises ToolError otherwise."""
    deal = open_deal(crm, id)
    return deal if crm.team[deal.owner].away else own_deal(crm, id)
