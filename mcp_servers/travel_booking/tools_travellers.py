"""Tools on travellers: who they are, their passports and miles, and all that is booked for them."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from operator import attrgetter

from ..kit import ToolError
from .parameters import ROWS, AskedName, AskedTraveller, Expires, Limit, NewPassport, Since, TravellerRef, Until
from .server import server
from .state import Travel
from .views import Itinerary, MilesAccount, MilesLine, TravellerView, booking_view, traveller_view
from .views_stays import stay_view

LONGEST = timedelta(days=3653)


@server.read()
def find_travellers(travel: Travel, name: AskedName = None, limit: Limit = None) -> tuple[TravellerView, ...]:
    """Find the travellers you book for, all of them or by name."""
    wanted = (name or "").casefold()
    rows = [row for row in travel.travellers if wanted in row.name.casefold()]
    return tuple(traveller_view(row) for row in rows[: limit or ROWS])


@server.write(idempotent=True)
def renew_passport(
    travel: Travel, traveller: TravellerRef, new_passport: NewPassport, expires: Expires
) -> TravellerView:
    """Enter a traveller's new passport in place of the one on file."""
    row, today = travel.travellers[traveller], travel.now.date()
    if expires < today:
        raise ToolError("passport_expired", f"A passport valid until {expires} has expired; enter a valid one.")
    if expires > today + LONGEST:
        raise ToolError("expiry_too_late", f"No passport is valid for over ten years; check the date {expires}.")
    if (row.passport, row.passport_expires) == (new_passport, expires):
        raise ToolError("passport_unchanged", f"This passport of {row.name} is on file already; nothing is left to do.")
    owners = [other.name for other in travel.travellers.where(passport=new_passport) if other.id != traveller]
    if owners:
        raise ToolError("passport_in_use", f"This is the passport number of {owners[0]}; check the number.")
    return traveller_view(travel.travellers.change(traveller, passport=new_passport, passport_expires=expires))


@server.read()
def get_miles_account(travel: Travel, traveller: TravellerRef, limit: Limit = None) -> MilesAccount:
    """Get a traveller's miles and the latest movements."""
    row = travel.travellers[traveller]
    rows = travel.miles.where(traveller=traveller)[::-1][: limit or ROWS]
    lines = [MilesLine(at=entry.at, miles=entry.miles, reason=entry.reason, booking=entry.booking) for entry in rows]
    return MilesAccount(id=row.id, name=row.name, miles=row.miles, entries=tuple(lines))


@server.read()
def get_itinerary(
    travel: Travel,
    traveller: AskedTraveller = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
) -> Itinerary:
    """List flight bookings and hotel stays in order, with what all cost in cents."""
    first = since or travel.now.date()
    start = travel.now if since is None else datetime.combine(since, time())
    if until is not None and until < first:
        raise ToolError("empty_period", f"{until} is before {first}; name a later last day.")
    who = None if traveller is None else travel.travellers[traveller].id
    end = datetime.max if until is None else datetime.combine(until, time.max)
    bookings = travel.bookings if who is None else travel.bookings.where(traveller=who)
    flown = sorted(
        (at, row.id, row) for row in bookings if row.active and start <= (at := travel.flight_of(row).departs) <= end
    )
    stays = travel.stays if who is None else travel.stays.where(traveller=who)
    slept = [row for row in stays if row.active and row.last >= first and row.arrival <= (until or row.arrival)]
    slept.sort(key=attrgetter("arrival", "id"))
    return Itinerary(
        flights=tuple([booking_view(travel, row) for _, _, row in flown[: limit or ROWS]]),
        stays=tuple([stay_view(travel, row) for row in slept[: limit or ROWS]]),
        total=sum([row.total for _, _, row in flown]) + sum([row.price for row in slept]),
    )
