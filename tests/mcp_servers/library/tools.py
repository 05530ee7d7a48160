"""What a reader can do, and what is always true."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcp_servers.core import ObservedField, Server, ToolError

from .seed import seed
from .state import LENT_FOR, MOST_LOANS, MOST_RENEWALS, Book, BookId, Library, Loan, LoanId

server = Server("library", "Find, borrow, renew and return books of a lending library.", seed)

BookRef = Annotated[BookId, Field(description="Id of a book")]
LoanRef = Annotated[LoanId, Field(description="Id of one of your loans")]
Word = Annotated[str, Field(min_length=2, max_length=40, description="A word of the title"), ObservedField("title")]
ROWS = 5


@server.read()
def find_books(library: Library, word: Word) -> tuple[Book, ...]:
    """Find books by a word of their title."""
    return tuple(library.books.where(words=word.casefold().split()[-1] if word.split() else ""))[:ROWS]


@server.read()
def list_new_books(library: Library) -> tuple[Book, ...]:
    """List the books that came last."""
    return tuple(library.books)[-ROWS:]


@server.read()
def list_loans(library: Library) -> tuple[Loan, ...]:
    """List the books you have at home, with the day they are due."""
    return tuple(library.mine())


@server.write()
def borrow_book(library: Library, book: BookRef) -> Loan:
    """Borrow a book for three weeks."""
    wanted, mine = library.books[book], library.mine()
    if any(loan.due < library.now.date() for loan in mine):
        raise ToolError("loan_overdue", "One of your loans is overdue; return it before you borrow another book.")
    if len(mine) >= MOST_LOANS:
        raise ToolError("too_many_loans", f"You have {MOST_LOANS} books at home, the most allowed; return one first.")
    if library.out(book) >= wanted.copies:
        raise ToolError("all_copies_out", f"All copies of {wanted.title} are out or held; borrow another book.")
    due = library.now.date() + LENT_FOR
    return library.loans.put(Loan(id=library.loans.new_id(), book=book, title=wanted.title, due=due))


@server.write()
def renew_loan(library: Library, loan: LoanRef) -> Loan:
    """Renew a loan for three more weeks."""
    row = at_home(library, loan)
    if row.due < library.now.date():
        raise ToolError("loan_overdue", f"{row.title} was due on {row.due}; return it.")
    if row.renewed >= MOST_RENEWALS:
        raise ToolError("renewal_limit", f"{row.title} was renewed {MOST_RENEWALS} times, the most allowed; return it.")
    if library.holds.where(book=row.book):
        raise ToolError("book_on_hold", f"Somebody waits for {row.title}; return it in time.")
    return library.loans.change(loan, due=row.due + LENT_FOR, renewed=row.renewed + 1)


@server.write(idempotent=True)
def return_book(library: Library, loan: LoanRef) -> Loan:
    """Return a book that you have at home."""
    at_home(library, loan)
    return library.loans.change(loan, returned=True)


def at_home(library: Library, id: LoanId) -> Loan:
    """The loan, of a book that is not returned yet."""
    row = library.loans[id]
    if row.returned:
        raise ToolError("already_returned", f"{row.title} is back in the library; borrow it again if you want it.")
    return row


@server.invariant
def no_copy_is_lent_twice(library: Library) -> bool:
    """Of no book more copies are out or held than there are."""
    return all(library.out(book.id) <= book.copies for book in library.books)


@server.invariant
def loans_are_of_books_that_exist(library: Library) -> bool:
    """A loan names a book and its title."""
    return all(loan.book in library.books and loan.title == library.books[loan.book].title for loan in library.loans)


@server.invariant
def nobody_has_too_many_books(library: Library) -> bool:
    """The user has at most so many books at home."""
    return len(library.mine()) <= MOST_LOANS


@server.invariant
def renewals_are_limited(library: Library) -> bool:
    """No loan is renewed more often than allowed."""
    return all(0 <= loan.renewed <= MOST_RENEWALS for loan in library.loans)
