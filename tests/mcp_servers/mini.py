"""A server with five tools, for tests of the core: a till of accounts, with notes that are due at some moment."""

from __future__ import annotations

from typing import Annotated, Literal, NewType

from pydantic import Field

from mcp_servers.core import (
    Day,
    Draw,
    Entity,
    Minute,
    ObservedField,
    Sensitive,
    Server,
    State,
    Table,
    ToolError,
    minute_text,
    table,
)
from mcp_servers.shared.people import cast, get_start_time

AccountId = NewType("AccountId", str)
NoteId = NewType("NoteId", str)


class Account(Entity):
    __label__ = "the {kind} account"
    id: AccountId
    kind: str
    owner: str
    pin: str
    balance: int


class Note(Entity):
    __label__ = "the note {text}"
    id: NoteId
    account: AccountId
    text: str
    due: Minute
    day: Day | None = None
    tags: tuple[str, ...] = ()


class Till(State):
    accounts: Table[AccountId, Account] = table("MAC", "account", index=("kind",))
    notes: Table[NoteId, Note] = table("MNT", "note", index=("account", "tags"))


OneAccount = Annotated[AccountId, Field(description="Id of an account")]
OneNote = Annotated[NoteId, Field(description="Id of a note")]
Cents = Annotated[int, Field(ge=1, le=1_000_00, description="Amount in cents", examples=[2500, 100])]
Pin = Annotated[str, Sensitive(), ObservedField("pin"), Field(description="PIN of the source account")]
Text = Annotated[str, Field(min_length=1, max_length=40, description="What to note", examples=["rent", "gift"])]
Due = Annotated[Minute, Field(description="When it is due, as YYYY-MM-DDTHH:MM:SSZ")]
OneDay = Annotated[Day | None, Field(description="A day, as YYYY-MM-DD")]
Tags = Annotated[tuple[Literal["home", "work"], ...], Field(max_length=2, description="Labels of the note")]
ROWS = {"small": 3, "default": 40, "large": 2_000}


def seed(seed: int, size: str) -> Till:
    till, draw = Till(seed, get_start_time(seed)), Draw("mini", seed)
    owner = cast(seed)[0].name
    for place in range(ROWS[size]):
        kind, pin = ("savings", "checking", "loan")[place % 3], f"{draw.integer(0, 9999):04}"
        account = Account(
            id=till.accounts.new_id(), kind=kind, owner=owner, pin=pin, balance=draw.integer(1_000, 90_000)
        )
        till.accounts.put(account)
    return till


server = Server("mini", "A till of accounts with notes.", seed)


@server.read()
def mini_accounts(
    till: Till,
    kind: Annotated[Literal["savings", "checking", "loan"] | None, Field(description="Only this kind")] = None,
) -> tuple[Account, ...]:
    """List the accounts."""
    return tuple(till.accounts if kind is None else till.accounts.where(kind=kind))[:5]


@server.write(destructive=True)
def mini_move(till: Till, source: OneAccount, target: OneAccount, amount: Cents, pin: Pin) -> Account:
    """Move money between two accounts."""
    giver, taker = till.accounts[source], till.accounts[target]
    if giver.pin != pin:
        raise ToolError("wrong_pin", "The PIN is wrong.")
    if source == target:
        raise ToolError("same_account", "Source and target are the same account.")
    if giver.balance < amount:
        raise ToolError("insufficient_funds", f"The account holds {giver.balance} cents.")
    till.accounts.change(target, balance=taker.balance + amount)
    return till.accounts.change(source, balance=giver.balance - amount)


@server.write()
def mini_note(till: Till, account: OneAccount, text: Text, due: Due, day: OneDay = None, tags: Tags = ()) -> Note:
    """Attach a note to an account."""
    if due <= till.now:
        raise ToolError("in_the_past", f"It is already {minute_text(till.now)}.")
    owner = till.accounts[account].id
    return till.notes.put(Note(id=till.notes.new_id(), account=owner, text=text, due=due, day=day, tags=tags))


@server.read()
def mini_read_note(till: Till, note: OneNote) -> Note:
    """Read a note."""
    return till.notes[note]


@server.write(destructive=True, idempotent=True)
def mini_delete_note(till: Till, note: OneNote) -> Note:
    """Delete a note."""
    return till.notes.remove(note)


@server.invariant
def nobody_owes(till: Till) -> bool:
    """No balance is below zero."""
    return all(account.balance >= 0 for account in till.accounts)


@server.invariant
def money_is_kept(till: Till) -> bool:
    """The money in the till is what it was at the beginning."""
    return sum(a.balance for a in till.accounts) == sum(a.balance for a in till.accounts.base.rows.values())


@server.invariant
def notes_have_accounts(till: Till) -> bool:
    """Every note belongs to an account."""
    return all(note.account in till.accounts for note in till.notes)


@server.invariant
def notes_have_text(till: Till) -> bool:
    """No note is empty."""
    return all(note.text for note in till.notes)
