"""What the car does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from calling import change_state, do, later, refused, world_with

from mcp_servers.core import Session, minute_text
from mcp_servers.core.times import parse_instant
from mcp_servers.shared.places import Place
from mcp_servers.vehicle import server
from mcp_servers.vehicle.engine import cosine, distance, energy_for, is_busy, is_fully_booked, minutes_for
from mcp_servers.vehicle.state import FEATURES, Garage

Drive = Session[Garage]


def car_with(
    percent: int = 50, place: Callable[[Place], bool] = lambda place: True, booked: bool = True, **fields: Any
) -> Drive:
    """A car that stands unlocked, closed and without a driver at such a place on the outskirts, with so much energy."""

    def park(garage: Garage) -> None:
        car, here = garage.car, max(filter(place, garage.places), key=lambda row: farthest(garage, row))
        for table in (garage.refuels, *(() if booked else (garage.bookings,))):
            for row in list(table):
                table.remove(row.id)
        *_, last = garage.trips
        came = {"destination": here.id, "destination_name": here.name, "metres": last.distance}
        garage.trips.change(last.id, **came, used=energy_for(car, last.distance), ended=last.ended or garage.now)
        energy = car.tank * percent // 100
        past = {
            "bought_energy": energy + sum(row.used for row in garage.trips),
            "odometer": car.bought_odometer + sum(row.metres for row in garage.trips),
        }
        spot = {"latitude": here.latitude, "longitude": here.longitude, "place": here.id}
        standing = {"engine": False, "gear": "P", "parking_brake": True, "trip": None, "destination": None}
        closed = {"locked": False, "open": (), "windows": (0, 0, 0, 0), "tyres": (240,) * 4, "profile": None}
        garage.vehicles.change(car.id, energy=energy, **{**past, **spot, **standing, **closed, **fields})

    return world_with(server, park)


def farthest(garage: Garage, place: Place) -> int:
    """Return the metres from a place to the one farthest from it."""
    return max(distance(place.latitude, place.longitude, row) for row in garage.places)


def status(session: Drive) -> Any:
    return do(session, "get_vehicle_status")


def log_in(session: Drive, valet: bool = False) -> None:
    """Select the first driver, or the valet, where it is not the active one."""
    row = next(row for row in session.state.profiles if row.valet == valet)
    if session.state.car.profile != row.id:
        do(session, "select_driver_profile", profile=row.id, pin=row.pin)


@pytest.fixture
def parked() -> Drive:
    """A car that is locked, without a driver, with energy."""
    return car_with(locked=True)


@pytest.fixture
def running(parked: Drive) -> Drive:
    """The same car with a driver and its engine running, in park."""
    log_in(parked)
    do(parked, "set_vehicle_lock", to="unlocked")
    do(parked, "start_engine")
    return parked


def far_place(session: Drive) -> Place:
    car = session.state.car
    rows = [row for row in session.state.places if row.id != car.place]
    return max(rows, key=lambda row: distance(car.latitude, car.longitude, row))


@pytest.fixture
def ready(running: Drive) -> Drive:
    """The same car, in gear and with a destination far away."""
    do(running, "set_destination", place=far_place(running).id)
    do(running, "set_parking_brake", to="released")
    do(running, "shift_gear", gear="D")
    return running


@pytest.fixture
def driving(ready: Drive) -> Drive:
    do(ready, "start_driving")
    return ready


def test_starting_takes_a_driver_and_an_unlocked_car(parked: Drive) -> None:
    assert refused(parked, "start_engine") == "vehicle_locked"
    assert do(parked, "set_vehicle_lock", to="unlocked")["locked"] is False
    assert refused(parked, "start_engine") == "no_driver"
    log_in(parked)
    do(parked, "move_vehicle_door", door="tank flap", to="open")
    assert refused(parked, "start_engine") == "flap_open"
    do(parked, "move_vehicle_door", door="tank flap", to="closed")
    assert do(parked, "start_engine")["engine"] is True
    assert refused(parked, "start_engine") == "engine_running"


def test_a_profile_takes_its_own_pin(parked: Drive) -> None:
    one, two = list(parked.state.profiles)[:2]
    assert refused(parked, "select_driver_profile", profile=one.id, pin=two.pin) == "wrong_pin"
    assert do(parked, "select_driver_profile", profile=one.id, pin=one.pin)["active"] is True
    assert refused(parked, "select_driver_profile", profile=one.id, pin=one.pin) == "profile_active"
    assert status(parked)["driver"] == one.name
    rows = do(parked, "list_driver_profiles")
    assert [row["active"] for row in rows] == [True, False, False] and [row["valet"] for row in rows][-1]
    assert "pin" not in str(rows)


def test_a_car_low_on_energy_does_not_start() -> None:
    for drive, code in (("petrol", "low_fuel"), ("electric", "low_battery")):
        session = car_with(percent=4, drive=drive, locked=True)
        log_in(session)
        do(session, "set_vehicle_lock", to="unlocked")
        assert refused(session, "start_engine") == code


def test_the_engine_stops_in_park_with_the_brake_on(running: Drive) -> None:
    do(running, "shift_gear", gear="N")
    assert refused(running, "stop_engine") == "not_in_park"
    assert refused(running, "shift_gear", gear="N") == "already_in_gear"
    do(running, "shift_gear", gear="P")
    assert do(running, "set_parking_brake", to="released")["parking_brake"] is False
    assert refused(running, "set_parking_brake", to="released") == "already_released"
    assert refused(running, "stop_engine") == "parking_brake_off"
    do(running, "set_parking_brake", to="engaged")
    assert refused(running, "set_parking_brake", to="engaged") == "already_engaged"
    assert do(running, "stop_engine")["engine"] is False
    assert refused(running, "stop_engine") == "engine_off"
    assert refused(running, "set_parking_brake", to="released") == "engine_off"
    assert refused(running, "shift_gear", gear="D") == "engine_off"


def test_what_needs_the_engine_goes_off_with_it(running: Drive) -> None:
    do(running, "set_vehicle_climate", celsius=21)
    for feature in ("headlights", "wipers", "seat heating", "hazard lights"):
        do(running, "switch_vehicle_feature", feature=feature, level=1)
    found = do(running, "stop_engine")
    assert [row["feature"] for row in found["features"]] == ["hazard lights", "headlights"]
    assert "climate_celsius" not in found
    assert refused(running, "set_vehicle_climate", celsius=21) == "engine_off"
    assert refused(running, "switch_vehicle_feature", feature="wipers", level=1) == "engine_off"


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_goes_up_to_its_highest_level(running: Drive, feature: str) -> None:
    highest = FEATURES[feature].highest
    if feature == "fog lights":
        assert refused(running, "switch_vehicle_feature", feature=feature, level=1) == "headlights_off"
        do(running, "switch_vehicle_feature", feature="headlights", level=1)
    if highest < 3:
        assert refused(running, "switch_vehicle_feature", feature=feature, level=highest + 1) == "out_of_range"
    found = do(running, "switch_vehicle_feature", feature=feature, level=highest)
    assert {"feature": feature, "level": highest} in found["features"]
    assert refused(running, "switch_vehicle_feature", feature=feature, level=highest) == "unchanged"
    assert feature not in str(do(running, "switch_vehicle_feature", feature=feature, level=0).get("features"))


def test_one_part_of_the_car_is_not_in_the_way_of_another(running: Drive) -> None:
    do(running, "switch_vehicle_feature", feature="headlights", level=2)
    do(running, "switch_vehicle_feature", feature="fog lights", level=1)
    assert refused(running, "switch_vehicle_feature", feature="headlights", level=0) == "fog_lights_on"
    do(running, "switch_vehicle_feature", feature="headlights", level=1)
    do(running, "stop_engine")
    do(running, "move_vehicle_door", door="hood", to="open")
    do(running, "start_engine")
    assert refused(running, "switch_vehicle_feature", feature="wipers", level=1) == "hood_open"


def test_the_climate_and_open_windows_exclude_each_other(running: Drive) -> None:
    assert do(running, "set_vehicle_window", window="rear left", percent=51)["windows_open"] == ["rear left"]
    assert refused(running, "set_vehicle_window", window="rear left", percent=51) == "unchanged"
    assert refused(running, "set_vehicle_climate", celsius=20) == "windows_open"
    do(running, "set_vehicle_window", window="rear left", percent=50)
    assert do(running, "set_vehicle_climate", celsius=20)["climate_celsius"] == 20
    assert refused(running, "set_vehicle_climate", celsius=20) == "unchanged"
    assert refused(running, "set_vehicle_window", window="front right", percent=51) == "climate_on"
    assert do(running, "set_vehicle_window", window="front right", percent=1)["windows_open"] == [
        "front right", "rear left",
    ]  # fmt: skip


def test_a_car_is_locked_when_all_is_off_and_closed(running: Drive) -> None:
    assert refused(running, "set_vehicle_lock", to="unlocked") == "already_unlocked"
    assert refused(running, "set_vehicle_lock", to="locked") == "engine_running"
    do(running, "set_vehicle_window", window="front left", percent=10)
    do(running, "stop_engine")
    assert refused(running, "set_vehicle_window", window="front left", percent=0) == "engine_off"
    do(running, "move_vehicle_door", door="trunk", to="open")
    assert refused(running, "set_vehicle_lock", to="locked") == "doors_open"
    do(running, "move_vehicle_door", door="trunk", to="closed")
    assert refused(running, "set_vehicle_lock", to="locked") == "windows_open"
    do(running, "start_engine")
    do(running, "set_vehicle_window", window="front left", percent=0)
    do(running, "stop_engine")
    assert do(running, "set_vehicle_lock", to="locked")["locked"] is True
    assert refused(running, "set_vehicle_lock", to="locked") == "already_locked"
    assert refused(running, "move_vehicle_door", door="trunk", to="open") == "vehicle_locked"


def test_doors_open_in_park_and_hood_and_flap_with_the_engine_off(running: Drive) -> None:
    assert refused(running, "move_vehicle_door", door="hood", to="open") == "engine_running"
    assert refused(running, "move_vehicle_door", door="tank flap", to="open") == "engine_running"
    found = do(running, "move_vehicle_door", door="trunk", to="open")
    assert found["open"] == ["trunk"]
    assert refused(running, "move_vehicle_door", door="trunk", to="open") == "already_open"
    do(running, "move_vehicle_door", door="rear left door", to="open")
    assert refused(running, "shift_gear", gear="D") == "doors_open"
    assert refused(running, "shift_gear", gear="R") == "doors_open"
    do(running, "shift_gear", gear="N")
    assert refused(running, "move_vehicle_door", door="rear right door", to="open") == "not_in_park"
    assert do(running, "move_vehicle_door", door="trunk", to="closed")["open"] == ["rear left door"]
    assert refused(running, "move_vehicle_door", door="trunk", to="closed") == "already_closed"


def test_a_destination_is_somewhere_else(running: Drive) -> None:
    target, car = far_place(running), running.state.car
    assert refused(running, "set_destination", place=car.place) == "already_there"
    metres = distance(car.latitude, car.longitude, target)
    route = do(running, "set_destination", place=target.id)
    assert (route["metres"], route["minutes"], route["in_range"]) == (metres, minutes_for(metres, 50), True)
    assert refused(running, "set_destination", place=target.id) == "unchanged"
    assert status(running)["destination"] == target.id
    assert refused(running, "set_destination", place="PLC-none") == "not_found"


def test_driving_takes_all_of_it(running: Drive) -> None:
    session = running
    assert refused(session, "start_driving") == "no_destination"
    do(session, "set_destination", place=far_place(session).id)
    assert refused(session, "start_driving") == "not_in_drive"
    do(session, "shift_gear", gear="D")
    assert refused(session, "start_driving") == "parking_brake_on"
    do(session, "set_parking_brake", to="released")
    do(session, "switch_vehicle_feature", feature="interior light", level=1)
    assert refused(session, "start_driving") == "interior_light_on"
    do(session, "switch_vehicle_feature", feature="interior light", level=0)
    assert refused(session, "stop_driving") == "not_moving"
    assert refused(session, "set_cruise_control", speed=50) == "not_moving"
    assert do(session, "start_driving")["metres"] == 0


def test_an_open_door_holds_the_car_back(running: Drive) -> None:
    do(running, "set_destination", place=far_place(running).id)
    do(running, "set_parking_brake", to="released")
    do(running, "move_vehicle_door", door="front left door", to="open")
    assert refused(running, "shift_gear", gear="D") == "doors_open"
    do(running, "move_vehicle_door", door="front left door", to="closed")
    do(running, "shift_gear", gear="D")
    do(running, "start_driving")


def test_nothing_is_done_to_a_driving_car_that_needs_it_to_stand(driving: Drive) -> None:
    row = list(driving.state.profiles)[1]
    assert status(driving)["speed_kmh"] == 50 and "place" not in status(driving)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("start_driving", {}),
        ("stop_engine", {}),
        ("shift_gear", {"gear": "N"}),
        ("set_parking_brake", {"to": "engaged"}),
        ("move_vehicle_door", {"door": "trunk", "to": "open"}),
        ("switch_vehicle_feature", {"feature": "interior light", "level": 1}),
        ("set_destination", {"place": next(iter(driving.state.places)).id}),
        ("select_driver_profile", {"profile": row.id, "pin": row.pin}),
    ]
    assert [refused(driving, name, **arguments) for name, arguments in calls] == ["vehicle_moving"] * len(calls)


def test_the_car_arrives_by_itself(driving: Drive) -> None:
    trip = do(driving, "list_vehicle_trips")[0]
    metres, before = trip["metres"] + trip["metres_left"], driving.state.car
    target = driving.state.places[before.destination]
    minutes = minutes_for(metres, 50)
    close = status(later(driving, minutes - 2))
    assert close["metres_left"] == metres - (minutes - 1) * 50_000 // 60
    assert close["odometer_km"] == (before.odometer + metres - close["metres_left"]) // 1000
    assert close["energy"] == (before.energy - (metres - close["metres_left"]) * before.per_km // 1000) // 1000
    there = status(later(driving, 1))
    assert there["place"] == target.id and there["speed_kmh"] == 0 and "destination" not in there
    latest = do(driving, "list_vehicle_trips")[0]
    assert (latest["metres"], latest["metres_left"], latest["used"]) == (metres, 0, metres * before.per_km // 1000)
    arrival = parse_instant(trip["started"]) + timedelta(minutes=minutes)
    assert latest["ended"] == minute_text(arrival)
    later(driving, 100)
    do(driving, "shift_gear", gear="P")
    car = driving.state.car
    assert (car.odometer, car.energy) == (before.odometer + metres, before.energy - metres * before.per_km // 1000)
    assert (car.latitude, car.longitude, car.trip) == (target.latitude, target.longitude, None)
    assert do(driving, "list_vehicle_trips")[0] == latest
    assert do(driving, "find_vehicle_places")[0]["metres"] == 100


def test_the_car_pulls_over_and_drives_on(driving: Drive) -> None:
    first = do(later(driving, 1), "stop_driving")
    assert first["metres"] == 1666 and first["metres_left"] > 0
    found = status(driving)
    assert found["speed_kmh"] == 0 and "place" not in found and "destination" in found
    assert refused(driving, "stop_driving") == "not_moving"
    second = do(driving, "start_driving")
    assert abs(second["metres_left"] - first["metres_left"]) < 10
    assert second["id"] != first["id"]
    assert refused(driving, "refuel_vehicle", amount=1) == "not_at_station"


def test_a_stopped_car_is_on_its_way_in_both_directions(driving: Drive) -> None:
    before, target = driving.state.trips[driving.state.car.trip], driving.state.car.destination
    do(later(driving, 1), "stop_driving")
    car, place = driving.state.car, driving.state.places[target]
    for start, now, end in (
        (before.latitude, car.latitude, place.latitude),
        (before.longitude, car.longitude, place.longitude),
    ):
        assert abs((now - start) * before.distance - (end - start) * 1666) <= before.distance


def test_cruise_control_changes_the_speed_from_now_on(driving: Drive) -> None:
    start = do(driving, "list_vehicle_trips")[0]
    total = start["metres"] + start["metres_left"]
    assert do(driving, "set_cruise_control", speed=90)["metres"] == 833
    assert refused(driving, "set_cruise_control", speed=90) == "unchanged"
    found = status(driving)
    assert (found["cruise_kmh"], found["speed_kmh"]) == (90, 90)
    assert found["metres_left"] == total - 833 - 1500
    do(driving, "stop_driving")
    assert "cruise_kmh" not in status(driving)


def test_cruise_control_is_off_after_arrival(driving: Drive) -> None:
    do(driving, "set_cruise_control", speed=30)
    assert "cruise_kmh" not in status(later(driving, 600))
    do(driving, "set_parking_brake", to="engaged")
    assert driving.state.car.cruise is None


def test_at_high_speed_windows_only_close(driving: Drive) -> None:
    do(driving, "set_vehicle_window", window="front left", percent=40)
    do(driving, "set_cruise_control", speed=100)
    do(driving, "set_vehicle_window", window="front left", percent=45)
    do(driving, "set_cruise_control", speed=101)
    assert refused(driving, "set_vehicle_window", window="front left", percent=46) == "too_fast"
    do(driving, "set_vehicle_window", window="front left", percent=44)


def test_hazard_lights_and_soft_tyres_hold_cruise_control_back(driving: Drive) -> None:
    do(driving, "switch_vehicle_feature", feature="hazard lights", level=1)
    assert refused(driving, "set_cruise_control", speed=40) == "hazard_lights_on"
    do(driving, "switch_vehicle_feature", feature="hazard lights", level=0)
    session = change_state(driving, lambda garage: garage.vehicles.change(garage.car.id, tyres=(240, 195, 240, 240)))
    assert refused(session, "set_cruise_control", speed=91) == "low_tyre_pressure"
    assert session.call("set_cruise_control", {"speed": 90}).ok


def test_a_valet_can_do_less(running: Drive) -> None:
    log_in(running, valet=True)
    for door in ("trunk", "hood"):
        assert refused(running, "move_vehicle_door", door=door, to="open") == "valet_mode"
    do(running, "move_vehicle_door", door="rear left door", to="open")
    do(running, "move_vehicle_door", door="rear left door", to="closed")
    at = minute_text(opening(running))
    assert refused(running, "book_vehicle_service", service="inspection", at=at) == "valet_mode"
    do(running, "set_destination", place=far_place(running).id)
    do(running, "set_parking_brake", to="released")
    do(running, "shift_gear", gear="D")
    do(running, "start_driving")
    assert refused(running, "set_cruise_control", speed=61) == "valet_mode"
    do(running, "set_cruise_control", speed=60)


def at_station() -> Drive:
    """A car at a station that has what it drives on, with a free pump."""
    session = car_with(place=lambda place: place.kind == "fuel station", drive="petrol")
    while is_busy(session.state, session.state.places[session.state.car.place]):
        later(session, 10)
    return session


def test_refuelling_adds_energy_and_costs_its_price() -> None:
    session = at_station()
    car = session.state.car
    room = (car.tank - car.energy) // 1000
    place = next(row for row in do(session, "find_vehicle_places") if row["id"] == car.place)
    assert refused(session, "refuel_vehicle", amount=1) == "flap_closed"
    do(session, "move_vehicle_door", door="tank flap", to="open")
    assert refused(session, "refuel_vehicle", amount=room + 1) == "tank_full"
    first = do(session, "refuel_vehicle", amount=room - 1)
    assert first["cost"] == (room - 1) * place["price"] and first["place"] == car.place
    assert session.state.car.energy == car.energy + (room - 1) * 1000
    do(session, "refuel_vehicle", amount=1)
    assert status(session)["energy"] == (car.energy + room * 1000) // 1000
    assert refused(session, "refuel_vehicle", amount=1) == "tank_full"


def test_refuelling_takes_a_stopped_engine_and_a_free_pump() -> None:
    session = at_station()
    log_in(session)
    do(session, "start_engine")
    assert refused(session, "refuel_vehicle", amount=1) == "engine_running"
    do(session, "stop_engine")
    do(session, "move_vehicle_door", door="tank flap", to="open")
    place = session.state.places[session.state.car.place]
    while not is_busy(session.state, place):
        later(session, 10)
    assert refused(session, "refuel_vehicle", amount=1) == "station_busy"
    while is_busy(session.state, place):
        later(session, 10)
    do(session, "refuel_vehicle", amount=1)


def test_a_station_sells_one_kind_of_energy() -> None:
    for drive, kind in (("petrol", "charging station"), ("electric", "fuel station")):
        session = car_with(place=lambda place, kind=kind: place.kind == kind, drive=drive)
        assert refused(session, "refuel_vehicle", amount=1) == "wrong_station"


def test_a_place_without_pumps_is_no_station() -> None:
    session = car_with(place=lambda place: "station" not in place.kind)
    assert refused(session, "refuel_vehicle", amount=1) == "not_at_station"


def opening(session: Drive, days: int = 1, hour: int = 8) -> datetime:
    """An hour on a weekday, so many days from now or some later, in which the workshop has a place."""
    at = (session.state.now + timedelta(days=days)).replace(hour=hour, minute=0)
    taken = [row.at for row in session.state.bookings]
    while at.weekday() > 4 or is_fully_booked(session.state, at) or any(abs(at - row) < HOUR for row in taken):
        at += timedelta(days=1)
    return at


HOUR = timedelta(hours=1)


def book(session: Drive, service: str, at: datetime) -> dict[str, Any]:
    reply = session.call("book_vehicle_service", {"service": service, "at": minute_text(at)})
    assert server.find_broken_invariants(session.state) == []
    return dict(reply.data)


def test_a_service_is_booked_once_and_in_an_hour_of_its_own() -> None:
    session = car_with(drive="petrol")
    for row in session.state.bookings:
        assert book(session, row.service, opening(session))["error"] == "service_booked"
    at = opening(session, days=1)
    assert book(session, "oil change", at)["at"] == minute_text(at)
    assert book(session, "oil change", opening(session, days=5))["error"] == "service_booked"
    free = next(kind for kind in ("brake check", "cabin filter") if not session.state.bookings.where(service=kind))
    assert book(session, free, at + timedelta(minutes=59))["error"] == "slot_taken"
    assert status(session)["next_service"] <= minute_text(at)
    while is_fully_booked(session.state, at + HOUR):
        at += HOUR
    if at.hour < 15:
        assert "id" in book(session, free, at + HOUR)


def test_an_hour_may_be_full() -> None:
    session = car_with(booked=False)
    at = opening(session)
    while at.weekday() > 4 or not is_fully_booked(session.state, at):
        at += timedelta(days=1)
    assert book(session, "brake check", at)["error"] == "slot_taken"


@pytest.mark.parametrize(("hour", "minute", "open"), [(7, 59, False), (8, 0, True), (16, 0, True), (16, 1, False)])
def test_the_workshop_has_opening_hours(hour: int, minute: int, open: bool) -> None:
    session = car_with(booked=False)
    at = opening(session, hour=hour).replace(minute=minute)
    found = book(session, "brake check", at)
    assert ("id" in found) == open and (open or found["error"] == "workshop_closed")


def test_the_workshop_is_closed_on_weekends_today_and_after_three_months() -> None:
    session = car_with(booked=False)
    now = session.state.now
    saturday = now.replace(hour=10) + timedelta(days=12 - now.weekday())
    assert book(session, "brake check", saturday)["error"] == "workshop_closed"
    assert book(session, "brake check", saturday + timedelta(days=1))["error"] == "workshop_closed"
    assert book(session, "brake check", now.replace(hour=15))["error"] == "too_soon"
    assert book(session, "brake check", now + timedelta(days=90, minutes=1))["error"] == "too_far_ahead"
    assert book(session, "brake check", now + timedelta(days=90)).get("error") != "too_far_ahead"


def test_an_electric_car_needs_no_oil() -> None:
    session = car_with(drive="electric")
    assert book(session, "oil change", opening(session))["error"] == "not_applicable"


def test_a_trip_beyond_the_reserve_is_not_begun() -> None:
    session = car_with(percent=4)
    change_state(
        session,
        lambda garage: garage.vehicles.change(
            garage.car.id, engine=True, gear="D", parking_brake=False, profile=next(iter(garage.profiles)).id
        ),
    )
    target = far_place(session).id
    assert do(session, "set_destination", place=target)["in_range"] is False
    assert refused(session, "start_driving") in ("low_fuel", "low_battery")
    assert refused(session, "set_vehicle_climate", celsius=20) in ("low_fuel", "low_battery")


def test_places_are_found_nearest_first_by_name_and_kind() -> None:
    session = server.open(4, "default")
    rows = do(session, "find_vehicle_places", limit=50)
    assert [row["metres"] for row in rows] == sorted(row["metres"] for row in rows)
    assert len(do(session, "find_vehicle_places")) == 5
    stations = do(session, "find_vehicle_places", kind="fuel station", limit=50)
    assert {row["kind"] for row in stations} == {"fuel station"} and all(149 <= row["price"] <= 199 for row in stations)
    named = do(session, "find_vehicle_places", name=rows[3]["name"].upper())
    assert named[0]["id"] == rows[3]["id"]
    assert all("price" not in row for row in rows if "station" not in row["kind"])
    assert do(session, "find_vehicle_places", name="no such place") == []


def test_trips_are_listed_newest_first_and_since_a_day() -> None:
    session = server.open(4, "default")
    rows = do(session, "list_vehicle_trips", limit=50)
    assert [row["started"] for row in rows] == sorted((row["started"] for row in rows), reverse=True)
    day = rows[10]["started"][:10]
    assert do(session, "list_vehicle_trips", since=day, limit=50) == [row for row in rows if row["started"][:10] >= day]
    assert len(do(session, "list_vehicle_trips")) == 5


def test_distances_are_integer_metres_along_the_streets() -> None:
    place = next(iter(server.open(0, "small").state.places))
    assert distance(place.latitude, place.longitude, place) == 100
    assert distance(place.latitude - 10_000, place.longitude, place) == 1110
    assert distance(place.latitude, place.longitude + 10_000, place) == 1110 * cosine(place.latitude) // 1000
    assert [cosine(degrees * 1_000_000) for degrees in (0, -60, 60, 90)] == [1000, 500, 500, 0]
    assert [minutes_for(metres, 60) for metres in (1, 1000, 1001, 2000)] == [1, 1, 2, 2]


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
@pytest.mark.parametrize("size", ["small", "default"])
def test_the_status_of_every_car_agrees_with_its_trips(seed: int, size: str) -> None:
    session = server.open(seed, size)
    found, latest = status(session), do(session, "list_vehicle_trips")[0]
    assert ("ended" not in latest) == (found["speed_kmh"] > 0)
    assert found.get("metres_left", 0) == latest["metres_left"]


def with_energy(session: Drive, energy: int) -> Drive:
    """The same car with so much energy, bought with it."""

    def fill(garage: Garage) -> None:
        more = energy - garage.car.energy
        garage.vehicles.change(garage.car.id, energy=energy, bought_energy=garage.car.bought_energy + more)

    return change_state(session, fill)


def test_a_trip_is_begun_with_exactly_what_it_takes_and_the_reserve(ready: Drive) -> None:
    car, target = ready.state.car, far_place(ready)
    needed = distance(car.latitude, car.longitude, target) * car.per_km // 1000 + car.tank // 20
    assert refused(with_energy(ready, needed - 1), "start_driving") in ("low_fuel", "low_battery")
    assert with_energy(ready, needed).call("start_driving", {}).ok


def test_a_driving_car_uses_nothing_before_it_moves(driving: Drive) -> None:
    car = driving.state.car
    used = 833 * car.per_km // 1000
    assert status(driving)["range_km"] == (car.energy - used) // car.per_km
    do(driving, "stop_driving")
    assert driving.state.car.energy == car.energy - used


def test_a_service_of_this_minute_is_no_longer_to_come() -> None:
    session = car_with(drive="petrol")
    at = opening(session)
    assert "id" in book(session, "oil change", at)
    minutes = (at - session.state.now) // timedelta(minutes=1)
    assert status(later(session, minutes)).get("next_service") != minute_text(at)
    assert "id" in book(session, "oil change", opening(session))
