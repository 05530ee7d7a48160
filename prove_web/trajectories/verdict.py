"""What becomes of a trajectory when its demonstration is run again now: its reward by the paper, or why none."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import ValidationError

from mcp_servers.catalogue import SERVERS
from training_worker.prove.importers.certify import VERDICTS
from training_worker.prove.reward import PAPER
from training_worker.prove.rollout import StaleExample, oracle
from training_worker.prove.trajectory import Example, Reward, loads

from .breakdown import Part, parts_of
from .models import Trajectory


@dataclass(frozen=True)
class Verdict:
    """`problem` says why there is no reward, or in what the replay differs from the record; empty when all is equal."""

    reward: Reward | None = None
    problem: str = ""
    parts: tuple[Part, ...] = ()
    most: float = PAPER.largest


def example_of(trajectory: Trajectory) -> Example | None:
    """The recorded example; None for a record that today's code cannot read."""
    try:
        return loads(Example, json.dumps(trajectory.record))
    except ValidationError:
        return None


def judge(example: Example) -> Verdict:
    """Run the demonstration in a fresh world. Data made by other server code is not run: it may not fit today's."""
    if not example.runs_here:
        return Verdict(problem=not_replayed(example))
    missing = [name for name in example.world.servers if name not in SERVERS]
    if missing:
        return Verdict(problem=f"There is no server {', '.join(missing)} any more, so it cannot be replayed.")
    try:
        rollout = oracle(example)
    except StaleExample:
        return Verdict(
            problem="Its servers have other code now than when it was made, so it is shown as recorded, without a "
            "replay. Make a new data set to train on today's servers."
        )
    reward = rollout.reward
    if reward is None:
        return Verdict(problem=f"Its replay broke: {rollout.error}")
    told = [text for step in example.steps for text in step.observations]
    same = [made.observation for made in rollout.calls] == told and rollout.digest == example.digests[-1]
    problem = "" if same else "Its replay ends in another world than was recorded."
    return Verdict(reward, problem, parts_of(reward))


def not_replayed(example: Example) -> str:
    """Why an imported conversation with calls has no replay here, and what servers of others made of it."""
    if example.check is None:
        return "It was imported with calls of tools that are not live here, so it cannot be replayed."
    servers = ", ".join(example.check.servers)
    if example.check.verdict == "not_checked":
        said = f"Its calls could not be replayed on {servers} when it was imported: a server broke."
    else:
        verdict = VERDICTS[example.check.verdict]
        said = f"Its calls were replayed twice on {servers} when it was imported, and are {verdict}."
    return f"{said} Rollouts and replays on such servers are not available here yet."
