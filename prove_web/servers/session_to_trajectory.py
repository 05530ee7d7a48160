"""Creation of a trajectory from a session's calls: which are the ground truth, and the user's message before each."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_servers.catalogue import TOOLS
from prove_web.accounts.models import Project, User
from prove_web.trajectories.fork_view import origin_of
from prove_web.trajectories.manual_dataset import add_manual_example
from prove_web.trajectories.models import Trajectory
from training_worker.core.trajectory import WorldRef
from training_worker.datasets import manual

from .models import LiveSession, SessionCall

LONGEST = 4_000  # characters of a user message
MOST = 60  # calls to choose from


def list_usable_calls(session: LiveSession, at: int) -> list[SessionCall]:
    """Return the calls that a trajectory can use: the newest up to a moment, oldest first."""
    return list(session.calls.filter(position__lte=at).order_by("-position")[:MOST])[::-1]


def save_trajectory(
    project: Project,
    user: User,
    session: LiveSession,
    calls: list[SessionCall],
    used: list[SessionCall],
    said: Mapping[int, str],
) -> Trajectory:
    """Save the trajectory of the used calls, with the user's messages by position, if a replay in a fresh world agrees.

    Raises Rejected and OSError.
    """
    made = build_calls(calls, used, said)
    world = WorldRef(session.seed, tuple(session.servers), session.size)
    return add_manual_example(project, user, lambda id: manual.example_of(id, world, made), origin_of(session))


def build_calls(calls: list[SessionCall], used: list[SessionCall], said: Mapping[int, str]) -> list[manual.ManualCall]:
    """Return the used calls with their user messages; the message before an unused call is joined to the next one."""
    made, waiting, positions = list[manual.ManualCall](), list[str](), {each.position for each in used}
    for each in calls:
        waiting += [said[each.position]] if said[each.position] else []
        if each.position in positions:
            made.append(manual.ManualCall(each.tool, each.arguments, each.text, " ".join(waiting)))
            waiting = []
    return made


def select_successful_calls(calls: list[SessionCall]) -> list[SessionCall]:
    """Return the successful calls, because a refused call is not part of the ground truth."""
    return [each for each in calls if each.ok and each.tool in TOOLS]


def normalise_user_message(words: str) -> str:
    """Normalise a user message to one line."""
    return " ".join(words.replace("\0", "").split())[:LONGEST]
