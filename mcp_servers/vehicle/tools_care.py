"""Tools that look after the car: fuel or charge, and the workshop."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError, minute_text
from .motion import settle
from .parameters import Amount, Service, ServiceTime
from .rules import require_engine_off, require_no_valet
from .server import server
from .service_stations import CLOSING, HOUR, OPENING, STATIONS, is_busy, is_fully_booked, is_open, price_of
from .state import Garage, Refuel, ServiceBooking

FURTHEST = timedelta(days=90)


@server.write()
def refuel_vehicle(garage: Garage, amount: Amount) -> Refuel:
    """Refuel or charge at the station the car stands at. Engine off, tank flap open."""
    car = settle(garage)
    place = None if car.place is None else garage.places[car.place]
    price = None if place is None else price_of(garage, place)
    if place is None or price is None:
        raise ToolError("not_at_station", "The car is not at a fuel or charging station; drive to one first.")
    if STATIONS[place.kind] != car.drive:
        raise ToolError("wrong_station", f"{place.name} has nothing for a {car.drive} car; go to another.")
    require_engine_off(car, "filling up")
    if "tank flap" not in car.open:
        raise ToolError("flap_closed", "The tank flap is closed; open it first.")
    if is_busy(garage, place):
        raise ToolError("station_busy", f"All places at {place.name} are taken; try again in some minutes.")
    room = (car.tank - car.energy) // 1000
    if amount > room:
        raise ToolError("tank_full", f"Only {room} more go in; choose an amount up to that.")
    garage.vehicles.change(car.id, energy=car.energy + amount * 1000)
    return garage.refuels.put(
        Refuel(
            id=garage.refuels.new_id(),
            place=place.id,
            place_name=place.name,
            at=garage.now,
            units=amount,
            price=price,
            cost=amount * price,
        )
    )


@server.write(idempotent=True)
def book_vehicle_service(garage: Garage, service: Service, at: ServiceTime) -> ServiceBooking:
    """Book an hour in the workshop, from tomorrow on."""
    car = settle(garage)
    require_no_valet(garage, "no service is booked")
    if service == "oil change" and car.drive == "electric":
        raise ToolError("not_applicable", "An electric car has no oil to change; choose another service.")
    if at.date() <= garage.now.date():
        raise ToolError("too_soon", f"Today is {garage.now.date()}; choose a later day.")
    if at > garage.now + FURTHEST:
        raise ToolError("too_far_ahead", f"Choose a day until {(garage.now + FURTHEST).date()}.")
    if not is_open(at):
        raise ToolError(
            "workshop_closed",
            f"The workshop takes cars on weekdays from {OPENING}:00 to {CLOSING - 1}:00; choose another time.",
        )
    for row in garage.bookings.where(service=service):
        if row.at > garage.now:
            raise ToolError("service_booked", f"{row.id} is for {service} too, at {minute_text(row.at)}; keep it.")
    if is_fully_booked(garage, at) or any(abs(row.at - at) < HOUR for row in garage.bookings):
        raise ToolError("slot_taken", f"The workshop has no place left at {minute_text(at)}; choose another time.")
    return garage.bookings.put(ServiceBooking(id=garage.bookings.new_id(), service=service, at=at))
