"""Source and sampling of a queue's items, without what the user may not know before reviewing."""

from __future__ import annotations

from typing import Any

from prove_web.trajectories.search.trajectory_search import can_reveal_outcomes

from .blinding import Blind
from .models import Queue

NAMED = ("how", "n")  # shown of a sampling by rewards and verdicts


def describe_sample(queue: Queue, blind: Blind) -> dict[str, Any]:
    """Return `source` and `sampling` (see Queue).

    While an item waits for the user's own review, a search for rewards or labels is hidden, and so is the side on which
    people and the reward differ.
    """
    source, sampling = dict(queue.source), dict(queue.sampling)
    if blind.items.filter(queue=queue).exists():
        source |= {"query": "", "covered": True} if can_reveal_outcomes(str(source.get("query", ""))) else {}
        if sampling.get("how") == "disagreements":
            sampling = {name: sampling[name] for name in NAMED if name in sampling}
    return {"source": source, "sampling": sampling}
