"""Invariants of the travel agency: they hold in every state that a session can reach."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import pairwise

from .engine import (
    BAG_FEE,
    FARES,
    MOST_BAGS,
    cabin_for,
    cabin_of,
    count_strangers_rooms,
    miles_for,
    places_left,
    price_of,
    refund_of,
    seats_of,
)
from .server import server
from .state import HotelRoomId, Travel


@server.invariant
def a_seat_is_sold_once(travel: Travel) -> bool:
    """On a flight no two travellers, strangers included, have one seat; each exists and is in the booked cabin."""
    sold = Counter((row.id, seat) for row in travel.flights for seat in row.sold)
    for row in travel.bookings:
        if row.seat is not None:
            sold[row.flight, row.seat] += 1
            flight = travel.flights[row.flight]
            if row.seat not in seats_of(flight.rows) or cabin_of(row.seat) != row.cabin or not row.active:
                return False
    return all(times == 1 for times in sold.values())


@server.invariant
def no_cabin_is_oversold(travel: Travel) -> bool:
    """In no cabin are more places booked than it has, whether their seats are chosen or not."""
    flights = dict.fromkeys(row.flight for row in travel.bookings)
    return all(
        places_left(travel, travel.flights[id], cabin) >= 0 for id in flights for cabin in ("economy", "business")
    )


@server.invariant
def nobody_is_on_two_flights_at_once(travel: Travel) -> bool:
    """The flights a traveller is booked on do not overlap in time."""
    times = sorted(
        (row.traveller, flight.departs, flight.arrives)
        for row in travel.bookings
        if row.active
        for flight in [travel.flights[row.flight]]
    )
    return all(one[0] != other[0] or one[2] <= other[1] for one, other in pairwise(times))


@server.invariant
def a_booking_costs_what_its_fare_says(travel: Travel) -> bool:
    """The price is the fare's, each bag over those included costs the fee, and only a cancelled one is refunded."""
    for row in travel.bookings:
        rule, flight = FARES[row.fare], travel.flights[row.flight]
        if row.fare_price != price_of(flight, row.fare) or not rule.bags <= row.bags <= MOST_BAGS:
            return False
        if row.bag_fees != (row.bags - rule.bags) * BAG_FEE or row.change_fees % (rule.change_fee or 1):
            return False
        if row.change_fees and not rule.change_fee:
            return False
        if row.refunded != (0 if row.active else refund_of(row)):
            return False
    return True


@server.invariant
def money_paid_is_what_was_booked_less_refunds(travel: Travel) -> bool:
    """The payments of each flight booking and each stay add up to its cost less its refund; there are no others."""
    sums = Counter[str | None]()
    for line in travel.payments:
        if (line.booking is None) == (line.stay is None) or line.amount == 0:
            return False
        if (line.reason == "refund") and line.amount > 0:
            return False
        sums[line.booking or line.stay] += line.amount
    due = {str(row.id): row.total - row.refunded for row in travel.bookings}
    due |= {str(row.id): row.price - row.refunded for row in travel.stays}
    return all(id in due for id in sums) and all(sums[id] == amount for id, amount in due.items())


@server.invariant
def miles_equal_their_ledger(travel: Travel) -> bool:
    """A traveller's miles are the sum of the entries, and never below zero."""
    sums = Counter[str]()
    for entry in travel.miles:
        sums[entry.traveller] += entry.miles
    return all(row.miles == sums[row.id] >= 0 for row in travel.travellers)


@server.invariant
def miles_are_earned_by_flying_and_spent_on_upgrades(travel: Travel) -> bool:
    """Each checked-in traveller was credited miles once, and only upgrades to a better cabin cost miles."""
    earned, spent = Counter[str](), Counter[str]()
    for entry in travel.miles:
        if entry.booking is not None:
            if entry.traveller != travel.bookings[entry.booking].traveller:
                return False
            (earned if entry.reason == "check-in" else spent)[entry.booking] += entry.miles
    for row in travel.bookings:
        checked = row.status == "checked_in"
        if earned[row.id] != (miles_for(travel.flights[row.flight], row.fare) if checked else 0):
            return False
        upgraded = row.active and row.cabin != cabin_for(row.fare)
        if (spent[row.id] < 0) != upgraded or spent[row.id] > 0:
            return False
    return True


@server.invariant
def checked_in_travellers_have_a_seat(travel: Travel) -> bool:
    """Whoever is checked in has a seat; check-in opened a day before departure."""
    return all(
        row.seat is not None and (travel.flights[row.flight].departs - travel.now).total_seconds() <= 24 * 3600
        for row in travel.bookings
        if row.status == "checked_in"
    )


@server.invariant
def no_room_is_oversold(travel: Travel) -> bool:
    """On no night are more rooms of a kind taken than the hotel has, and none by more guests than it sleeps."""
    taken = Counter[tuple[HotelRoomId, date]]()
    for row in travel.stays:
        if not 1 <= row.guests <= travel.rooms[row.room].sleeps:
            return False
        if row.active:
            taken.update((row.room, night) for night in row.days)
    return all(
        count + count_strangers_rooms(travel.seed, travel.rooms[id], night) <= travel.rooms[id].count
        for (id, night), count in taken.items()
    )


@server.invariant
def nobody_sleeps_in_two_hotels(travel: Travel) -> bool:
    """A traveller has one bed a night, and a stay costs its nights."""
    nights = [(row.traveller, night) for row in travel.stays if row.active for night in row.days]
    return len(dict.fromkeys(nights)) == len(nights) and all(
        row.price == travel.rooms[row.room].price * row.nights and 0 <= row.refunded <= row.price * (not row.active)
        for row in travel.stays
    )


@server.invariant
def a_passport_has_one_owner(travel: Travel) -> bool:
    """Passport numbers are unique, and each passport on file has an expiry date."""
    numbers = [row.passport for row in travel.travellers if row.passport is not None]
    return len(dict.fromkeys(numbers)) == len(numbers) and all(
        (row.passport is None) == (row.passport_expires is None) for row in travel.travellers
    )
