"""Tree of forks of a session: which was forked from which, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .listing import annotate_call_counts
from .models import LiveSession

MOST_LEVELS = 50
MOST = 500


@dataclass(frozen=True)
class Branch:
    """A session in the tree; `depth` counts from the root, `last` tells whether it is the last of its level.

    `rails` tell, from the root on, whether a line continues at its left.
    """

    session: LiveSession
    depth: int
    last: bool
    rails: tuple[bool, ...]


def root_of(session: LiveSession) -> LiveSession:
    for _ in range(MOST_LEVELS):
        if session.parent_id is None:
            break
        session = LiveSession.objects.get(pk=session.parent_id)
    return session


def family(session: LiveSession) -> list[Branch]:
    """Return all sessions of the tree, each after its parent; one query for each level."""
    root = root_of(session)
    related = LiveSession.objects.select_related("created_by", "project__organisation")
    known = {one.pk: one for one in annotate_call_counts(related).filter(pk=root.pk)}
    level = list(known)
    while level and len(known) < MOST:
        found = list(
            annotate_call_counts(related).filter(parent__in=level, project=root.project_id)[: MOST - len(known)]
        )
        level = [one.pk for one in found if one.pk not in known]
        known |= {one.pk: one for one in found}
    under: dict[int | None, list[LiveSession]] = {}
    for one in known.values():
        under.setdefault(one.parent_id if one.pk != root.pk else None, []).append(one)
    return list(laid_out(under, None, ()))


def laid_out(
    under: dict[int | None, list[LiveSession]], parent: int | None, rails: tuple[bool, ...]
) -> Iterator[Branch]:
    ordered = sorted(under.get(parent, ()), key=lambda one: (one.parent_at, one.pk))
    for session, last in ends(ordered):
        yield Branch(session, len(rails), last, rails)
        yield from laid_out(under, session.pk, (*rails, not last))


def ends(sessions: Iterable[LiveSession]) -> Iterator[tuple[LiveSession, bool]]:
    found = list(sessions)
    yield from ((one, at == len(found) - 1) for at, one in enumerate(found))
