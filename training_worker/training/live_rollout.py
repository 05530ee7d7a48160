"""The live rollout: the first episode of each step, written to a file after every turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ..core.trajectory import Boundary, Example, ExecutedCall, Message, Rollout
from ..environment.live_rollout import LiveRollout, write
from ..rollout.engine import Conversation, Sample

log = logging.getLogger(__name__)


@runtime_checkable
class Tellable(Protocol):
    """An episode that exposes its progress."""

    example: Example
    transcript: list[Message]
    calls: list[ExecutedCall]


class Watch:
    """A recorder of the first episode of each step, in one small file of a folder. A full disk does not end the run."""

    def __init__(self, folder: Path, on: bool = True):
        self.folder, self.on, self.step = folder, on, 0
        self.last: LiveRollout | None = None
        self.due = False

    def begin(self, step: int) -> None:
        self.step, self.due, self.last = step, self.on, None

    def wrap_episode_factory(self, attempt: Callable[[Example], Conversation]) -> Callable[[Example], Conversation]:
        """Return an episode factory that records the first episode since the step began."""

        def make_episode(example: Example) -> Conversation:
            one = attempt(example)
            if not self.due or not isinstance(one, Tellable):
                return one
            self.due = False
            return LiveEpisode(one, self)

        return make_episode

    def publish(self, rollout: Rollout, over: bool = False) -> None:
        self.last = LiveRollout(self.step, rollout, over)
        self.write(self.last)

    def mark_stored(self, samples: Sequence[Sample]) -> None:
        """Record which of the step's stored rollouts the live one is."""
        if self.last is None:
            return
        found = (place for place, one in enumerate(samples, 1) if one.rollout == self.last.rollout)
        self.write(replace(self.last, over=True, index=next(found, None)))

    def write(self, watched: LiveRollout) -> None:
        try:
            write(self.folder, watched)
        except OSError as error:
            log.warning("Could not write the live rollout: %s", error)


class LiveEpisode:
    """An episode that publishes its progress after every turn and otherwise behaves like the original."""

    def __init__(self, inner: Any, watch: Watch):
        self.inner, self.watch = inner, watch
        self.publish()

    @property
    def shorten(self) -> Callable[[str], str]:
        return self.inner.shorten

    @shorten.setter
    def shorten(self, shorten: Callable[[str], str]) -> None:
        self.inner.shorten = shorten

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        return self.inner.tools

    @property
    def opening(self) -> tuple[Message, ...]:
        return self.inner.opening

    @property
    def over(self) -> bool:
        return bool(self.inner.over)

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]:
        following: tuple[Message, ...] = self.inner.answer(text, truncated=truncated)
        self.publish()
        return following

    def overdue(self) -> bool:
        return bool(self.inner.overdue())

    def fail(self, boundary: Boundary, error: str) -> None:
        self.inner.fail(boundary, error)

    def finish(self) -> Rollout:
        rollout: Rollout = self.inner.finish()
        self.watch.publish(rollout, over=True)
        return rollout

    def publish(self) -> None:
        """Publish the rollout so far; its end and reward are not known yet."""
        said, calls = tuple(self.inner.transcript), tuple(self.inner.calls)
        so_far = Rollout(example=self.inner.example.id, transcript=said, calls=calls, end="answered", reward=None)
        self.watch.publish(so_far)
