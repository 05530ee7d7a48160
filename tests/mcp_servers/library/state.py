"""A lending library: books with copies, members, loans and reservations."""

from __future__ import annotations

from datetime import timedelta
from typing import NewType

from mcp_servers.core import Day, Entity, State, Table, table
from mcp_servers.shared.people import EmailAddress

BookId = NewType("BookId", str)
LoanId = NewType("LoanId", str)
HoldId = NewType("HoldId", str)

MOST_LOANS, MOST_RENEWALS = 4, 2
LENT_FOR = timedelta(days=21)


class Book(Entity):
    """A title; `copies` are those the library owns."""

    __label__ = "the book {title}"
    id: BookId
    title: str
    author: str
    copies: int

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its title, by which it is found."""
        return tuple(self.title.casefold().split())


class Loan(Entity):
    """A copy that the user has at home, or had."""

    __label__ = "the loan of {title}"
    id: LoanId
    book: BookId
    title: str
    due: Day
    renewed: int = 0
    returned: bool = False


class Hold(Entity):
    """Somebody waits for a book that is out."""

    __label__ = "the hold on {title}"
    id: HoldId
    book: BookId
    title: str
    reader: EmailAddress


class Library(State):
    books: Table[BookId, Book] = table("BOK", "book", index=("words",))
    loans: Table[LoanId, Loan] = table("LOA", "loan", index=("book",))
    holds: Table[HoldId, Hold] = table("HLD", "hold", index=("book",))

    def out(self, book: BookId) -> int:
        """How many copies are lent to others or to the user."""
        return len(self.loans.where(book=book, returned=False)) + len(self.holds.where(book=book))

    def mine(self) -> list[Loan]:
        """What the user has at home."""
        return [loan for loan in self.loans if not loan.returned]
