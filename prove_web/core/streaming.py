"""Streaming of responses over ASGI while they are created.

A page yields its chunks like any Python iterator. Django alone would make an ASGI server collect all of them in memory
before it sends the first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse

CHUNK = 1 << 18  # bytes created for each read


def merge_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Merge chunks into ones that are large enough to send."""
    held, size = list[bytes](), 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def stream_in_thread(response: StreamingHttpResponse) -> None:
    """Create a response's chunks one at a time, as the client reads them."""
    if not response.is_async:
        response.streaming_content = iterate_in_thread(merge_chunks(iter(response.streaming_content)))


async def iterate_in_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks, all created in a separate thread with its own database connection."""
    thread = ThreadPoolExecutor(1, "sent")
    following = sync_to_async(lambda: next(pieces, None), thread_sensitive=False, executor=thread)
    try:
        while (piece := await following()) is not None:
            yield piece
    finally:
        thread.submit(connections.close_all)
        thread.shutdown(wait=False)
