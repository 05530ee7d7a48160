"""What the travel agency does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from calling import change_state, do, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.shared.places import places, town
from mcp_servers.shared.records import bookings
from mcp_servers.travel_booking import server
from mcp_servers.travel_booking.engine import (
    COUNTRIES,
    FARES,
    free_seats,
    places_left,
    price_of,
    rooms_left,
    upgrade_miles,
)
from mcp_servers.travel_booking.seed import is_free
from mcp_servers.travel_booking.state import ONE_DAY, Flight, FlightBooking, HotelRoom, Travel, Traveller


@pytest.fixture
def travel() -> Session[Travel]:
    return server.open(7, "small")


def me(session: Session[Travel]) -> Traveller:
    return session.state.travellers[session.state.me]


def abroad(flight: Flight) -> bool:
    return COUNTRIES[flight.origin] != COUNTRIES[flight.destination]


def ahead(session: Session[Travel], days: int = 2) -> Flight:
    """A flight abroad, so many days ahead or more, with places in both cabins; nobody is booked on it."""
    state = session.state
    return next(
        row
        for row in state.flights
        if row.departs > state.now + days * ONE_DAY
        and abroad(row)
        and is_free(state, state.me, row)
        and not state.bookings.where(flight=row.id)
        and places_left(state, row, "economy") > 1
        and places_left(state, row, "business") > 1
    )


def booked(session: Session[Travel], fare: str = "standard") -> tuple[str, Flight]:
    """A new booking of the user, and its flight."""
    flight = ahead(session)
    made = do(session, "book_flight", flight=flight.id, traveller=session.state.me, fare=fare)
    return str(made["id"]), flight


def soon(session: Session[Travel]) -> FlightBooking:
    """The user's booking whose check-in is open."""
    state = session.state
    rows = state.bookings.where(traveller=state.me, status="confirmed")
    return next(row for row in rows if ONE_DAY / 12 < state.flight_of(row).departs - state.now < ONE_DAY)


def paid(session: Session[Travel], id: str) -> int:
    rows = [row for row in session.state.payments if id in (row.booking, row.stay)]
    return sum(row.amount for row in rows)


@pytest.mark.parametrize("size", ["small", "default", "large"])
def test_the_bookings_that_all_servers_know_are_here_at_their_price(size: str) -> None:
    session = server.open(5, size)
    for row in bookings(5):
        found = do(session, "get_flight_booking", booking=row.code)
        assert (found["from_city"], found["to_city"]) == (row.origin.name, row.destination.name)
        assert (found["departs"][:10], found["total"]) == (row.day.isoformat(), row.price)
        assert found["traveller"] == session.state.me


def test_flights_are_searched_by_city_or_airport_and_day_and_none_has_left(travel: Session[Travel]) -> None:
    row = bookings(7)[0]
    found = do(travel, "search_flights", origin=row.origin.airport.lower(), destination=row.destination.name, limit=50)
    assert len(found) >= 2 and found == sorted(found, key=lambda one: one["departs"])
    assert {(one["from_city"], one["to_city"]) for one in found} == {(row.origin.name, row.destination.name)}
    on_day = do(travel, "search_flights", destination=row.destination.name, day=row.day.isoformat(), limit=50)
    assert {one["departs"][:10] for one in on_day} == {row.day.isoformat()}
    everything = do(travel, "search_flights", limit=50)
    assert {one["id"] for one in everything} == {
        one.id for one in travel.state.flights if one.departs > travel.state.now
    }
    assert len(do(travel, "search_flights")) == 5
    first = travel.state.flights[everything[0]["id"]]
    assert first.id not in [one["id"] for one in do(travel, "search_flights", now=first.departs, limit=50)]
    assert refused(travel, "search_flights", origin="Atlantis") == "unknown_city"
    today = travel.state.now.date().isoformat()
    assert {one["departs"][:10] for one in do(travel, "search_flights", day=today)} <= {today}
    yesterday = (travel.state.now - ONE_DAY).date().isoformat()
    assert refused(travel, "search_flights", day=yesterday) == "in_the_past"


def test_a_flight_tells_its_fares_places_and_alternatives(travel: Session[Travel]) -> None:
    flight = ahead(travel)
    found = do(travel, "get_flight", flight=flight.id)
    assert found["status"] == "scheduled"
    assert [fare["fare"] for fare in found["fares"]] == ["light", "standard", "flex", "business"]
    assert [fare["price"] * 100 // flight.price for fare in found["fares"]] == [100, 125, 200, 400]
    assert "change_fee" not in found["fares"][0] and found["fares"][1]["change_fee"] == 5000
    assert found["fares"][0]["places_left"] == len(free_seats(travel.state, flight, "economy"))
    assert found["fares"][3]["places_left"] == len(free_seats(travel.state, flight, "business"))
    others = [travel.state.flights[id] for id in found["alternatives"]]
    assert flight.id not in found["alternatives"] and others == sorted(others, key=lambda row: row.departs)
    route = travel.state.flights.where(origin=flight.origin, destination=flight.destination)
    assert {row.id for row in others} <= {row.id for row in route if row.departs > travel.state.now}
    assert len(others) == min(3, sum(row.departs > travel.state.now for row in route) - 1)
    do(travel, "book_flight", flight=flight.id, traveller=travel.state.me, fare="flex")
    left = do(travel, "get_flight", flight=flight.id)["fares"]
    assert left[0]["places_left"] == found["fares"][0]["places_left"] - 1
    assert left[3]["places_left"] == found["fares"][3]["places_left"]


def test_a_flight_is_scheduled_then_in_the_air_then_landed(travel: Session[Travel]) -> None:
    flight = ahead(travel)
    times = (
        flight.departs - timedelta(minutes=1),
        flight.departs,
        flight.arrives - timedelta(minutes=1),
        flight.arrives,
    )
    seen = [do(travel, "get_flight", now=at, flight=flight.id)["status"] for at in times]
    assert seen == ["scheduled", "in the air", "in the air", "landed"]


def test_free_seats_are_listed_by_cabin_and_position(travel: Session[Travel]) -> None:
    flight = ahead(travel)
    for cabin in ("economy", "business"):
        seats = do(travel, "list_free_seats", flight=flight.id, cabin=cabin, limit=50)
        assert [seat["seat_number"] for seat in seats] == free_seats(travel.state, flight, cabin)  # type: ignore[arg-type]
        assert all((seat["seat_number"][-1] in "AF") == (seat["position"] == "window") for seat in seats)
        assert all((int(seat["seat_number"][:-1]) < 3) == (cabin == "business") for seat in seats)
    aisle = do(travel, "list_free_seats", flight=flight.id, position="aisle", limit=50)
    assert aisle and all(seat["position"] == "aisle" for seat in aisle)
    gone = next(row for row in travel.state.flights if row.departs < travel.state.now)
    assert refused(travel, "list_free_seats", flight=gone.id) == "flight_departed"


def test_a_booking_goes_from_search_to_seat_bag_and_cancellation(travel: Session[Travel]) -> None:
    id, flight = booked(travel, "flex")
    seat = do(travel, "list_free_seats", flight=flight.id, cabin="economy")[0]["seat_number"]
    assert do(travel, "choose_flight_seat", booking=id, seat=seat)["seat"] == seat
    assert seat not in [one["seat_number"] for one in do(travel, "list_free_seats", flight=flight.id, limit=50)]
    assert do(travel, "add_checked_bags", booking=id, bags=2)["bags"] == 3
    total = price_of(flight, "flex") + 7000
    assert do(travel, "get_flight_booking", booking=id)["total"] == total == paid(travel, id)
    gone = do(travel, "cancel_flight_booking", booking=id)
    assert (gone["status"], gone["refunded"], "seat" in gone) == ("cancelled", total * 90 // 100, False)
    assert paid(travel, id) == total - total * 90 // 100
    assert seat in [one["seat_number"] for one in do(travel, "list_free_seats", flight=flight.id, limit=50)]
    for tool in ("cancel_flight_booking", "upgrade_with_miles"):
        assert refused(travel, tool, booking=id) == "booking_cancelled"
    do(travel, "book_flight", flight=flight.id, traveller=travel.state.me, fare="light")


@pytest.mark.parametrize(("fare", "bags", "refund"), [("light", 0, 0), ("standard", 1, 50), ("business", 2, 100)])
def test_a_fare_decides_bags_cabin_and_refund(travel: Session[Travel], fare: Any, bags: int, refund: int) -> None:
    id, flight = booked(travel, fare)
    row = do(travel, "get_flight_booking", booking=id)
    assert (row["bags"], row["cabin"]) == (bags, "business" if fare == "business" else "economy")
    assert row["total"] == price_of(flight, fare)
    assert do(travel, "cancel_flight_booking", booking=id)["refunded"] == row["total"] * refund // 100


def test_nobody_is_booked_twice_or_on_two_flights_at_once(travel: Session[Travel]) -> None:
    booked(travel)
    flight = travel.state.flight_of(next(row for row in travel.state.bookings.where(traveller=me(travel).id)))
    book = {"traveller": me(travel).id, "fare": "light"}
    assert refused(travel, "book_flight", flight=flight.id, **book) == "already_booked"
    session, other = next(
        (session, row)
        for session in small_worlds(server, "default")
        for taken in [session.state.flight_of(session.state.bookings[bookings(session.state.seed)[0].code])]
        for row in session.state.flights
        if row.id != taken.id and row.departs < taken.arrives and taken.departs < row.arrives
        if not session.state.bookings.where(flight=row.id) and row.departs > session.state.now + ONE_DAY
    )
    book = {"traveller": session.state.me, "fare": "light"}
    assert refused(session, "book_flight", flight=other.id, **book) == "flights_overlap"


def test_sales_close_an_hour_before_departure(travel: Session[Travel]) -> None:
    flight = ahead(travel)
    book = {"flight": flight.id, "traveller": me(travel).id, "fare": "light"}
    last = flight.departs - timedelta(minutes=61)
    assert refused(travel, "book_flight", now=flight.departs, **book) == "flight_departed"
    assert refused(travel, "book_flight", now=last + timedelta(minutes=1), **book) == "booking_closed"
    assert refused(travel, "list_free_seats", now=last + timedelta(minutes=1), flight=flight.id) == "booking_closed"
    do(travel, "book_flight", now=last, **book)


def test_a_full_cabin_takes_nobody(travel: Session[Travel]) -> None:
    state = travel.state
    full = next(row for row in state.flights if places_left(state, row, "economy") == 0 and row.departs > state.now)
    book = {"flight": full.id, "traveller": me(travel).id}
    assert refused(travel, "book_flight", **book, fare="flex") == "flight_full"
    do(travel, "book_flight", **book, fare="business")


def test_a_flight_abroad_needs_a_passport_valid_on_its_day(travel: Session[Travel]) -> None:
    state, flight = travel.state, ahead(travel)
    none = next(row for row in state.travellers if row.passport is None)
    expired = next(row for row in state.travellers if row.passport_expires and row.passport_expires < state.now.date())
    for person, code, number in ((none, "passport_missing", "AB482913"), (expired, "passport_expired", "C5190274")):
        book = {"flight": flight.id, "traveller": person.id, "fare": "light"}
        assert refused(travel, "book_flight", **book) == code
        renew = {"traveller": person.id, "new_passport": number}
        do(travel, "renew_passport", **renew, expires=(flight.day - ONE_DAY).isoformat())
        assert refused(travel, "book_flight", **book) == "passport_expired"
        do(travel, "renew_passport", **renew, expires=flight.day.isoformat())
        do(travel, "book_flight", **book)


def test_a_flight_at_home_needs_no_passport() -> None:
    session = server.open(7, "small")
    flight = ahead(session)
    near = next(city for city in COUNTRIES if city != flight.origin and COUNTRIES[city] == COUNTRIES[flight.origin])
    change_state(session, lambda travel: travel.flights.change(flight.id, destination=near))
    *_, person = session.state.travellers
    change_state(session, lambda travel: travel.travellers.change(person.id, passport=None, passport_expires=None))
    do(session, "book_flight", flight=flight.id, traveller=person.id, fare="light")


def test_a_passport_is_renewed_to_a_sensible_day_and_has_one_owner(travel: Session[Travel]) -> None:
    row, today = me(travel), travel.state.now.date()
    other = list(travel.state.travellers)[1]
    renew = {"traveller": row.id, "new_passport": "AB482913"}
    assert refused(travel, "renew_passport", **renew, expires=(today - ONE_DAY).isoformat()) == "passport_expired"
    assert refused(travel, "renew_passport", **renew, expires=(today + 3654 * ONE_DAY).isoformat()) == "expiry_too_late"
    taken = {"traveller": row.id, "new_passport": other.passport, "expires": today.isoformat()}
    assert refused(travel, "renew_passport", **taken) == "passport_in_use"
    day = (today + 3653 * ONE_DAY).isoformat()
    assert do(travel, "renew_passport", **renew, expires=day)["passport_expires"] == day
    assert refused(travel, "renew_passport", **renew, expires=day) == "passport_unchanged"
    assert server.known(travel.state)[soon(travel).id, "passport"] == "AB482913"


def test_no_tool_tells_a_passport_number() -> None:
    assert [tool.name for tool in server.tools.values() if "'passport'" in str(tool.output_schema)] == []


def test_a_seat_is_chosen_once_and_in_the_right_cabin(travel: Session[Travel]) -> None:
    id, flight = booked(travel)
    choose = {"booking": id}
    assert refused(travel, "choose_flight_seat", **choose, seat=f"{flight.rows + 1}A") == "no_such_seat"
    business = free_seats(travel.state, flight, "business")[0]
    assert refused(travel, "choose_flight_seat", **choose, seat=business) == "wrong_cabin"
    strangers = next(seat for seat in flight.sold if int(seat[:-1]) > 2)
    assert refused(travel, "choose_flight_seat", **choose, seat=strangers) == "seat_taken"
    first, second = free_seats(travel.state, flight, "economy")[:2]
    do(travel, "choose_flight_seat", **choose, seat=first)
    assert refused(travel, "choose_flight_seat", **choose, seat=first) == "seat_unchanged"
    friend = list(travel.state.travellers)[1]
    other = do(travel, "book_flight", flight=flight.id, traveller=friend.id, fare="light")["id"]
    assert refused(travel, "choose_flight_seat", booking=other, seat=first) == "seat_taken"
    do(travel, "choose_flight_seat", **choose, seat=second)
    do(travel, "choose_flight_seat", booking=other, seat=first)


def test_four_bags_are_the_most(travel: Session[Travel]) -> None:
    id, _ = booked(travel, "light")
    do(travel, "add_checked_bags", booking=id, bags=1)
    do(travel, "add_checked_bags", booking=id, bags=1)
    assert refused(travel, "add_checked_bags", booking=id, bags=3) == "too_many_bags"
    do(travel, "add_checked_bags", booking=id, bags=2)
    assert refused(travel, "add_checked_bags", booking=id, bags=1) == "too_many_bags"
    assert [row.reason for row in travel.state.payments.where(booking=id)] == ["flight", "bags", "bags", "bags"]


def on_one_route(session: Session[Travel], fare: str) -> tuple[str, Flight, Flight]:
    """A new booking of the user in a fare, its flight, and another flight with places between the same cities."""
    state = session.state
    pairs = [
        (one, other)
        for one in state.flights
        for other in state.flights.where(origin=one.origin, destination=one.destination)
        if one.departs > state.now + 3 * ONE_DAY and other.departs > state.now + 3 * ONE_DAY
        if min(places_left(state, row, cabin) for row in (one, other) for cabin in ("economy", "business")) > 1  # type: ignore[arg-type]
        if is_free(state, state.me, one) and is_free(state, state.me, other)
        if one.id != other.id and not state.bookings.where(flight=one.id) and not state.bookings.where(flight=other.id)
    ]
    one, other = pairs[0]
    id = do(session, "book_flight", flight=one.id, traveller=session.state.me, fare=fare)["id"]
    return id, one, other


def test_a_change_moves_a_booking_for_the_difference_and_the_fee() -> None:
    session = server.open(3, "default")
    id, one, other = on_one_route(session, "standard")
    seat = free_seats(session.state, one, "economy")[0]
    do(session, "choose_flight_seat", booking=id, seat=seat)
    changed = do(session, "change_flight", booking=id, flight=other.id)
    assert (changed["flight"], "seat" in changed) == (other.id, False)
    assert changed["total"] == price_of(other, "standard") + 5000 == paid(session, id)
    assert seat in free_seats(session.state, one, "economy")
    assert refused(session, "change_flight", booking=id, flight=other.id) == "same_flight"
    do(session, "change_flight", booking=id, flight=one.id)
    assert paid(session, id) == price_of(one, "standard") + 10000


@pytest.mark.parametrize("fare", ["flex", "business"])
def test_a_dear_fare_changes_free_of_charge(fare: Any) -> None:
    session = server.open(3, "default")
    id, _, other = on_one_route(session, fare)
    do(session, "change_flight", booking=id, flight=other.id)
    assert paid(session, id) == price_of(other, fare)


@pytest.mark.parametrize(("fare", "percent"), [("light", 50), ("standard", 100), ("flex", 125), ("business", 200)])
def test_a_fare_decides_the_miles_of_a_flight(travel: Session[Travel], fare: str, percent: int) -> None:
    id, flight = booked(travel, fare)
    check = {"booking": id, "passport": me(travel).passport}
    before = me(travel).miles
    do(travel, "check_in_for_flight", now=flight.departs - timedelta(hours=2), **check)
    assert me(travel).miles - before == flight.distance * 621 // 1000 * percent // 100


def test_a_change_keeps_to_the_fare_the_route_and_what_is_free() -> None:
    session = server.open(3, "default")
    light, _, other = on_one_route(session, "light")
    assert refused(session, "change_flight", booking=light, flight=other.id) == "fare_not_changeable"
    flex, three, four = on_one_route(session, "flex")
    elsewhere = next(row for row in session.state.flights if row.origin != three.origin)
    assert refused(session, "change_flight", booking=flex, flight=elsewhere.id) == "other_route"
    past = next(row for row in session.state.flights if row.departs < session.state.now)
    assert refused(session, "change_flight", booking=flex, flight=past.id) in ("flight_departed", "other_route")
    at = max(three.departs - timedelta(hours=2), session.state.now) + timedelta(minutes=1)
    assert refused(session, "change_flight", now=at, booking=flex, flight=four.id) == "change_window_passed"
    assert refused(session, "change_flight", now=three.departs, booking=flex, flight=four.id) == "flight_departed"


@pytest.mark.parametrize(("fare", "hours"), [("light", 24), ("standard", 24), ("flex", 2), ("business", 2)])
def test_a_booking_is_cancelled_until_its_window_closes(travel: Session[Travel], fare: str, hours: int) -> None:
    id, flight = booked(travel, fare)
    last = flight.departs - timedelta(hours=hours)
    late = last + timedelta(minutes=1)
    assert refused(travel, "cancel_flight_booking", now=late, booking=id) == "cancellation_window_passed"
    do(travel, "cancel_flight_booking", now=last, booking=id)


def test_check_in_takes_the_passport_gives_a_seat_and_miles_and_settles_all(travel: Session[Travel]) -> None:
    row, person = soon(travel), me(travel)
    check = {"booking": row.id, "passport": person.passport}
    assert refused(travel, "check_in_for_flight", booking=row.id, passport="AB482913") == "wrong_passport"
    done = do(travel, "check_in_for_flight", **check)
    assert done["status"] == "checked_in" and done["seat"]
    flight = travel.state.flights[row.flight]
    earned = flight.distance * 621 // 1000 * FARES[row.fare].earns // 100
    account = do(travel, "get_miles_account", traveller=person.id)
    assert account["miles"] == person.miles + earned
    assert account["entries"][0] == {
        "at": minute_text(travel.state.now - timedelta(minutes=1)),
        "miles": earned,
        "reason": "check-in",
        "booking": row.id,
    }
    assert refused(travel, "check_in_for_flight", **check) == "already_checked_in"
    for tool, more in {
        "cancel_flight_booking": {},
        "upgrade_with_miles": {},
        "add_checked_bags": {"bags": 1},
        "choose_flight_seat": {"seat": "3A"},
        "change_flight": {"flight": ahead(travel).id},
    }.items():
        assert refused(travel, tool, booking=row.id, **more) == "already_checked_in"


def test_a_chosen_seat_stays_at_check_in(travel: Session[Travel]) -> None:
    row = soon(travel)
    seat = next(one for one in free_seats(travel.state, travel.state.flight_of(row), row.cabin))
    do(travel, "choose_flight_seat", booking=row.id, seat=seat)
    assert do(travel, "check_in_for_flight", booking=row.id, passport=me(travel).passport)["seat"] == seat


def test_check_in_opens_a_day_and_closes_an_hour_before(travel: Session[Travel]) -> None:
    id, flight = booked(travel)
    check = {"booking": id, "passport": me(travel).passport}
    opens, closes = flight.departs - timedelta(hours=24), flight.departs - timedelta(hours=1)
    assert refused(travel, "check_in_for_flight", now=opens - timedelta(minutes=1), **check) == "check_in_not_open"
    assert refused(travel, "check_in_for_flight", now=closes, **check) == "check_in_closed"
    assert refused(travel, "check_in_for_flight", now=flight.departs, **check) == "flight_departed"
    do(travel, "check_in_for_flight", now=opens, **check)


def test_check_in_needs_a_passport_that_is_still_valid(travel: Session[Travel]) -> None:
    id, flight = booked(travel)
    day = (flight.day - ONE_DAY).isoformat()
    do(travel, "renew_passport", traveller=me(travel).id, new_passport="AB482913", expires=day)
    at = flight.departs - timedelta(hours=5)
    assert refused(travel, "check_in_for_flight", now=at, booking=id, passport="AB482913") == "passport_expired"


def test_an_upgrade_costs_miles_and_gives_them_back_when_cancelled() -> None:
    session, person, flight = next(
        (session, row, flight)
        for session in small_worlds(server)
        for flight in [ahead(session)]
        for row in [me(session)]
        if row.miles >= upgrade_miles(flight)
    )
    id = do(session, "book_flight", flight=flight.id, traveller=person.id, fare="light")["id"]
    seat = free_seats(session.state, flight, "economy")[0]
    do(session, "choose_flight_seat", booking=id, seat=seat)
    up = do(session, "upgrade_with_miles", booking=id)
    assert (up["cabin"], "seat" in up, up["fare"]) == ("business", False, "light")
    assert me(session).miles == person.miles - (3000 + 2 * flight.miles)
    assert refused(session, "upgrade_with_miles", booking=id) == "already_business"
    do(session, "choose_flight_seat", booking=id, seat=free_seats(session.state, flight, "business")[0])
    do(session, "cancel_flight_booking", booking=id)
    assert me(session).miles == person.miles
    lines = do(session, "get_miles_account", traveller=person.id)["entries"]
    assert [line["reason"] for line in lines] == ["upgrade returned", "upgrade", "earlier flights"]


def test_an_upgrade_needs_enough_miles() -> None:
    session, flight = next(
        (session, flight)
        for session in small_worlds(server)
        for flight in [ahead(session)]
        if me(session).miles < upgrade_miles(flight)
    )
    id = do(session, "book_flight", flight=flight.id, traveller=me(session).id, fare="light")["id"]
    assert refused(session, "upgrade_with_miles", booking=id) == "insufficient_miles"


def test_travellers_are_found_by_any_part_of_the_name(travel: Session[Travel]) -> None:
    row = me(travel)
    assert do(travel, "find_travellers", name=row.name[2:].upper())[0]["id"] == row.id
    assert len(do(travel, "find_travellers", limit=2)) == 2


def test_the_itinerary_adds_up_what_is_booked_in_its_days(travel: Session[Travel]) -> None:
    before = do(travel, "get_itinerary", traveller=me(travel).id, limit=50)
    id, flight = booked(travel)
    after = do(travel, "get_itinerary", traveller=me(travel).id, limit=50)
    assert after["total"] == before["total"] + price_of(flight, "standard")
    assert [row["departs"] for row in after["flights"]] == sorted(row["departs"] for row in after["flights"])
    day = flight.day.isoformat()
    on_day = do(travel, "get_itinerary", traveller=me(travel).id, since=day, until=day)
    assert id in [row["id"] for row in on_day["flights"]]
    assert all(row["departs"][:10] == day for row in on_day["flights"])
    one = do(travel, "get_itinerary", limit=1)
    assert len(one["flights"]) == 1 and one["total"] == do(travel, "get_itinerary", limit=50)["total"]
    do(travel, "cancel_flight_booking", booking=id)
    assert do(travel, "get_itinerary", traveller=me(travel).id, limit=50) == before
    assert refused(travel, "get_itinerary", until=(travel.state.now - ONE_DAY).date().isoformat()) == "empty_period"
    for person in travel.state.travellers:
        found = do(travel, "get_itinerary", traveller=person.id, limit=50)
        assert {row["name"] for row in (*found["flights"], *found["stays"])} <= {person.name}
        coming = [row for row in travel.state.stays.where(traveller=person.id) if row.active]
        assert len(found["stays"]) == len(coming)
    past = (travel.state.now - 2 * ONE_DAY).date().isoformat()
    flown = do(travel, "get_itinerary", since=past, limit=50)["flights"]
    assert "checked_in" in [row["status"] for row in flown]
    assert "checked_in" not in [row["status"] for row in do(travel, "get_itinerary", limit=50)["flights"]]


def room_for(session: Session[Travel], days: int = 40, free_days: int = 0) -> tuple[HotelRoom, date]:
    """A room with two or more left on three nights from that day on or later, and the first of them."""
    state = session.state
    return next(
        (room, day)
        for ahead in range(days, days + 60)
        for day in [state.now.date() + ahead * ONE_DAY]
        for room in state.rooms
        if state.hotels[room.hotel].free_days >= free_days
        and room.sleeps == 2
        and min(rooms_left(state, room, day + n * ONE_DAY) for n in range(-1, 4)) > 0
    )


def test_hotels_are_searched_by_city_and_stars(travel: Session[Travel]) -> None:
    city = next(iter(travel.state.hotels)).city
    found = do(travel, "search_hotels", city=city.upper(), limit=50)
    assert {row["city"] for row in found} == {city}
    assert [row["price_from"] for row in found] == sorted(row["price_from"] for row in found)
    best = max(row["stars"] for row in found)
    assert all(row["stars"] >= best for row in do(travel, "search_hotels", city=city, stars=best))
    assert do(travel, "search_hotels", city=city, stars=5) == [row for row in found if row["stars"] == 5][:5]
    assert refused(travel, "search_hotels", city="Atlantis") == "unknown_city"


def test_a_hotel_of_the_home_town_stands_at_a_place_of_the_town() -> None:
    session = server.open(7, "default")
    known = {place.id: place for place in places(7) if place.kind == "hotel"}
    rows = [row for row in session.state.hotels if row.place is not None]
    assert rows and all(row.city == town(7).name and known[row.place].name == row.name for row in rows if row.place)


def test_a_stay_is_booked_moved_and_cancelled_for_what_it_costs(travel: Session[Travel]) -> None:
    room, day = room_for(travel)
    offers = do(travel, "list_free_rooms", hotel=room.hotel, arrival=day.isoformat(), nights=2)
    offer = next(one for one in offers if one["id"] == room.id)
    assert offer["total"] == 2 * room.price and offer["left"] <= room.count
    book = {"room": room.id, "traveller": me(travel).id, "arrival": day.isoformat(), "nights": 2}
    stay = do(travel, "book_hotel_room", **book)
    assert (stay["total"], stay["guests"], stay["status"]) == (offer["total"], 1, "booked")
    left = [one["left"] for one in do(travel, "list_free_rooms", hotel=room.hotel, arrival=book["arrival"], nights=2)
            if one["id"] == room.id]  # fmt: skip
    assert left == ([offer["left"] - 1] if offer["left"] > 1 else [])
    assert refused(travel, "book_hotel_room", **book) == "overlapping_stay"
    move = {"stay": stay["id"], "arrival": (day + ONE_DAY).isoformat(), "nights": 2}
    do(travel, "change_hotel_stay", **move)
    assert refused(travel, "change_hotel_stay", **move) == "stay_unchanged"
    assert do(travel, "change_hotel_stay", **{**move, "nights": 1})["total"] == room.price == paid(travel, stay["id"])
    gone = do(travel, "cancel_hotel_stay", stay=stay["id"])
    assert (gone["status"], gone["refunded"], paid(travel, stay["id"])) == ("cancelled", room.price, 0)
    assert refused(travel, "cancel_hotel_stay", stay=stay["id"]) == "stay_cancelled"
    do(travel, "book_hotel_room", **book)


def test_a_late_cancellation_costs_the_first_night_and_a_late_change_is_refused() -> None:
    session = server.open(7, "default")
    room, day = room_for(session, free_days=2)
    book = {"room": room.id, "traveller": me(session).id, "arrival": day.isoformat(), "nights": 3}
    stay = do(session, "book_hotel_room", **book)["id"]
    free_days = session.state.hotels[room.hotel].free_days
    last = datetime(day.year, day.month, day.day, 12) - free_days * ONE_DAY
    move = {"stay": stay, "arrival": (day + ONE_DAY).isoformat(), "nights": 2}
    assert refused(session, "change_hotel_stay", now=last + ONE_DAY, **move) == "change_window_passed"
    assert refused(session, "cancel_hotel_stay", now=last + free_days * ONE_DAY, stay=stay) == "stay_begun"
    assert refused(session, "change_hotel_stay", now=last + free_days * ONE_DAY, **move) == "stay_begun"
    early, late = session.fork(), session.fork()
    assert do(early, "cancel_hotel_stay", now=last, stay=stay)["refunded"] == 3 * room.price
    assert do(late, "cancel_hotel_stay", now=last + ONE_DAY, stay=stay)["refunded"] == 2 * room.price


def test_a_stay_does_not_stand_in_its_own_way(travel: Session[Travel]) -> None:
    state, people = travel.state, list(travel.state.travellers)
    room, day = next(
        (room, day)
        for room in state.rooms
        for day in [state.now.date() + n * ONE_DAY for n in range(40, 120)]
        if 0 < rooms_left(state, room, day) <= len(people) and rooms_left(state, room, day + ONE_DAY) > 0
    )
    night = {"room": room.id, "arrival": day.isoformat(), "nights": 1}
    made = [do(travel, "book_hotel_room", **night, traveller=row.id) for row in people[: rooms_left(state, room, day)]]
    assert rooms_left(travel.state, room, day) == 0
    do(travel, "change_hotel_stay", stay=made[0]["id"], arrival=day.isoformat(), nights=2)


def test_stays_that_touch_do_not_overlap(travel: Session[Travel]) -> None:
    room, day = room_for(travel)
    book = {"room": room.id, "traveller": me(travel).id}
    do(travel, "book_hotel_room", **book, arrival=day.isoformat(), nights=1)
    night_before = {"arrival": (day - ONE_DAY).isoformat()}
    assert refused(travel, "book_hotel_room", **book, **night_before, nights=2) == "overlapping_stay"
    do(travel, "book_hotel_room", **book, **night_before, nights=1)
    do(travel, "book_hotel_room", **book, arrival=(day + ONE_DAY).isoformat(), nights=1)


def test_a_room_is_not_oversold_and_has_room_for_so_many(travel: Session[Travel]) -> None:
    state = travel.state
    room, day = room_for(travel)
    night = {"room": room.id, "arrival": day.isoformat(), "nights": 1}
    assert refused(travel, "book_hotel_room", **night, traveller=state.me, guests=3) == "too_many_guests"
    codes = [travel.call("book_hotel_room", {**night, "traveller": row.id, "guests": 2}).ok for row in state.travellers]
    assert sum(codes) == min(len(codes), rooms_left(state, room, day))
    sold_out = next(
        (room, day)
        for room in state.rooms
        for day in [state.now.date() + n * ONE_DAY for n in range(60, 120)]
        if rooms_left(state, room, day) == 0
    )
    night = {"room": sold_out[0].id, "arrival": sold_out[1].isoformat(), "nights": 1}
    assert refused(travel, "book_hotel_room", **night, traveller=state.me) == "room_not_available"
    offers = do(travel, "list_free_rooms", hotel=sold_out[0].hotel, arrival=night["arrival"], nights=1)
    assert sold_out[0].id not in [offer["id"] for offer in offers]


def test_lists_stop_at_their_limit_and_at_five_otherwise() -> None:
    session = server.open(2, "large")
    state = session.state
    city = max(state.hotels, key=lambda row: len(state.hotels.where(city=row.city))).city
    hotel = state.hotels.where(city=city)[0]
    nights = {"hotel": hotel.id, "arrival": (state.now + 90 * ONE_DAY).date().isoformat(), "nights": 1}
    for tool, given in (("search_hotels", {"city": city}), ("list_free_rooms", nights), ("find_travellers", {})):
        every = do(session, tool, **given, limit=50)
        assert len(every) > 2
        assert do(session, tool, **given) == every[:5] and do(session, tool, **given, limit=2) == every[:2]
    assert len(do(session, "get_miles_account", traveller=state.me, limit=1)["entries"]) == 1


@pytest.mark.parametrize(("days", "code"), [(-1, "in_the_past"), (366, "too_far_ahead")])
def test_rooms_are_sold_for_the_year_to_come(travel: Session[Travel], days: int, code: str) -> None:
    room = next(iter(travel.state.rooms))
    nights = {"arrival": (travel.state.now + days * ONE_DAY).date().isoformat(), "nights": 1}
    assert refused(travel, "list_free_rooms", hotel=room.hotel, **nights) == code
    assert refused(travel, "book_hotel_room", room=room.id, traveller=travel.state.me, **nights) == code


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_every_world_lets_the_user_check_in_today(seed: int) -> None:
    session = server.open(seed, "small")
    do(session, "check_in_for_flight", booking=soon(session).id, passport=me(session).passport)
