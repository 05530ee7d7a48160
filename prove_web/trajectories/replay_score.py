"""Replay of a demonstration on the current servers: its reward by the paper, or why there is none."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import ValidationError

from mcp_servers.catalogue import SERVERS, behaves_otherwise
from training_worker.core.trajectory import Example, Reward, Rollout, loads
from training_worker.datasets.importers.external_replay import VERDICTS
from training_worker.environment.episode import StaleExample, oracle
from training_worker.reward import PAPER

from .breakdown import Part, parts_of
from .models import Trajectory


@dataclass(frozen=True)
class Verdict:
    """Outcome of a replay.

    `problem` says why there is no reward, or how the replay differs from the record; empty if they are equal. `rollout`
    is the replay; `scored_by` names the reward, empty for the paper's.
    """

    reward: Reward | None = None
    problem: str = ""
    parts: tuple[Part, ...] = ()
    most: float = PAPER.largest
    rollout: Rollout | None = None
    scored_by: str = ""


def example_of(trajectory: Trajectory) -> Example | None:
    """Return the recorded example; None for a record that the current code can't read, or whose parts do not fit."""
    try:
        example: Example = loads(Example, json.dumps(trajectory.record))
    except ValidationError:
        return None
    return example if has_valid_references(example) else None


def has_valid_references(example: Example) -> bool:
    """Return whether all turns, steps and edges that parts of the example refer to exist."""
    turns, steps = range(len(example.turns)), range(len(example.steps))
    return (
        bool(turns)
        and all(step.turn in turns and step.calls for step in example.steps)
        and all(place in steps for edge in example.edges for place in edge)
    )


def rollout_of(trajectory: Trajectory) -> Rollout | None:
    """Return the rollout; None for a demonstration, and for a rollout that the current code can't read."""
    try:
        return loads(Rollout, json.dumps(trajectory.rollout)) if trajectory.rollout else None
    except ValidationError:
        return None


def judge(example: Example) -> Verdict:
    """Replay the demonstration in a fresh world. Data of servers that behaved differently is not replayed."""
    if not example.runs_here:
        return Verdict(problem=not_replayed(example))
    missing = [name for name in example.world.servers if name not in SERVERS]
    if missing:
        return Verdict(problem=f"Missing server: {', '.join(missing)}. The trajectory cannot be replayed.")
    try:
        rollout = oracle(example)
    except StaleExample:
        return Verdict(
            problem=f"{behaves_otherwise(example.world.servers, example.fingerprint).capitalize()}, so it is shown as "
            "recorded, without a replay. Create a new dataset to train on the current servers."
        )
    except KeyError as gone:
        return Verdict(problem=f"Missing tool: {gone.args[0]}. The trajectory cannot be replayed.")
    reward = rollout.reward
    if reward is None:
        return Verdict(problem=f"The replay failed: {rollout.error}")
    observations = [text for step in example.steps for text in step.observations]
    same = [made.observation for made in rollout.calls] == observations and example.digests[-1:] == (rollout.digest,)
    problem = "" if same else "The replay ends in another state than recorded."
    return Verdict(reward, problem, parts_of(reward), rollout=rollout)


def not_replayed(example: Example) -> str:
    """Return why an imported conversation with calls is not replayed here, and the outcome on third-party servers."""
    if example.check is None:
        return "It was imported with calls of tools that are not available here, so it cannot be replayed."
    servers = ", ".join(example.check.servers)
    if example.check.verdict == "not_checked":
        said = f"Its calls could not be replayed on {servers} when it was imported: a server failed."
    else:
        verdict = VERDICTS[example.check.verdict]
        said = f"Its calls were replayed twice on {servers} when it was imported, and are {verdict}."
    return f"{said} Rollouts and replays on such servers are not supported yet."
