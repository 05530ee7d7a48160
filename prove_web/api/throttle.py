"""How many requests a token, or a person signed in, may make in a minute."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from math import ceil

from django.conf import settings

WINDOW = 60.0  # seconds
MOST_KNOWN = 10_000  # whose requests are counted at once


class Counter:
    """Requests by who made them, in minutes that begin with a first one. It counts in this process alone.

    That is enough to keep a loop gone wild from the others' pages; it is no accounting.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counted: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def spend(self, who: str) -> int:
        """Count one request; the seconds to wait for it where there were too many, else 0."""
        now = time.monotonic()
        with self.lock:
            began, count = self.counted.pop(who, (now, 0))
            began, count = (now, 0) if now - began >= WINDOW else (began, count)
            allowed = count < settings.API_RATE
            self.counted[who] = (began, count + allowed)
            while len(self.counted) > MOST_KNOWN:
                self.counted.popitem(last=False)
        return 0 if allowed else max(1, ceil(began + WINDOW - now))


requests = Counter()
