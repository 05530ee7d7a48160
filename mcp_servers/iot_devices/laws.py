"""Invariants of the smart home: they hold in every state that a session can reach."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

from .clock import current, keeps_up, minutes_between, vacuum_now
from .server import server
from .state import KINDS, SENSES, Home
from .tools_access import MOST_CODES, is_secure
from .tools_automations import MOST_ACTIONS


@server.invariant
def levels_are_in_range(home: Home) -> bool:
    """Every device is off or at a level it has, now and when it was last changed, and so is its usual level."""
    rows = [row for stored in home.devices for row in (stored, current(home, stored.id))]
    return all(
        (row.level == 0 or row.low <= row.level <= row.high)
        and row.low <= row.usual <= row.high
        and row.changed <= home.now
        for row in rows
    )


@server.invariant
def an_armed_home_is_closed(home: Home) -> bool:
    """While the alarm is armed every door is locked, and every garage door closed; nothing cleans an empty home."""
    empty = home.alarm.mode == "away"
    return home.alarm.mode == "off" or (
        all(is_secure(row) for row in home.doors) and not (empty and vacuum_now(home).cleaning)
    )


@server.invariant
def only_doors_with_locks_are_locked(home: Home) -> bool:
    """A garage door has no lock, and no guest has a code for one."""
    garages = [row for row in home.doors if row.kind == "garage door"]
    return all(row.state != "locked" and not home.codes.where(door=row.id) for row in garages)


@server.invariant
def there_is_one_of_each(home: Home) -> bool:
    """A home has one alarm, one vacuum and one PIN of four digits."""
    pins = [row.pin for row in home.hubs]
    return len(pins) == len(home.alarms) == len(home.vacuums) == 1 and re.fullmatch("[0-9]{4}", pins[0]) is not None


@server.invariant
def the_vacuum_has_charge_and_stays_on_its_floor(home: Home) -> bool:
    """The vacuum is never empty, and cleans rooms of its own floor only."""
    row = vacuum_now(home)
    return 10 <= row.charge <= 100 and (row.cleaning is None or home.rooms[row.cleaning].floor == row.floor)


@server.invariant
def energy_meters_never_go_backwards(home: Home) -> bool:
    """Line after line of the log, no meter shows less, nor more than the device can have used since."""
    last: dict[str, tuple[int, datetime]] = {}
    for event in sorted(home.events, key=lambda event: event.at):
        for part in event.parts:
            before, then = last.get(part.device, (part.meter, event.at))
            most = before + home.devices[part.device].watts * minutes_between(then, event.at)
            if not before <= part.meter <= most:
                return False
            last[part.device] = part.meter, event.at
    return True


@server.invariant
def the_log_tells_how_devices_are(home: Home) -> bool:
    """The last line about a device has the moment, level and meter at which it was left."""
    for row in home.devices:
        event = home.events.where(devices=row.id)[-1]
        part = next(part for part in event.parts if part.device == row.id)
        if (event.at, part.level, part.meter) != (row.changed, row.level, row.meter):
            return False
    return True


@server.invariant
def what_is_updating_has_something_to_update(home: Home) -> bool:
    """Only a device that is online and does not water gets another firmware."""
    updating = [row for row in home.devices if row.updating_until is not None]
    return all(
        row.online and row.firmware != row.latest and not (row.kind == "sprinkler" and row.level) for row in updating
    )


@server.invariant
def scenes_set_what_they_may(home: Home) -> bool:
    """A scene sets each of a few devices once, to a level it has; none of these has a child lock."""
    for scene in home.scenes:
        if len(set(scene.devices)) < len(scene.actions) or len(scene.actions) > MOST_ACTIONS:
            return False
        for action in scene.actions:
            row = home.devices[action.device]
            if not KINDS[row.kind].planned or row.child_lock:
                return False
            if action.level and not row.low <= action.level <= row.high:
                return False
    return True


@server.invariant
def no_automation_sets_itself_off(home: Home) -> bool:
    """No scene sustains the condition of an automation that runs it."""
    return not any(
        keeps_up(home, home.sensors[row.sensor], row.comparison, row.threshold, action)
        for row in home.automations
        for action in home.scenes[row.scene].actions
    )


@server.invariant
def automations_are_in_order(home: Home) -> bool:
    """An automation has a sensor, a threshold it can reach, and a scene that sets something; none is there twice."""
    keys = [(row.scene, row.sensor, row.comparison) for row in home.automations]
    for row in home.automations:
        sensor, scene = home.sensors[row.sensor], home.scenes[row.scene]
        _, low, high = SENSES[sensor.quantity]
        if not low <= row.threshold <= high or not scene.actions:
            return False
        if (scene.name, sensor.name) != (row.scene_name, row.sensor_name):
            return False
    return len(set(keys)) == len(keys)


@server.invariant
def schedules_are_in_order(home: Home) -> bool:
    """A schedule lies after the moment it was made, and sets a device that can be scheduled to one of its levels."""
    keys = [(row.device, row.at) for row in home.schedules]
    for row in home.schedules:
        device = home.devices[row.device]
        if row.at <= row.created or row.name != device.name or not KINDS[device.kind].planned or device.child_lock:
            return False
        if row.level and not device.low <= row.level <= device.high:
            return False
    return len(set(keys)) == len(keys)


@server.invariant
def guests_have_codes_of_their_own(home: Home) -> bool:
    """On each door, no two codes that work are of one guest or have the same digits, and there are few."""
    live = home.live_codes()
    guests, digits = [(row.door, row.guest) for row in live], [(row.door, row.code) for row in live]
    return (
        len(set(guests)) == len(set(digits)) == len(live)
        and all(count <= MOST_CODES for count in Counter(row.door for row in live).values())
        and all(row.door in home.doors and row.guest in home.guests for row in home.codes)
    )


@server.invariant
def names_tell_devices_and_scenes_apart(home: Home) -> bool:
    """No two devices and no two scenes share a name."""
    for names in ([row.name for row in home.devices], [row.name.casefold() for row in home.scenes]):
        if len(set(names)) < len(names):
            return False
    return True
