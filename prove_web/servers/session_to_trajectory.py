"""A trajectory made of the calls of a session: which of them are the answer, and what a user says before each."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_servers.catalogue import TOOLS
from prove_web.accounts.models import Project, User
from prove_web.trajectories.fork_view import origin_of
from prove_web.trajectories.manual_dataset import keep
from prove_web.trajectories.models import Trajectory
from training_worker.prove.synthesis import manual
from training_worker.prove.trajectory import WorldRef

from .models import LiveSession, SessionCall

LONGEST = 4_000  # characters that a user says at once
MOST = 60  # calls that are offered


def offered(session: LiveSession, at: int) -> list[SessionCall]:
    """The calls that a trajectory may be made of: the newest up to a moment, the oldest of them first."""
    return list(session.calls.filter(position__lte=at).order_by("-position")[:MOST])[::-1]


def save_trajectory(
    project: Project,
    user: User,
    session: LiveSession,
    calls: list[SessionCall],
    used: list[SessionCall],
    said: Mapping[int, str],
) -> Trajectory:
    """The trajectory of the used ones among these calls, with what is said before each, by position; kept once a fresh
    world agrees. Raises Rejected, OSError."""
    made = build_calls(calls, used, said)
    world = WorldRef(session.seed, tuple(session.servers), session.size)
    return keep(project, user, lambda id: manual.example_of(id, world, made), origin_of(session))


def build_calls(calls: list[SessionCall], used: list[SessionCall], said: Mapping[int, str]) -> list[manual.ManualCall]:
    """The chosen calls with what is said before each: words before a call that is left out are for the next one."""
    made, waiting, positions = list[manual.ManualCall](), list[str](), {each.position for each in used}
    for each in calls:
        waiting += [said[each.position]] if said[each.position] else []
        if each.position in positions:
            made.append(manual.ManualCall(each.tool, each.arguments, each.text, " ".join(waiting)))
            waiting = []
    return made


def chosen(calls: list[SessionCall]) -> list[SessionCall]:
    """Those that did what was asked: a refusal is no part of what is right."""
    return [each for each in calls if each.ok and each.tool in TOOLS]


def tidy(words: str) -> str:
    """What the user says before a call, on one line."""
    return " ".join(words.replace("\0", "").split())[:LONGEST]
