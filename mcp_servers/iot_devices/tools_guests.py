"""Tools on the codes with which guests unlock a door."""

from __future__ import annotations

from datetime import timedelta

from ..kit import ToolError
from .parameters import CodeRef, CodeUntil, GuestRef, LockedDoor, NewCode
from .rules import require_future
from .schemas import GuestCodeView
from .server import server
from .state import GuestCode, Home
from .tools_doors import require_lock, working_door
from .views import code_view

MOST_CODES, LONGEST = 5, timedelta(days=90)


@server.write(idempotent=True)
def add_guest_code(home: Home, door: LockedDoor, guest: GuestRef, new_code: NewCode, until: CodeUntil) -> GuestCodeView:
    """Give a guest a code of their own for a door until a moment."""
    row, person = working_door(home, door), home.guests[guest]
    require_lock(row)
    require_future(home, until, LONGEST)
    codes = home.live_codes(door=door)
    if any(code.guest == guest for code in codes):
        raise ToolError("guest_has_code", f"{person.name} has a code for {door} ({row.name}); revoke it first.")
    if len(codes) >= MOST_CODES:
        raise ToolError("too_many_codes", f"{door} ({row.name}) has {MOST_CODES} guest codes; revoke one first.")
    if any(code.code == new_code for code in codes):
        raise ToolError("code_taken", "Another guest has this code for that door; choose another.")
    if is_weak(new_code):
        raise ToolError("weak_code", "The code is too easy to guess; avoid equal or consecutive digits.")
    return code_view(
        home.codes.put(
            GuestCode(
                id=home.codes.new_id(),
                door=door,
                door_name=row.name,
                guest=guest,
                guest_name=person.name,
                code=new_code,
                until=until,
            )
        )
    )


def is_weak(code: str) -> bool:
    """Whether all digits go on by the same step of -1, 0 or 1: 654321, 777777, 123456."""
    return code in "0123456789" or code in "9876543210" or code == code[0] * len(code)


@server.write(destructive=True, idempotent=True)
def revoke_guest_code(home: Home, code: CodeRef) -> GuestCodeView:
    """Revoke a guest's code for good."""
    working_door(home, home.codes[code].door)
    return code_view(home.codes.remove(code))
