"""An export is made while it is sent, on every server of the site."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

from prove_web.api.streaming import stream_json_lines
from prove_web.core.streaming import stream_in_thread

ROW = {"text": "x" * 1_000}
MOST = 100_000


class Rows:
    """Rows that count how many of them were read."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[dict[str, str]]:
        for self.taken in range(1, MOST + 1):
            yield ROW


def test_a_reader_gets_the_first_lines_before_the_last_are_made() -> None:
    rows = Rows()
    answer = stream_json_lines(rows, "rows.jsonl")
    assert answer.streaming and rows.taken == 0
    first = next(iter(answer.streaming_content))
    assert json.loads(first.splitlines()[0]) == ROW and 0 < rows.taken < MOST / 10


def test_it_is_so_on_the_server_that_the_site_runs_on() -> None:
    rows = Rows()
    answer = stream_json_lines(rows, "rows.jsonl")
    stream_in_thread(answer)

    async def first() -> bytes:
        return await anext(aiter(answer.streaming_content))

    assert json.loads(asyncio.run(first()).splitlines()[0]) == ROW and 0 < rows.taken < MOST / 10
