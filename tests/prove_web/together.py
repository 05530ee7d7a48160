"""Two connections at once, as two web processes have them: threads with transactions of their own, on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from tests.waiting import eventually

Act = Callable[[], Any]
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


class Thread(threading.Thread):
    """A call in a thread with a connection of its own; `said` is its result or its exception."""

    def __init__(self, act: Act):
        super().__init__(daemon=True)
        self.act, self.said = act, None
        self.start()

    def run(self) -> None:
        try:
            self.said = self.act()
        except Exception as error:
            self.said = error
        finally:
            connection.close()


def overtaken(first: Act, second: Act) -> tuple[Any, Any]:
    """Start the second once the first is done; commit the first once the second has ended or waits for a lock."""
    done, go_on = threading.Event(), threading.Event()

    def begun() -> Any:
        with transaction.atomic():
            try:
                return first()
            finally:
                done.set()
                assert go_on.wait(30)

    ours = Thread(begun)
    assert done.wait(30)
    theirs = Thread(second)
    eventually(lambda: not theirs.is_alive() or waiting(), "the second to end, or to wait for the first", every=0.01)
    go_on.set()
    return ended(ours), ended(theirs)


def waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])


def at_once(*acts: Act) -> list[Any]:
    """Start all together, and return what each returned or raised."""
    gate = threading.Barrier(len(acts))

    def through(act: Act) -> Act:
        return lambda: (gate.wait(30), act())[1]

    return [ended(one) for one in [Thread(through(act)) for act in acts]]


def ended(thread: Thread) -> Any:
    thread.join(60)
    assert not thread.is_alive(), "It waits for ever."
    return thread.said
