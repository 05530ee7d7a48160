"""What the smart home does and refuses, checked through its own tools in small worlds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from calling import change_state, check_refusals, do, later, refused, world_with

from mcp_servers.core import Session, minute_text
from mcp_servers.iot_devices import server
from mcp_servers.iot_devices.clock import battery, vacuum_now
from mcp_servers.iot_devices.engine import is_raining, read_sensor
from mcp_servers.iot_devices.state import (
    KINDS,
    EventPart,
    Home,
    HomeEvent,
    HomeRoom,
    HomeRoomId,
    HomeSensor,
    HomeSensorId,
    SmartDevice,
)
from mcp_servers.iot_devices.views import state_of

Homes = Session[Home]


RANGES = {"thermostat": (5, 30), "sprinkler": (5, 60), "plug": (1, 1), "camera": (1, 1)}


def a_home(
    alarm: str = "off",
    doors: tuple[str, ...] = ("locked", "locked"),
    cells: int = 0,
    quiet: tuple[int, int] = (22, 7),
    charge: int = 80,
    cleaning: bool = False,
) -> Homes:
    """A home with doors in these states, their batteries so many days old, and an Annex; nothing is scheduled."""

    def furnish(home: Home) -> None:
        for row in [*home.schedules, *home.codes]:
            (home.schedules if row.id in home.schedules else home.codes).remove(row.id)
        states = iter(doors)
        for door in list(home.doors):
            state = next(states) if door.kind == "door" else "closed"
            home.doors.change(door.id, state=state, cells_since=home.now - timedelta(days=cells))
        home.rooms.put(HomeRoom(id=HomeRoomId("HROOM-annex"), name="Annex", floor=0))
        home.hubs.change(home.hub.id, quiet_from=quiet[0], quiet_to=quiet[1])
        home.alarms.change(home.alarm.id, mode=alarm)
        room = HomeRoomId("HROOM-annex") if cleaning else None
        home.vacuums.change(next(iter(home.vacuums)).id, charge=charge, changed=home.now, cleaning=room)

    return world_with(server, furnish)


def add_device(session: Homes, kind: Any, days: int = 0, **fields: Any) -> SmartDevice:
    """Add a device to the Annex, which works and is off unless its fields say otherwise; its batteries are so old."""
    home = session.state
    low, high = RANGES.get(kind, (1, 100))
    row = SmartDevice(
        **{
            **{"id": f"SMDV-{len(home.devices)}", "name": f"spare {kind} {len(home.devices)}", "kind": kind},
            **{"room": "HROOM-annex", "online": True, "level": 0, "low": low, "high": high, "watts": 60, "meter": 90},
            **{"usual": fields.get("level") or high, "changed": home.now, "firmware": "1.0", "latest": "1.0"},
            **{"cells_since": home.now - timedelta(days=days) if KINDS[kind].cells else None, **fields},
        }
    )

    def install(home: Home) -> None:
        part = EventPart(device=row.id, level=row.level, meter=row.meter)
        home.devices.put(row)
        home.events.put(HomeEvent(id=home.events.new_id(), at=home.now, what="installed", parts=(part,)))

    change_state(session, install)
    return row


def add_thermometer(session: Homes) -> HomeSensor:
    """Add a sensor for the temperature of the Annex."""
    fields: dict[str, Any] = {"name": "Annex thermometer", "quantity": "temperature", "room": "HROOM-annex"}
    row = HomeSensor(id=HomeSensorId("HSNSR-annex"), cells_since=session.state.now, **fields)
    change_state(session, lambda home: home.sensors.put(row))
    return row


def device(kind: str, quiet: tuple[int, int] = (22, 7), alarm: str = "off", **fields: Any) -> tuple[Homes, SmartDevice]:
    """A home, and a device that was added to it."""
    session = a_home(quiet=quiet, alarm=alarm)
    return session, add_device(session, kind, **fields)


def wait_for_rain(session: Homes, rain: bool = True) -> Homes:
    """Move the clock on by hours until it rains, or does not."""
    while is_raining(session.state) != rain:
        later(session, 60)
    return session


def is_unplanned(row: SmartDevice, session: Homes) -> bool:
    return not session.state.schedules.where(device=row.id)


def works(row: SmartDevice, *kinds: str) -> bool:
    """Return whether a device obeys commands: it is on mains or has new batteries."""
    fresh = row.cells_since is None or row.changed - row.cells_since < timedelta(days=120)
    return row.kind in kinds and row.online and row.updating_until is None and not row.child_lock and fresh


def minute(session: Homes, **ahead: int) -> str:
    return minute_text(session.state.now + timedelta(**ahead))


def level(session: Homes, id: str) -> int:
    state = do(session, "get_smart_device", device=id)["state"]
    return 0 if state in ("off", "closed") else 1 if state == "on" else int(state.split()[0])


def test_a_device_is_switched_off_and_on_again_at_its_usual_level() -> None:
    session, row = device("light", level=40)
    assert refused(session, "switch_smart_device", device=row.id, power="on") == "already_on"
    assert do(session, "switch_smart_device", device=row.id, power="off")["state"] == "off"
    assert refused(session, "switch_smart_device", device=row.id, power="off") == "already_off"
    assert do(session, "switch_smart_device", device=row.id, power="on")["state"] == f"{row.level} percent"
    assert do(session, "get_smart_device", device=row.id)["last_event"] == "turned on"


def test_a_level_lies_within_the_range_of_the_device() -> None:
    session, row = device("thermostat")
    for wrong in (row.low - 1, row.high + 1):
        assert refused(session, "set_device_level", device=row.id, level=wrong) == "out_of_range"
    for right in (row.low, row.high):
        assert do(session, "set_device_level", device=row.id, level=right)["state"] == f"{right} degrees"
    assert refused(session, "set_device_level", device=row.id, level=row.high) == "unchanged"
    assert do(session, "set_device_level", device=row.id, level=0)["state"] == "off"
    assert do(session, "switch_smart_device", device=row.id, power="on")["state"] == f"{row.high} degrees"


def test_each_kind_takes_what_it_can_do() -> None:
    session, blinds = device("blinds")
    assert refused(session, "switch_smart_device", device=blinds.id, power="on") == "not_switchable"
    do(session, "set_device_level", device=blinds.id, level=0 if blinds.level else 40)
    session, plug = device("plug")
    assert refused(session, "set_device_level", device=plug.id, level=1) == "no_levels"


def test_a_child_lock_asks_for_the_pin() -> None:
    session, row = device("plug", child_lock=True)
    power, pin = "off" if row.level else "on", session.state.hub.pin
    assert refused(session, "switch_smart_device", device=row.id, power=power) == "child_lock"
    assert refused(session, "switch_device_group", room=row.room, kind="plug", power=power) == "child_lock"
    wrong = "0000" if pin != "0000" else "1111"
    assert refused(session, "switch_smart_device", device=row.id, power=power, pin=wrong) == "wrong_pin"
    assert refused(session, "schedule_smart_device", device=row.id, level=0, at=minute(session, days=1)) == "child_lock"
    scene = do(session, "create_home_scene", name="x")["id"]
    assert refused(session, "add_scene_action", scene=scene, device=row.id, level=0) == "child_lock"
    assert do(session, "switch_smart_device", device=row.id, power=power, pin=pin)["state"] == power


def test_a_group_is_all_devices_of_a_kind_in_a_room() -> None:
    session = a_home()
    lights = [add_device(session, "light").id for _ in range(2)]
    room = "HROOM-annex"
    do(session, "switch_device_group", room=room, kind="light", power="on")
    for power in ("off", "on", "off"):
        if any((level(session, id) > 0) != (power == "on") for id in lights):
            assert [
                row["id"] for row in do(session, "switch_device_group", room=room, kind="light", power=power)
            ] == lights
        assert [level(session, id) > 0 for id in lights] == [power == "on"] * len(lights)
    assert refused(session, "switch_device_group", room=room, kind="light", power="off") == "already_off"
    do(session, "switch_smart_device", device=lights[0], power="on")
    do(session, "switch_device_group", room=room, kind="light", power="on")
    assert refused(session, "switch_device_group", room=room, kind="light", power="on") == "already_on"
    assert refused(session, "switch_device_group", room=room, kind="sprinkler", power="on") == "empty_group"


def first_room(session: Homes) -> Any:
    return next(iter(session.state.rooms)).id


def test_quiet_hours_keep_speakers_low_and_the_vacuum_docked() -> None:
    session, row = device("speaker", quiet=(9, 10))
    assert refused(session, "set_device_level", device=row.id, level=31) == "quiet_hours"
    assert do(session, "set_device_level", device=row.id, level=30)["state"] == "30 percent volume"
    assert do(later(session, 60), "set_device_level", device=row.id, level=31)["state"] == "31 percent volume"
    session = a_home(quiet=(9, 10))
    assert refused(session, "start_vacuum", room=first_room(session)) == "quiet_hours"


def test_quiet_hours_may_go_past_midnight() -> None:
    session, row = device("speaker")
    night = session.state.now.replace(hour=0)
    for hour, quiet in [(21, False), (22, True), (26, True), (30, True), (31, False)]:
        at = minute_text(night + timedelta(hours=hour))
        reply = session.call("schedule_smart_device", {"device": row.id, "level": 60, "at": at})
        assert reply.ok != quiet, (hour, reply.text)


def test_a_schedule_sets_its_device_when_it_is_due() -> None:
    session, row = device("light", level=40)
    at = minute(session, minutes=10)
    do(session, "schedule_smart_device", device=row.id, level=row.high, at=at)
    assert refused(session, "schedule_smart_device", device=row.id, level=0, at=at) == "schedule_exists"
    assert do(session, "get_smart_device", device=row.id)["next_schedule"] == at
    then = level(later(session, 8), row.id)
    assert then == row.level and level(later(session, 1), row.id) == row.high
    assert "next_schedule" not in do(session, "get_smart_device", device=row.id)
    assert do(session, "switch_smart_device", device=row.id, power="off")["state"] == "off"
    assert level(later(session, 300), row.id) == 0


def test_a_schedule_lies_within_a_month_to_come() -> None:
    session, row = device("light")
    call = {"device": row.id, "level": row.high}
    assert refused(session, "schedule_smart_device", **call, at=minute(session)) == "in_the_past"
    assert refused(session, "schedule_smart_device", **call, at=minute(session, days=30, minutes=1)) == "too_far_ahead"
    assert (
        refused(session, "schedule_smart_device", device=row.id, level=101, at=minute(session)) == "invalid_arguments"
    )
    do(session, "schedule_smart_device", **call, at=minute(session, days=30))
    session, camera = device("camera")
    at = minute(session, days=1)
    assert refused(session, "schedule_smart_device", device=camera.id, level=1, at=at) == "not_plannable"


def test_energy_is_watts_times_hours() -> None:
    session, row = device("plug")
    before = do(session, "get_smart_device", device=row.id)
    assert (before["watts"], before["energy_wh"]) == (0, row.meter // 60)
    do(session, "switch_smart_device", device=row.id, power="on")
    after = do(later(session, 119), "get_smart_device", device=row.id)
    assert after["watts"] == row.watts
    assert after["energy_wh"] == (row.meter + 120 * row.watts) // 60
    do(session, "switch_smart_device", device=row.id, power="off")
    assert do(later(session, 500), "get_smart_device", device=row.id)["energy_wh"] == after["energy_wh"]


def test_energy_counts_what_a_schedule_did() -> None:
    session, row = device("plug")
    on, off = minute(session, days=9), minute(session, days=9, minutes=60)
    do(session, "schedule_smart_device", device=row.id, level=1, at=on)
    do(session, "schedule_smart_device", device=row.id, level=0, at=off)
    used = do(later(session, 12 * 24 * 60), "get_smart_device", device=row.id)["energy_wh"]
    assert used == (row.meter + 60 * row.watts) // 60


def test_a_sprinkler_stops_by_itself_and_does_not_water_in_the_rain() -> None:
    session, row = device("sprinkler")
    wait_for_rain(session, False)
    assert do(session, "set_device_level", device=row.id, level=row.low)["state"] == f"{row.low} minutes"
    assert level(later(session, row.low - 2), row.id) == row.low
    assert level(later(session, 1), row.id) == 0
    wait_for_rain(session)
    assert refused(session, "switch_smart_device", device=row.id, power="on") == "raining"


def test_a_watering_sprinkler_is_not_updated() -> None:
    session, row = device("sprinkler", latest="1.1")
    wait_for_rain(session, False)
    do(session, "switch_smart_device", device=row.id, power="on")
    assert refused(session, "update_device_firmware", device=row.id) == "device_running"
    do(session, "switch_smart_device", device=row.id, power="off")
    do(session, "update_device_firmware", device=row.id)


def test_an_update_takes_eight_minutes() -> None:
    session, row = device("light", latest="1.1")
    details = do(session, "get_smart_device", device=row.id)
    assert (details["firmware"], details["latest"]) == (row.firmware, row.latest)
    do(session, "update_device_firmware", device=row.id)
    assert refused(session, "switch_smart_device", device=row.id, power="on") == "device_updating"
    assert refused(later(session, 6), "update_device_firmware", device=row.id) == "device_updating"
    details = do(later(session, 1), "get_smart_device", device=row.id)
    assert details["firmware"] == row.latest and "latest" not in details and "updating_until" not in details
    assert refused(session, "update_device_firmware", device=row.id) == "up_to_date"


def test_nothing_happens_to_a_device_while_it_updates() -> None:
    session, row = device("light", latest="1.1")
    do(session, "schedule_smart_device", device=row.id, level=row.high, at=minute(session, minutes=6))
    do(session, "update_device_firmware", device=row.id)
    assert level(later(session, 30), row.id) == 0


def test_an_offline_device_does_nothing_until_it_is_restarted() -> None:
    session, row = device("light", online=False)
    assert refused(session, "switch_smart_device", device=row.id, power="on") == "device_offline"
    assert refused(session, "switch_device_group", room=row.room, kind="light", power="on") == "device_offline"
    assert do(session, "get_smart_device", device=row.id)["state"] == "offline"
    assert row.id in [found["id"] for found in do(session, "list_smart_devices", link="offline", limit=50)]
    assert do(session, "restart_smart_device", device=row.id)["state"] == "off"
    assert refused(session, "restart_smart_device", device=row.id) == "not_offline"
    assert row.id in [found["id"] for found in do(session, "list_smart_devices", link="online", limit=50)]
    do(session, "switch_smart_device", device=row.id, power="on")


def test_a_schedule_missed_offline_is_not_made_up_for() -> None:
    session, row = device("light", online=False)
    do(session, "schedule_smart_device", device=row.id, level=row.high, at=minute(session, minutes=5))
    do(later(session, 2_000 * 6), "restart_smart_device", device=row.id)
    assert level(session, row.id) == 0


def test_a_low_battery_stops_a_device() -> None:
    session, row = device("blinds", days=390)
    assert refused(session, "set_device_level", device=row.id, level=50) == "battery_low"
    assert do(session, "get_smart_device", device=row.id)["battery"] == battery(session.state, row) == 3


def test_an_offline_device_with_a_low_battery_stays_offline() -> None:
    session, row = device("blinds", days=390, online=False)
    assert refused(session, "restart_smart_device", device=row.id) == "battery_low"


def lockable(home: Home, state: str) -> list[Any]:
    return [
        row
        for row in home.doors
        if (row.kind, row.state) == ("door", state) and (home.now - row.cells_since).days < 250
    ]


def test_a_door_goes_from_locked_to_open_and_back() -> None:
    session = a_home()
    door, pin = lockable(session.state, "locked")[0].id, session.state.hub.pin
    wrong = "0000" if pin != "0000" else "1111"
    assert refused(session, "move_home_door", door=door, to="open") == "door_locked"
    assert refused(session, "move_home_door", door=door, to="closed") == "already_closed"
    assert refused(session, "set_door_lock", door=door, to="locked") == "already_locked"
    assert refused(session, "set_door_lock", door=door, to="unlocked") == "pin_required"
    assert refused(session, "set_door_lock", door=door, to="unlocked", pin=wrong) == "wrong_pin"
    assert do(session, "set_door_lock", door=door, to="unlocked", pin=pin)["state"] == "closed"
    assert refused(session, "set_door_lock", door=door, to="unlocked", pin=pin) == "already_unlocked"
    assert do(session, "move_home_door", door=door, to="open")["state"] == "open"
    assert refused(session, "move_home_door", door=door, to="open") == "already_open"
    assert refused(session, "set_door_lock", door=door, to="locked") == "door_open"
    assert do(session, "move_home_door", door=door, to="closed")["state"] == "closed"
    assert do(session, "set_door_lock", door=door, to="locked")["state"] == "locked"


def test_a_garage_door_has_no_lock() -> None:
    session = a_home()
    garage = next(row for row in session.state.doors if row.kind == "garage door")
    assert refused(session, "set_door_lock", door=garage.id, to="locked") == "no_lock"
    guest = next(iter(session.state.guests)).id
    until = minute(session, days=1)
    assert refused(session, "add_guest_code", door=garage.id, guest=guest, new_code="286013", until=until) == "no_lock"
    do(session, "move_home_door", door=garage.id, to="closed" if garage.state == "open" else "open")


def test_a_door_with_a_low_battery_does_not_move() -> None:
    session = a_home(cells=280)
    row = next(iter(session.state.doors))
    for to in ("open", "closed"):
        assert refused(session, "move_home_door", door=row.id, to=to) == "battery_low"


def secured(session: Homes) -> Homes:
    """The home with all its doors closed and locked."""
    for row in session.state.doors:
        if row.state == "open":
            do(session, "move_home_door", door=row.id, to="closed")
        if row.kind == "door" and row.state != "locked":
            do(session, "set_door_lock", door=row.id, to="locked")
    return session


def test_the_alarm_is_armed_when_all_is_closed_and_then_keeps_it_closed() -> None:
    session = a_home(doors=("open", "closed"))
    alarm, pin = session.state.alarm.id, session.state.hub.pin
    wrong = "0000" if pin != "0000" else "1111"
    assert refused(session, "set_home_alarm", alarm=alarm, mode="home", pin=pin) == "door_open"
    for row in session.state.doors:
        if row.state == "open":
            do(session, "move_home_door", door=row.id, to="closed")
    assert refused(session, "set_home_alarm", alarm=alarm, mode="home", pin=pin) == "door_unlocked"
    secured(session)
    assert refused(session, "set_home_alarm", alarm=alarm, mode="home", pin=wrong) == "wrong_pin"
    assert refused(session, "set_home_alarm", alarm=alarm, mode="off", pin=pin) == "unchanged"
    for mode in ("home", "away"):
        assert do(session, "set_home_alarm", alarm=alarm, mode=mode, pin=pin)["mode"] == mode
        assert do(session, "get_home_overview")["alarm"]["mode"] == mode
        for row in session.state.doors:
            if row.kind == "door":
                assert refused(session, "set_door_lock", door=row.id, to="unlocked", pin=pin) == "alarm_armed"
            assert refused(session, "move_home_door", door=row.id, to="open") == "alarm_armed"
    assert do(session, "set_home_alarm", alarm=alarm, mode="off", pin=pin)["mode"] == "off"


def test_while_everybody_is_away_nothing_moves() -> None:
    session = a_home(alarm="away")
    assert refused(session, "start_vacuum", room=first_room(session)) == "alarm_armed"
    motion = [row["value"] for row in do(session, "read_home_sensors", quantity="motion") if "value" in row]
    assert motion in ([0], [])
    session = a_home(cleaning=True)
    call = {"alarm": session.state.alarm.id, "pin": session.state.hub.pin}
    assert refused(session, "set_home_alarm", **call, mode="away") == "vacuum_not_docked"
    do(session, "set_home_alarm", **call, mode="home")


def test_an_armed_home_keeps_its_cameras_on() -> None:
    session, row = device("camera", alarm="home", level=1, latest="1.1")
    assert refused(session, "switch_smart_device", device=row.id, power="off") == "alarm_armed"
    assert refused(session, "update_device_firmware", device=row.id) == "alarm_armed"


def test_a_guest_gets_a_code_and_loses_it() -> None:
    session = a_home()
    door, guest = lockable(session.state, "locked")[0].id, next(iter(session.state.guests))
    call = {"door": door, "guest": guest.id, "new_code": "286013", "until": minute(session, days=3)}
    code = do(session, "add_guest_code", **call)
    assert "286013" not in str(code)
    assert do(session, "list_home_guests", name=guest.name.upper())[0]["codes"] == [code]
    assert refused(session, "add_guest_code", **call) == "guest_has_code"
    other = list(session.state.guests)[1].id
    assert refused(session, "add_guest_code", **{**call, "guest": other}) == "code_taken"
    assert refused(session, "add_guest_code", **{**call, "guest": other, "new_code": "123456"}) == "weak_code"
    assert refused(session, "add_guest_code", **{**call, "guest": other, "until": minute(session)}) == "in_the_past"
    late = minute(session, days=90, minutes=1)
    assert refused(session, "add_guest_code", **{**call, "guest": other, "until": late}) == "too_far_ahead"
    do(session, "add_guest_code", **{**call, "guest": other, "new_code": "391754", "until": minute(session, days=90)})
    do(session, "revoke_guest_code", code=code["id"])
    assert refused(session, "revoke_guest_code", code=code["id"]) == "not_found"
    do(session, "add_guest_code", **call)


def test_an_expired_code_no_longer_counts() -> None:
    session = a_home()
    door, guest = lockable(session.state, "locked")[0].id, next(iter(session.state.guests)).id
    call = {"door": door, "guest": guest, "new_code": "286013"}
    do(session, "add_guest_code", **call, until=minute(session, minutes=5))
    assert "codes" in do(later(session, 3), "list_home_guests")[0]
    assert "codes" not in do(later(session, 1), "list_home_guests")[0]
    do(session, "add_guest_code", **call, until=minute(session, days=1))


def test_a_door_has_five_codes_at_most() -> None:
    session = server.open(1, "default")
    door = lockable(session.state, "locked")[0].id
    count = len(session.state.live_codes(door=door))
    have = [row.guest for row in session.state.live_codes(door=door)]
    free = [row.id for row in session.state.guests if row.id not in have]
    codes = ["286013", "391754", "406928", "518370", "672495", "730516"]
    for code, guest in zip(codes[: 5 - count], free, strict=False):
        do(session, "add_guest_code", door=door, guest=guest, new_code=code, until=minute(session, days=1))
    last = {"door": door, "guest": free[-1], "new_code": "947102", "until": minute(session, days=1)}
    assert refused(session, "add_guest_code", **last) == "too_many_codes"


def test_no_tool_tells_a_pin_or_a_code() -> None:
    assert [tool.name for tool in server.tools.values() if "'pin'" in str(tool.output_schema)] == []
    assert [tool.name for tool in server.tools.values() if "'code'" in str(tool.output_schema)] == []


def test_the_vacuum_cleans_a_room_of_its_floor_and_docks() -> None:
    session = a_home()
    upstairs = next(row.id for row in session.state.rooms if row.floor == 1)
    charge = vacuum_now(session.state).charge
    assert refused(session, "dock_vacuum") == "already_docked"
    assert refused(session, "start_vacuum", room=upstairs) == "wrong_floor"
    name = next(iter(session.state.rooms)).name
    assert do(session, "start_vacuum", room=first_room(session)) == {
        "state": f"cleaning the {name}", "floor": 0, "charge": charge,
    }  # fmt: skip
    assert refused(session, "start_vacuum", room=first_room(session)) == "vacuum_not_docked"
    assert do(later(session, 9), "dock_vacuum") == {"state": "docked", "floor": 0, "charge": charge - 10}
    assert vacuum_now(later(session, 5).state).charge == charge - 10 + 3


def test_the_vacuum_comes_back_by_itself_and_charges() -> None:
    session = a_home()
    charge = vacuum_now(session.state).charge
    do(session, "start_vacuum", room=first_room(session))
    assert do(later(session, 38), "get_home_overview")["vacuum"]["charge"] == charge - 39
    assert do(later(session, 1), "get_home_overview")["vacuum"] == {
        "state": "docked",
        "floor": 0,
        "charge": charge - 40,
    }
    assert vacuum_now(later(session, 1_000).state).charge == 100


def test_an_empty_vacuum_charges_first() -> None:
    session = a_home(charge=20)
    assert refused(session, "start_vacuum", room=first_room(session)) == "vacuum_charging"
    missing = 30 - vacuum_now(session.state).charge
    do(later(session, 2 * missing), "start_vacuum", room=first_room(session))
    assert do(later(session, 21), "get_home_overview")["vacuum"]["state"] == "docked"


def scene_of(session: Homes, *pairs: tuple[str, int], name: str = "reading") -> str:
    id = str(do(session, "create_home_scene", name=name)["id"])
    for device, wanted in pairs:
        do(session, "add_scene_action", scene=id, device=device, level=wanted)
    return id


def quiet_lights(session: Homes) -> list[SmartDevice]:
    return [row for row in session.state.devices if works(row, "light") and is_unplanned(row, session)]


def test_a_scene_sets_all_its_devices() -> None:
    session = a_home()
    one, two = quiet_lights(session)[:2]
    scene = scene_of(session, (one.id, one.high), (two.id, 0))
    if (one.level, two.level) == (one.high, 0):
        do(session, "switch_smart_device", device=one.id, power="off")
    do(session, "activate_home_scene", scene=scene)
    assert (level(session, one.id), level(session, two.id)) == (one.high, 0)
    assert do(session, "get_smart_device", device=one.id)["last_event"] in ("scene reading", "installed", "turned off")
    assert refused(session, "activate_home_scene", scene=scene) == "scene_active"
    do(session, "set_device_level", device=two.id, level=two.high)
    do(session, "activate_home_scene", scene=scene)
    assert [row["id"] for row in do(session, "list_home_scenes", device=one.id, limit=50)].count(scene) == 1


def test_a_scene_is_put_together_of_different_devices_at_levels_they_have() -> None:
    session = a_home()
    row = quiet_lights(session)[0]
    scene = scene_of(session)
    assert refused(session, "create_home_scene", name="READING") == "scene_exists"
    assert refused(session, "activate_home_scene", scene=scene) == "empty_scene"
    do(session, "add_scene_action", scene=scene, device=row.id, level=row.high)
    assert refused(session, "add_scene_action", scene=scene, device=row.id, level=0) == "scene_conflict"
    session, camera = device("camera")
    scene = scene_of(session)
    assert refused(session, "add_scene_action", scene=scene, device=camera.id, level=1) == "not_plannable"
    session, heater = device("thermostat")
    scene = scene_of(session)
    assert refused(session, "add_scene_action", scene=scene, device=heater.id, level=heater.high + 1) == "out_of_range"


def test_a_scene_has_eight_actions_at_most() -> None:
    session = server.open(2, "default")
    lights = [row for row in session.state.devices if works(row, "light")]
    scene = scene_of(session, *((row.id, 0) for row in lights[:8]), name="huge")
    assert refused(session, "add_scene_action", scene=scene, device=lights[8].id, level=0) == "scene_full"


def test_a_scene_with_an_offline_device_changes_nothing() -> None:
    session, gone = device("light", online=False)
    row = quiet_lights(session)[0]
    scene = scene_of(session, (row.id, 0 if row.level else row.high), (gone.id, 0))
    assert refused(session, "activate_home_scene", scene=scene) == "device_offline"
    assert level(session, row.id) == row.level


def reads(home: Home, row: Any) -> bool:
    return row.quantity == "temperature" and read_sensor(home, row).value is not None


def test_an_automation_runs_its_scene_when_its_sensor_says_so() -> None:
    session = a_home()
    sensor = next(row for row in session.state.sensors if reads(session.state, row))
    row = quiet_lights(session)[0]
    value = read_sensor(session.state, sensor).value or 0
    scene = scene_of(session)
    call = {"scene": scene, "sensor": sensor.id, "comparison": "above"}
    assert refused(session, "create_home_automation", **call, threshold=0) == "empty_scene"
    do(session, "add_scene_action", scene=scene, device=row.id, level=0 if row.level else row.high)
    rule = do(session, "create_home_automation", **call, threshold=value - 30)
    assert refused(session, "create_home_automation", **call, threshold=7) == "automation_exists"
    never = do(session, "create_home_automation", **{**call, "comparison": "below"}, threshold=value - 30)
    assert [found["id"] for found in do(session, "list_home_automations", scene=scene)] == [rule["id"], never["id"]]
    assert refused(session, "run_home_automation", automation=never["id"]) == "condition_not_met"
    assert do(session, "run_home_automation", automation=rule["id"])["id"] == scene
    assert (level(session, row.id) > 0) == (row.level == 0)
    assert refused(session, "run_home_automation", automation=rule["id"]) == "scene_active"


def test_a_threshold_lies_within_what_the_sensor_measures() -> None:
    session = a_home()
    sensor = next(row.id for row in session.state.sensors if row.quantity == "humidity")
    scene = next(iter(session.state.scenes)).id
    for threshold in (-1, 101):
        call = {"scene": scene, "sensor": sensor, "comparison": "above", "threshold": threshold}
        assert refused(session, "create_home_automation", **call) == "out_of_range"


def test_an_automation_must_not_keep_itself_going() -> None:
    session, heater = device("thermostat")
    sensor = add_thermometer(session)
    scene = scene_of(session, (heater.id, 20))
    call = {"scene": scene, "sensor": sensor.id}
    assert refused(session, "create_home_automation", **call, comparison="above", threshold=199) == "automation_loop"
    assert refused(session, "create_home_automation", **call, comparison="below", threshold=201) == "automation_loop"
    do(session, "create_home_automation", **call, comparison="below", threshold=200)
    other = scene_of(session, name="other")
    light = next(row for row in session.state.devices if works(row, "light"))
    do(session, "add_scene_action", scene=other, device=light.id, level=0)
    do(session, "create_home_automation", scene=other, sensor=sensor.id, comparison="below", threshold=260)
    assert refused(session, "add_scene_action", scene=other, device=heater.id, level=25) == "automation_loop"


def test_an_empty_sensor_says_nothing() -> None:
    session = server.open(0, "default")
    mute = [row for row in session.state.sensors if read_sensor(session.state, row).value is None]
    rows = do(session, "read_home_sensors", limit=50)
    assert mute and [row["id"] for row in rows if "value" not in row] == [row.id for row in mute]
    scene = next(iter(session.state.scenes)).id
    call = {"scene": scene, "sensor": mute[0].id, "comparison": "below", "threshold": 5}
    rule = session.call("create_home_automation", call)
    id = rule.data["id"] if rule.ok else next(r.id for r in session.state.automations.where(sensor=mute[0].id))
    assert refused(session, "run_home_automation", automation=id) == "battery_low"


def test_a_room_goes_to_the_temperature_of_its_thermostat() -> None:
    session, heater = device("thermostat")
    sensor = add_thermometer(session)
    do(session, "set_device_level", device=heater.id, level=26)
    warm = do(later(session, 200), "read_home_sensors", room=heater.room, quantity="temperature")
    assert [row["id"] for row in warm] == [sensor.id] and 258 <= warm[0]["value"] <= 262
    do(session, "switch_smart_device", device=heater.id, power="off")
    cold = do(later(session, 1), "read_home_sensors", room=heater.room, quantity="temperature")[0]["value"]
    assert cold <= 202


def test_readings_change_with_the_clock_and_are_the_same_for_the_same_moment() -> None:
    session = server.open(5, "default")
    first = do(session, "read_home_sensors", limit=50)
    assert do(session, "read_home_sensors", limit=50) == first
    assert do(later(session, 180), "read_home_sensors", limit=50) != first


def test_devices_are_found_by_room_kind_and_whether_they_are_online() -> None:
    session = server.open(1, "default")
    home = session.state
    for room in list(home.rooms)[:4]:
        for kind in ("light", "plug"):
            expected = [row.id for row in home.devices if (row.room, row.kind) == (room.id, kind)]
            found = do(session, "list_smart_devices", room=room.id, kind=kind, limit=50)
            assert [row["id"] for row in found] == expected
    assert len(do(session, "list_smart_devices")) == 5
    assert {row["state"] for row in do(session, "list_smart_devices", link="offline", limit=50)} == {"offline"}
    assert refused(session, "list_smart_devices", room="HROOM-none") == "not_found"
    assert refused(session, "read_home_sensors", room="HROOM-none") == "not_found"
    floor = do(session, "get_home_overview", floor=1, limit=50)["rooms"]
    assert [row["id"] for row in floor] == [row.id for row in home.rooms if row.floor == 1]
    assert all(state_of(row) for row in home.devices)


@pytest.mark.parametrize("seed", [0, 1, 2, 1_000_000_000])
def test_every_home_goes_to_bed_and_lets_a_guest_in(seed: int) -> None:
    session = server.open(seed, "default")
    lights = [row.id for row in session.state.devices if works(row, "light")][:2]
    scene = scene_of(session, *((id, 0) for id in lights), name="bed")
    session.call("activate_home_scene", {"scene": scene})
    sensor = do(session, "read_home_sensors", quantity="humidity")[0]["id"]
    call = {"scene": scene, "sensor": sensor, "comparison": "below", "threshold": 99}
    rule = do(session, "create_home_automation", **call)["id"]
    do(session, "switch_smart_device", device=lights[0], power="on")
    reply = session.call("run_home_automation", {"automation": rule})
    assert reply.ok or reply.data["error"] == "battery_low"
    assert server.find_broken_invariants(session.state) == []


def test_an_open_door_is_named_before_an_unlocked_one() -> None:
    session = a_home(doors=("open", "closed"))
    alarm, pin = session.state.alarm.id, session.state.hub.pin
    assert refused(session, "set_home_alarm", alarm=alarm, mode="home", pin=pin) == "door_open"


def test_a_code_is_not_revoked_from_a_door_with_a_low_battery() -> None:
    session = a_home()
    call = {"door": next(iter(session.state.doors)).id, "guest": next(iter(session.state.guests)).id}
    do(session, "add_guest_code", **call, new_code="286013", until=minute(session, days=1))
    cells = session.state.now - timedelta(days=280)
    change_state(session, lambda home: home.doors.change(call["door"], cells_since=cells))
    code = next(iter(session.state.codes))
    assert refused(session, "revoke_guest_code", code=code.id) == "battery_low"


def test_an_easy_code_is_refused_and_one_of_even_steps_is_not() -> None:
    session = a_home()
    call = {"door": next(iter(session.state.doors)).id, "guest": next(iter(session.state.guests)).id}
    call["until"] = minute(session, days=1)
    easy = ("000000", "123456", "987654")
    check_refusals(session, [("add_guest_code", {**call, "new_code": code}, "weak_code") for code in easy])
    do(session, "add_guest_code", **call, new_code="135797")


@pytest.mark.parametrize("comparison", ["above", "below"])
def test_a_sensor_at_the_threshold_is_neither_above_nor_below(comparison: str) -> None:
    session = a_home()
    sensor = next(row for row in session.state.sensors if reads(session.state, row))
    row = quiet_lights(session)[0]
    scene = scene_of(session, (row.id, 0 if row.level else row.high))
    home = session.state.draft(now=session.state.now + timedelta(minutes=1))
    value = read_sensor(home, sensor).value or 0
    call = {"scene": scene, "sensor": sensor.id, "comparison": comparison}
    rule = do(session, "create_home_automation", **call, threshold=value)["id"]
    assert refused(session, "run_home_automation", automation=rule) == "condition_not_met"


def test_a_thermostat_that_is_off_or_offline_heats_nothing() -> None:
    session, heater = device("thermostat", online=False, level=24)
    sensor = add_thermometer(session)
    assert (read_sensor(later(session, 600).state, sensor).value or 0) <= 202
    do(session, "restart_smart_device", device=heater.id)
    assert (read_sensor(later(session, 600).state, sensor).value or 0) >= heater.level * 10 - 2
