"""Answers that are sent while they are made, over ASGI.

A page gives its pieces one after another, as any iterator of Python does. Left to Django, an ASGI server would hold all
of them in memory before it sends the first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse

CHUNK = 1 << 18  # bytes made for each of a reader's askings


def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same in pieces large enough to be worth sending."""
    held, size = list[bytes](), 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def stream_in_thread(response: StreamingHttpResponse) -> None:
    """Have an answer's pieces made one at a time, as the reader takes them."""
    if not response.is_async:
        response.streaming_content = iterate_in_thread(gathered(iter(response.streaming_content)))


async def iterate_in_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, all made in one thread of their own, which has its own connection to the database."""
    thread = ThreadPoolExecutor(1, "sent")
    following = sync_to_async(lambda: next(pieces, None), thread_sensitive=False, executor=thread)
    try:
        while (piece := await following()) is not None:
            yield piece
    finally:
        thread.submit(connections.close_all)
        thread.shutdown(wait=False)
