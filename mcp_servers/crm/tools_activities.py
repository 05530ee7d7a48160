"""Tools on activities: what was said to whom, and what is still to be done."""

from __future__ import annotations

from datetime import date

from ..kit import ToolError
from ..people import EmailAddress
from .parameters import ROWS, AskedDeal, AskedPerson, Due, Kind, Limit, OnDeal, PersonRef, TaskRef, Text
from .rules import known_person, open_deal, own_deal, require_day_to_come
from .server import server
from .state import Activity, ActivityKind, Crm, SalesDealId
from .views import ActivityLine, activity_line


@server.read()
def list_sales_activities(
    crm: Crm, person: AskedPerson = None, deal: AskedDeal = None, limit: Limit = ROWS
) -> tuple[ActivityLine, ...]:
    """List your open tasks by due day, or what was done, newest first."""
    if person is None and deal is None:
        tasks = sorted(crm.activities.where(todo=crm.me), key=lambda row: (row.due or row.at.date(), row.id))
        return tuple(activity_line(row) for row in tasks[:limit])
    if person is not None:
        known_person(crm, person)
    about = {"person": person} if deal is None else {"deal": crm.deals[deal].id}
    rows = [row for row in crm.activities.where(**about) if person in (None, row.person)]
    rows.sort(key=lambda row: (row.at, row.id), reverse=True)
    return tuple(activity_line(row) for row in rows[:limit])


@server.write()
def log_sales_activity(
    crm: Crm, person: PersonRef, kind: Kind, text: Text, deal: OnDeal = None, due: Due = None
) -> ActivityLine:
    """Log a call, meeting or note with a lead or contact. A task is planned."""
    row = known_person(crm, person)
    lead = crm.open_lead(person)
    if lead is None and not crm.is_contact(person):
        raise ToolError("not_in_contact", f"{row.name} is neither lead nor contact; create a lead first.")
    require_due(crm.now.date(), kind, due)
    if deal is not None:
        require_fitting(crm, deal, person, kind)
    if lead and lead.status == "new" and kind in ("call", "meeting"):
        crm.leads.change(lead.id, status="contacted")
    activity = Activity(
        id=crm.activities.new_id(),
        kind=kind,
        person=person,
        text=text,
        at=crm.now,
        owner=crm.me,
        deal=deal,
        due=due,
        done=kind != "task",
    )
    return activity_line(crm.activities.put(activity))


def require_due(today: date, kind: ActivityKind, due: date | None) -> None:
    """Raises ToolError unless a task, and nothing else, has a day on which it is due."""
    if kind != "task" and due is not None:
        raise ToolError("due_only_for_tasks", f"A {kind} is not due some day; leave due out or plan a task.")
    if kind == "task" and due is None:
        raise ToolError("due_required", "A task needs the day it is due; give due.")
    if due is not None:
        require_day_to_come(today, due, today)


def require_fitting(crm: Crm, id: SalesDealId, person: EmailAddress, kind: ActivityKind) -> None:
    """Raises ToolError when an activity does not belong on a deal."""
    deal = own_deal(crm, id) if kind == "task" else open_deal(crm, id)
    if deal.contact != person:
        raise ToolError("other_contact", f"The contact of {id} is {deal.contact}; name that person or leave deal out.")


@server.write(destructive=True, idempotent=True)
def complete_sales_task(crm: Crm, task: TaskRef) -> ActivityLine:
    """Complete one of your open tasks."""
    row = crm.activities[task]
    if row.kind != "task":
        raise ToolError("not_a_task", f"{task} is a {row.kind}; only tasks are completed.")
    if row.done:
        raise ToolError("task_done", f"{task} ({row.text}) is done already; nothing is left to do.")
    if row.owner != crm.me:
        raise ToolError("not_the_owner", f"{task} belongs to {crm.team[row.owner].name}; only they can complete it.")
    return activity_line(crm.activities.change(task, done=True))
