"""Acceptance of trajectories: a replay on the current servers verifies one, or a reason is given for its drift."""

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
from training_worker.core.trajectory import Example, Reward, dumps
from training_worker.datasets.drift import Difference, Rerun, ServerBroke, rerun

from .models import Acceptance, Item
from .to_demonstration import as_demonstration
from .trajectory_content import NotChecked, load_replay_input

# Drift of the tool schemas that a model saw, from when the dataset was created until now.


def changed_schemas(trajectory: Trajectory, example: Example, today: str) -> list[Difference]:
    """Return the tools of an example whose schemas have changed; none if `today`, a fingerprint, is its own.

    The version of the dataset is the newest that was known at its creation; servers without a recorded version are
    skipped, since their former schemas are unknown.
    """
    if example.source or example.fingerprint == today:
        return []
    tools = {*example.offered, *(call.name for step in example.steps for call in step.calls)}
    found = []
    for server in example.world.servers:
        if server not in SERVERS:
            continue
        known = ServerVersion.objects.filter(server=server, seen_at__lte=trajectory.dataset.created_at).first()
        for change in changes(known.schemas, schemas(server)) if known else ():
            if change.how == "changed" and change.tool in tools:
                sentence = f"The schema of {change.tool}, which the model was shown, is another one."
                found.append(Difference("schema", sentence, None, tuple(format_diff(change))))
    return found


def format_diff(change: ToolChange) -> Iterator[str]:
    """Yield a schema's differences as a diff."""
    for where, before, now in change.lines:
        yield f"@@ {where} @@"
        yield from (f"-{line}" for line in (before or "").splitlines())
        yield from (f"+{line}" for line in (now or "").splitlines())


__all__ = [
    "AcceptanceCheck",
    "NotChecked",
    "ReplayDriftError",
    "ReplayServerError",
    "accept",
    "as_demonstration",
    "check",
]

LONGEST_REASON = 2_000  # characters


class ReplayServerError(NotChecked):
    """Failure of a server during a replay: that is no drift, and says nothing about the trajectory."""


class ReplayDriftError(Exception):
    """Replay that differs from the record, without a reason to accept it nevertheless."""

    def __init__(self, checked: AcceptanceCheck):
        super().__init__(" ".join(checked.drift))
        self.checked = checked


@dataclass(frozen=True)
class AcceptanceCheck:
    """Replay on the servers of `fingerprint`: its reward by the paper, the world's final digest, and what differs.

    `before` is the recorded reward. `other_code`: the trajectory was created with other code of its servers; that alone
    is no drift.
    """

    reward: Reward | None
    digest: str
    fingerprint: str
    drift: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    before: Reward | None = None
    other_code: bool = False


def check(trajectory: Trajectory) -> AcceptanceCheck:
    """Replay a demonstration, or the calls of a rollout, on the current servers.

    Raises NotChecked, or its subclass Broken.
    """
    example, attempt = load_replay_input(trajectory)
    if not example.runs_here:
        return build_acceptance_check(Rerun("", differences=(Difference("elsewhere", not_replayed(example)),)), example)
    try:
        found = rerun(example, attempt)
    except ServerBroke as error:
        raise ReplayServerError(
            f"The replay failed because a server failed: {error}. This says nothing about the trajectory. Check the "
            "server on the Environments page, then verify again."
        ) from error
    differences = (*found.differences, *changed_schemas(trajectory, example, found.fingerprint))
    return build_acceptance_check(
        Rerun(found.fingerprint, found.digest, found.before, found.reward, differences), example
    )


def build_acceptance_check(found: Rerun, example: Example) -> AcceptanceCheck:
    return AcceptanceCheck(
        reward=found.reward,
        digest=found.digest,
        fingerprint=found.fingerprint,
        drift=tuple(one.text for one in found.differences),
        differences=found.differences,
        before=found.before,
        other_code=bool(found.fingerprint) and not example.source and found.fingerprint != example.fingerprint,
    )


def accept(trajectory: Trajectory, user: User, item: Item | None = None, reason: str = "") -> Acceptance:
    """Replay a trajectory and record its acceptance. Raises Drifted if it differs and there is no reason.

    Accepting again with the same code, outcome and drift returns the existing acceptance, for `item` that of this item.
    Raises NotChecked, or its subclass Broken.
    """
    found, reason = check(trajectory), reason.strip()[:LONGEST_REASON]
    with transaction.atomic():
        # serialized, so that only one is stored
        Trajectory.objects.select_for_update(no_key=True).only("pk").get(pk=trajectory.pk)
        same = trajectory.acceptances.filter(fingerprint=found.fingerprint, digest=found.digest)
        same = same.filter(item=item) if item else same
        if known := next((one for one in same if tuple(one.drift) == found.drift), None):
            return known
        if found.drift and not reason:
            raise ReplayDriftError(found)
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
