"""The library as a session finds it: the same for one seed, another one for another."""

from __future__ import annotations

from datetime import timedelta

from mcp_servers.core import Draw
from mcp_servers.shared.fake_text import FakeText
from mcp_servers.shared.people import cast, get_start_time

from .state import Book, Hold, Library, Loan

ADJECTIVES = ("Brief", "Hidden", "Last", "Open", "Quiet", "Second", "Silent", "Small", "Stone", "Winter")
NOUNS = ("Bridge", "Garden", "Harbour", "History", "Island", "Letter", "Mountain", "River", "Season", "Voyage")
BOOKS = {"small": 8, "default": 80, "large": 100}


def seed(seed: int, size: str) -> Library:
    library, draw = Library(seed, get_start_time(seed)), Draw("library", seed, size)
    words, readers = FakeText(draw), [person.id for person in cast(seed, 12)[1:]]
    titles = [f"The {adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
    for title in draw.sample(titles, BOOKS[size]):
        author = words.text("last_name")
        library.books.put(Book(id=library.books.new_id(), title=title, author=author, copies=draw.integer(1, 3)))
    books = draw.shuffle_items(list(library.books))
    for book in books[: len(books) // 3]:
        reader = draw.choice(readers)
        library.holds.put(Hold(id=library.holds.new_id(), book=book.id, title=book.title, reader=reader))
    for book in books[-2:]:
        due = library.now.date() + timedelta(days=draw.integer(-3, 14))
        library.loans.put(Loan(id=library.loans.new_id(), book=book.id, title=book.title, due=due))
    return library
