"""How long tests wait for what other processes do: long, for waiting costs nothing when it happens soon."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 180.0  # seconds until a test gives up; a busy machine may stand still for a minute


def eventually(there: Callable[[], Any], what: str = "it", every: float = 0.05) -> Any:
    """What it gives once it gives something; looks again every so many seconds."""
    until = time.monotonic() + PATIENCE
    while not (found := there()):
        assert time.monotonic() < until, f"{what} did not happen within {PATIENCE:.0f} seconds"
        time.sleep(every)
    return found
