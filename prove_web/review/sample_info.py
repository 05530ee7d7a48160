"""What the items of a queue were drawn from, and how, as far as a person may know before their own reviews."""

from __future__ import annotations

from typing import Any

from prove_web.trajectories.search.finding import tells

from .blinding import Blind
from .models import Queue

NAMED = ("how", "n")  # what is told of a sampling that went by rewards and verdicts


def drawn(queue: Queue, blind: Blind) -> dict[str, Any]:
    """`source` and `sampling` (see Queue). While an item of it waits for one's own review, without a search for
    rewards or labels, and without the side on which people and the reward differed."""
    source, sampling = dict(queue.source), dict(queue.sampling)
    if blind.items.filter(queue=queue).exists():
        source |= {"query": "", "covered": True} if tells(str(source.get("query", ""))) else {}
        if sampling.get("how") == "disagreements":
            sampling = {name: sampling[name] for name in NAMED if name in sampling}
    return {"source": source, "sampling": sampling}
