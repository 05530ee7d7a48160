"""Accepting means verified: a trajectory is replayed on today's servers, and accepted as it is or for a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import User
from prove_web.environments.models import ServerVersion
from prove_web.environments.versions import ToolChange, changes, schemas
from prove_web.trajectories.models import Trajectory
from prove_web.trajectories.replay_score import not_replayed
from training_worker.prove.synthesis.drift import Difference, Rerun, ServerBroke, rerun
from training_worker.prove.trajectory import Example, Reward, dumps

from .loading import NotChecked, recorded
from .models import Acceptance, Item
from .to_demonstration import as_demonstration

# What became of the tools that a model was shown: their schemas when the data set came here, and now.


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


__all__ = ["Broken", "Checked", "Drifted", "NotChecked", "accept", "as_demonstration", "check"]

LONGEST_REASON = 2_000  # characters


class Broken(NotChecked):
    """A server broke in the replay: that is no drift, and says nothing of the trajectory."""


class Drifted(Exception):
    """A replay differs from the record, and no reason was given to accept it all the same."""

    def __init__(self, checked: Checked):
        super().__init__(" ".join(checked.drift))
        self.checked = checked


@dataclass(frozen=True)
class Checked:
    """A replay on the servers of `fingerprint`: its reward by the paper, the world's digest at its end, what differs.

    `before` is the reward as recorded. `other_code`: the trajectory was made with other code of its servers; that
    alone is no drift.
    """

    reward: Reward | None
    digest: str
    fingerprint: str
    drift: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    before: Reward | None = None
    other_code: bool = False


def check(trajectory: Trajectory) -> Checked:
    """Replay a demonstration, or the calls of an attempt, on today's servers. Raises NotChecked, and Broken of them."""
    example, attempt = recorded(trajectory)
    if not example.runs_here:
        return checked(Rerun("", differences=(Difference("elsewhere", not_replayed(example)),)), example)
    try:
        found = rerun(example, attempt)
    except ServerBroke as error:
        raise Broken(
            f"The replay failed because a server failed: {error}. This says nothing about the trajectory. Check the "
            "server on the Environments page, then verify again."
        ) from error
    differences = (*found.differences, *changed_schemas(trajectory, example, found.fingerprint))
    return checked(Rerun(found.fingerprint, found.digest, found.before, found.reward, differences), example)


def checked(found: Rerun, example: Example) -> Checked:
    return Checked(
        reward=found.reward,
        digest=found.digest,
        fingerprint=found.fingerprint,
        drift=tuple(one.text for one in found.differences),
        differences=found.differences,
        before=found.before,
        other_code=bool(found.fingerprint) and not example.source and found.fingerprint != example.fingerprint,
    )


def accept(trajectory: Trajectory, user: User, item: Item | None = None, reason: str = "") -> Acceptance:
    """Replay a trajectory and keep that it was accepted. Raises Drifted when it differs and there is no reason.

    Accepting again what was accepted with the same code, outcome and drift gives the acceptance there is, for `item`
    that of this item. Raises NotChecked, and Broken of them.
    """
    found, reason = check(trajectory), reason.strip()[:LONGEST_REASON]
    with transaction.atomic():
        Trajectory.objects.select_for_update(no_key=True).only("pk").get(
            pk=trajectory.pk
        )  # one at a time, so one is kept
        same = trajectory.acceptances.filter(fingerprint=found.fingerprint, digest=found.digest)
        same = same.filter(item=item) if item else same
        if known := next((one for one in same if tuple(one.drift) == found.drift), None):
            return known
        if found.drift and not reason:
            raise Drifted(found)
        return Acceptance.objects.create(
            trajectory=trajectory,
            item=item,
            accepted_by=user,
            fingerprint=found.fingerprint,
            digest=found.digest,
            reward=json.loads(dumps(found.reward)) if found.reward else None,
            drift=list(found.drift),
            reason=reason if found.drift else "",
        )
