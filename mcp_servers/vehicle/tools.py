"""Tools of the car."""

from __future__ import annotations

from datetime import timedelta
from heapq import nsmallest
from itertools import islice

from ..core import ToolError, minute_text
from .engine import (
    CLOSING,
    HOUR,
    OPENING,
    STATIONS,
    USUAL_SPEED,
    distance,
    driven,
    end_trip,
    energy_for,
    energy_now,
    is_busy,
    is_fully_booked,
    is_open,
    minutes_for,
    position,
    present,
    price_of,
    require_brake,
    require_closed,
    require_energy,
    require_engine,
    require_engine_off,
    require_no_valet,
    require_park,
    require_standing,
    require_unlocked,
    running_trip,
    settle,
)
from .server import (
    ROWS,
    Amount,
    BrakeTarget,
    Celsius,
    DestinationRef,
    Door,
    DoorTarget,
    Feature,
    FeatureTarget,
    GearTarget,
    KindParam,
    Limit,
    LockTarget,
    NameParam,
    Percent,
    ProfilePin,
    ProfileRef,
    Service,
    ServiceTime,
    Since,
    Speed,
    Window,
    server,
)
from .state import (
    FEATURES,
    WINDOWS,
    DoorName,
    DriverProfile,
    FeatureLevel,
    Garage,
    Refuel,
    Route,
    ServiceBooking,
    Vehicle,
    VehicleTrip,
)
from .views import DriverProfileView, NearbyPlace, RouteView, TripView, VehicleStatus

# Tools that read: the car's status, the places around it, its drivers and its trips.


@server.read()
def get_vehicle_status(garage: Garage) -> VehicleStatus:
    """Get how the car is: engine, gear, doors, place, destination, energy, tyres."""
    car, trip = present(garage)
    running = trip if trip is not None and trip.ended is None else None
    metres = driven(running, garage.now) if running else 0
    energy = car.energy - energy_for(car, metres)
    coming = [row.at for row in garage.bookings if row.at > garage.now]
    return VehicleStatus.from_row(
        car,
        speed_kmh=running.speed if running else 0,
        driver=None if car.profile is None else garage.profiles[car.profile].name,
        place=None if running else car.place,
        metres_left=running.distance - metres if running else None,
        cruise_kmh=car.cruise,
        open=car.open or None,
        windows_open=tuple([name for name, open in zip(WINDOWS, car.windows, strict=True) if open]) or None,
        climate_celsius=car.climate,
        features=car.features or None,
        energy=energy // 1000,
        tank=car.tank // 1000,
        range_km=energy // car.per_km,
        odometer_km=(car.odometer + metres) // 1000,
        tyres_kpa=car.tyres,
        next_service=min(coming, default=None),
    )


@server.read()
def find_vehicle_places(
    garage: Garage, name: NameParam = None, kind: KindParam = None, limit: Limit = None
) -> tuple[NearbyPlace, ...]:
    """Find places by name or kind, the nearest to the car first."""
    (latitude, longitude), wanted = position(garage), (name or "").strip().casefold()
    rows = garage.places if kind is None else garage.places.where(kind=kind)
    named = [row for row in rows if wanted in row.name.casefold()] if wanted else rows
    near = nsmallest(limit or ROWS, [(distance(latitude, longitude, row), row.id, row) for row in named])
    return tuple([NearbyPlace.from_row(row, metres=metres, price=price_of(garage, row)) for metres, _, row in near])


def profile_view(garage: Garage, row: DriverProfile) -> DriverProfileView:
    return DriverProfileView.from_row(row, active=row.id == garage.car.profile)


@server.read()
def list_driver_profiles(garage: Garage, limit: Limit = None) -> tuple[DriverProfileView, ...]:
    """List the driver profiles of the car."""
    return tuple(profile_view(garage, row) for row in islice(garage.profiles, limit or ROWS))


def trip_view(garage: Garage, row: VehicleTrip) -> TripView:
    metres = row.metres if row.ended else driven(row, garage.now)
    return TripView.from_row(row, metres=metres, metres_left=row.distance - metres, used=energy_for(garage.car, metres))


@server.read()
def list_vehicle_trips(garage: Garage, since: Since = None, limit: Limit = None) -> tuple[TripView, ...]:
    """List the car's trips with distance and energy used, newest first."""
    _, latest = present(garage)
    rows = (row for row in reversed(list(garage.trips)) if since is None or row.started.date() >= since)
    found = [latest if latest and row.id == latest.id else row for row in islice(rows, limit or ROWS)]
    return tuple([trip_view(garage, row) for row in found])


# Tools for doors, locks and windows.

FASTEST_WITH_WINDOWS, HALF = 100, 50


@server.write(idempotent=True)
def move_vehicle_door(garage: Garage, door: Door, to: DoorTarget) -> VehicleStatus:
    """Open or close a door, trunk, hood or tank flap of the parked car."""
    car = settle(garage)
    if (door in car.open) == (to == "open"):
        raise ToolError(f"already_{to}", f"The {door} is {to} already; nothing is left to do.")
    if to == "closed":
        garage.vehicles.change(car.id, open=tuple(name for name in car.open if name != door))
        return get_vehicle_status(garage)
    require_openable(garage, car, door)
    garage.vehicles.change(car.id, open=tuple(sorted((*car.open, door))))
    return get_vehicle_status(garage)


def require_openable(garage: Garage, car: Vehicle, door: DoorName) -> None:
    require_standing(car)
    require_unlocked(car)
    require_park(car)
    if door in ("trunk", "hood"):
        require_no_valet(garage, "trunk and hood stay closed")
    if door in ("hood", "tank flap"):
        require_engine_off(car, f"opening the {door}")


@server.write(idempotent=True)
def set_vehicle_lock(garage: Garage, to: LockTarget) -> VehicleStatus:
    """Lock the car when all is closed and its engine off, or unlock it."""
    car = settle(garage)
    if car.locked == (to == "locked"):
        raise ToolError(f"already_{to}", f"The car is {to} already; nothing is left to do.")
    if to == "locked":
        require_engine_off(car, "locking")
        require_closed(car)
        if any(car.windows):
            raise ToolError("windows_open", "A window is open, and closes only while the engine runs; close it first.")
    garage.vehicles.change(car.id, locked=to == "locked")
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def set_vehicle_window(garage: Garage, window: Window, percent: Percent) -> VehicleStatus:
    """Open or close a window while the engine runs. Above 100 km/h they only close."""
    car, place = settle(garage), WINDOWS.index(window)
    require_engine(car, "moving a window")
    if car.windows[place] == percent:
        raise ToolError("unchanged", f"The {window} window is {percent}% open already; choose another percentage.")
    _, trip = present(garage)
    if percent > car.windows[place] and trip is not None and trip.speed > FASTEST_WITH_WINDOWS:
        raise ToolError("too_fast", f"At {trip.speed} km/h windows only close; slow down first.")
    if car.climate is not None and percent > HALF:
        raise ToolError("climate_on", f"While the climate is on windows open up to {HALF}%; choose less.")
    windows = tuple(percent if number == place else open for number, open in enumerate(car.windows))
    garage.vehicles.change(car.id, windows=windows)
    return get_vehicle_status(garage)


# Tools for driving: destination, start, stop, cruise control.

VALET_SPEED, SAFE_SPEED, LOW_TYRE = 60, 90, 200


@server.write(idempotent=True)
def set_destination(garage: Garage, place: DestinationRef) -> RouteView:
    """Set where the standing car is to go."""
    car, target = settle(garage), garage.places[place]
    require_standing(car)
    if car.place == place:
        raise ToolError("already_there", f"The car is at {place} ({target.name}) already; choose another place.")
    if car.destination == place:
        raise ToolError("unchanged", f"{place} ({target.name}) is the destination already; start driving.")
    garage.vehicles.change(car.id, destination=place)
    metres = distance(car.latitude, car.longitude, target)
    route = garage.routes.put(
        Route(id=garage.routes.new_id(), destination=place, destination_name=target.name, metres=metres, at=garage.now)
    )
    return RouteView(
        id=route.id,
        destination_name=target.name,
        metres=metres,
        minutes=minutes_for(metres, USUAL_SPEED),
        in_range=energy_now(garage) >= energy_for(car, metres) + car.tank // 20,
    )


@server.write(idempotent=True)
def start_driving(garage: Garage) -> TripView:
    """Drive to the destination at 50 km/h. Needs the engine on, gear D, brake released, all closed."""
    car = settle(garage)
    require_engine(car, "driving")
    require_standing(car)
    if car.destination is None:
        raise ToolError("no_destination", "There is no destination; set one first.")
    require_ready(car)
    target = garage.places[car.destination]
    metres = distance(car.latitude, car.longitude, target)
    require_energy(garage, energy_for(car, metres), f"the {metres} metres to {target.name}")
    trip = garage.trips.put(
        VehicleTrip(
            id=garage.trips.new_id(),
            destination=target.id,
            destination_name=target.name,
            distance=metres,
            latitude=car.latitude,
            longitude=car.longitude,
            started=garage.now,
            since=garage.now,
            speed=USUAL_SPEED,
        )
    )
    garage.vehicles.change(car.id, trip=trip.id, place=None)
    return trip_view(garage, trip)


def require_ready(car: Vehicle) -> None:
    """Raise ToolError unless the car is ready to drive; gear D already implies closed doors."""
    if car.gear != "D":
        raise ToolError("not_in_drive", f"The car is in gear {car.gear}; shift to D first.")
    if car.parking_brake:
        raise ToolError("parking_brake_on", "The parking brake is engaged; release it first.")
    if car.level("interior light"):
        raise ToolError("interior_light_on", "The interior light blinds the driver; turn it off first.")


@server.write(idempotent=True)
def stop_driving(garage: Garage) -> TripView:
    """Pull over on the way to the destination, which ends the trip."""
    car = settle(garage)
    trip = running_trip(garage, car)
    car, trip = end_trip(car, trip, garage.places[trip.destination], garage.now, driven(trip, garage.now))
    garage.vehicles.put(car)
    return trip_view(garage, garage.trips.put(trip))


@server.write(idempotent=True)
def set_cruise_control(garage: Garage, speed: Speed) -> TripView:
    """Set the speed of the driving car, which it keeps until it stops."""
    car = settle(garage)
    trip = running_trip(garage, car)
    if car.cruise == speed:
        raise ToolError("unchanged", f"Cruise control is set to {speed} km/h already; choose another speed.")
    if garage.in_valet_mode and speed > VALET_SPEED:
        raise ToolError("valet_mode", f"A valet drives at {VALET_SPEED} km/h at most; choose a lower speed.")
    if speed > SAFE_SPEED and min(car.tyres) < LOW_TYRE:
        raise ToolError(
            "low_tyre_pressure", f"A tyre has less than {LOW_TYRE} kPa; drive at {SAFE_SPEED} km/h at most."
        )
    if car.level("hazard lights"):
        raise ToolError("hazard_lights_on", "The hazard lights are on; turn them off before using cruise control.")
    trip = garage.trips.change(trip.id, metres=driven(trip, garage.now), since=garage.now, speed=speed)
    garage.vehicles.change(car.id, cruise=speed)
    return trip_view(garage, trip)


# Tools for climate, lights, wipers and heating.


@server.write(idempotent=True)
def set_vehicle_climate(garage: Garage, celsius: Celsius) -> VehicleStatus:
    """Set the temperature in the car while its engine runs. It goes off with the engine."""
    car = settle(garage)
    require_engine(car, "the climate")
    if car.climate == celsius:
        raise ToolError("unchanged", f"The climate is set to {celsius} degrees already; choose another temperature.")
    if any(open > HALF for open in car.windows):
        raise ToolError("windows_open", f"A window is more than {HALF}% open; close it first.")
    require_energy(garage, 0, "the climate")
    garage.vehicles.change(car.id, climate=celsius)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def switch_vehicle_feature(garage: Garage, feature: Feature, level: FeatureTarget) -> VehicleStatus:
    """Set lights, wipers, defroster or seat heating to a level."""
    car = settle(garage)
    highest, needs_engine = FEATURES[feature]
    if level > highest:
        raise ToolError("out_of_range", f"The {feature} goes to {highest} at most; choose a lower level.")
    if needs_engine:
        require_engine(car, f"the {feature}")
    if car.level(feature) == level:
        raise ToolError("unchanged", f"The {feature} is at level {level} already; choose another level.")
    require_harmless(car, feature, level)
    others = [row for row in car.features if row.feature != feature]
    rows = [*others, FeatureLevel(feature=feature, level=level)] if level else others
    garage.vehicles.change(car.id, features=tuple(sorted(rows, key=lambda row: row.feature)))
    return get_vehicle_status(garage)


def require_harmless(car: Vehicle, feature: str, level: int) -> None:
    """Raise ToolError if a feature would get in the way of another part of the car, or blind its driver."""
    if feature == "fog lights" and level and not car.level("headlights"):
        raise ToolError("headlights_off", "Fog lights need the headlights; turn on the headlights first.")
    if feature == "headlights" and not level and car.level("fog lights"):
        raise ToolError("fog_lights_on", "The fog lights are on; turn them off before the headlights.")
    if feature == "wipers" and level and "hood" in car.open:
        raise ToolError("hood_open", "The wipers would hit the open hood; close it first.")
    if feature == "interior light" and level:
        require_standing(car)


# Tools for fuel or charge, and the workshop.

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


# Tools for driver profiles, the engine, the gears and the parking brake.


@server.write(idempotent=True)
def select_driver_profile(garage: Garage, profile: ProfileRef, pin: ProfilePin) -> DriverProfileView:
    """Select the profile of who drives, given its PIN."""
    car, row = settle(garage), garage.profiles[profile]
    require_standing(car)
    if pin != row.pin:
        raise ToolError("wrong_pin", f"This is not the PIN of {profile} ({row.name}); ask for the right one.")
    if car.profile == profile:
        raise ToolError("profile_active", f"{profile} ({row.name}) is active already; nothing is left to do.")
    garage.vehicles.change(car.id, profile=profile)
    return profile_view(garage, row)


@server.write(idempotent=True)
def start_engine(garage: Garage) -> VehicleStatus:
    """Start the engine of an unlocked car in park with its parking brake engaged."""
    car = settle(garage)
    if car.engine:
        raise ToolError("engine_running", "The engine is running already; nothing is left to do.")
    require_unlocked(car)
    if car.profile is None:
        raise ToolError("no_driver", "No driver profile is active; select one with its PIN first.")
    if "tank flap" in car.open:
        raise ToolError("flap_open", "The tank flap is open; close it first.")
    require_brake(car)
    require_energy(garage, 0, "starting the engine")
    garage.vehicles.change(car.id, engine=True)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def stop_engine(garage: Garage) -> VehicleStatus:
    """Stop the engine in park with the parking brake engaged. Climate and wipers go off."""
    car = settle(garage)
    if not car.engine:
        raise ToolError("engine_off", "The engine is off already; nothing is left to do.")
    require_standing(car)
    require_park(car)
    require_brake(car)
    left = tuple(row for row in car.features if not FEATURES[row.feature].needs_engine)
    garage.vehicles.change(car.id, engine=False, climate=None, features=left)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def shift_gear(garage: Garage, gear: GearTarget) -> VehicleStatus:
    """Shift the gear of the standing car while its engine runs."""
    car = settle(garage)
    require_engine(car, "shifting")
    require_standing(car)
    if car.gear == gear:
        raise ToolError("already_in_gear", f"The car is in gear {gear} already; nothing is left to do.")
    if gear in ("D", "R"):
        require_closed(car)
    garage.vehicles.change(car.id, gear=gear)
    return get_vehicle_status(garage)


@server.write(idempotent=True)
def set_parking_brake(garage: Garage, to: BrakeTarget) -> VehicleStatus:
    """Engage the standing car's parking brake, or release it while the engine runs."""
    car = settle(garage)
    require_standing(car)
    if car.parking_brake == (to == "engaged"):
        raise ToolError(f"already_{to}", f"The parking brake is {to} already; nothing is left to do.")
    if to == "released":
        require_engine(car, "releasing the parking brake")
    garage.vehicles.change(car.id, parking_brake=to == "engaged")
    return get_vehicle_status(garage)


@server.known_by_heart
def pins(garage: Garage) -> dict[tuple[str, str], str]:
    """Return what the user knows: the PIN of every driver profile."""
    return {(row.id, "pin"): row.pin for row in garage.profiles}
