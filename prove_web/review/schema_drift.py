"""What became of the tools that a model was shown: their schemas when the data set came here, and now."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_servers.catalogue import SERVERS
from prove_web.environments.models import ServerVersion
from prove_web.environments.versions import ToolChange, changes, schemas
from prove_web.trajectories.models import Trajectory
from training_worker.prove.synthesis.drift import Difference
from training_worker.prove.trajectory import Example


def changed_schemas(trajectory: Trajectory, example: Example, today: str) -> list[Difference]:
    """The tools of an example whose schemas are others now; none with the code of `today`, a fingerprint.

    A version counts as that of the data set when it was the newest known at its making; servers without one are
    passed over, since nothing is known of how they were.
    """
    if example.source or example.fingerprint == today:
        return []
    shown = {*example.offered, *(call.name for step in example.steps for call in step.calls)}
    found = []
    for server in example.world.servers:
        if server not in SERVERS:
            continue
        known = ServerVersion.objects.filter(server=server, seen_at__lte=trajectory.dataset.created_at).first()
        for change in changes(known.schemas, schemas(server)) if known else ():
            if change.how == "changed" and change.tool in shown:
                sentence = f"The schema of {change.tool}, which the model was shown, is another one."
                found.append(Difference("schema", sentence, None, tuple(format_diff(change))))
    return found


def format_diff(change: ToolChange) -> Iterator[str]:
    """Where a schema differs, as a diff."""
    for where, before, now in change.lines:
        yield f"@@ {where} @@"
        yield from (f"-{line}" for line in (before or "").splitlines())
        yield from (f"+{line}" for line in (now or "").splitlines())
