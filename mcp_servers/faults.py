"""Fault injection: a service that is unavailable, slow, busy or stale, so that recovery can be trained and tested.

Which fault a call meets is drawn from a seed and the call itself, so that it is the same in every run, whatever other
calls were made; a repeated call is drawn again. The world lists every injected fault, so none counts as the model's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from .core import Draw, Reply, ToolError
from .core.session import refusal

Kind = Literal["unavailable", "rate_limited", "stale", "slow"]
KINDS: tuple[Kind, ...] = ("unavailable", "rate_limited", "stale", "slow")
REFUSALS: dict[Kind, str] = {
    "unavailable": "The service does not answer at the moment; nothing was changed. Try again.",
    "rate_limited": "Too many calls at once; nothing was changed. Wait a moment and try again.",
}
MOST_DELAY = 60_000


class InjectedFault(NamedTuple):
    """A fault injected into a call; `call` is its position among the calls of the world, from 1; `delay` is in ms."""

    call: int
    tool: str
    kind: Kind
    delay: int = 0


@dataclass(frozen=True)
class Faults:
    """Percentages of calls that meet each kind of fault, 0 by default; `delay` of a slow call is in milliseconds.

    Raises ValueError for percentages or a delay out of range.
    """

    seed: int = 0
    unavailable: int = 0
    rate_limited: int = 0
    stale: int = 0
    slow: int = 0
    delay: int = 500

    def __post_init__(self) -> None:
        shares = [self.share(kind) for kind in KINDS]
        if min(shares) < 0 or sum(shares) > 100 or not 0 <= self.delay <= MOST_DELAY:
            raise ValueError(
                f"Shares of faults are percentages, 100 in all at most; a delay is at most {MOST_DELAY} ms."
            )

    def share(self, kind: Kind) -> int:
        return int(getattr(self, kind))

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Parse faults such as `unavailable=5,slow=10,delay=800,seed=3`. Raises ValueError that says what is wrong."""
        known = [field.name for field in fields(cls)]
        found: dict[str, int] = {}
        for part in filter(None, text.split(",")):
            name, _, value = part.strip().partition("=")
            if name not in known or not value.lstrip("-").isdigit():
                raise ValueError(f"{part!r} is no fault: write name=number, the names are {', '.join(known)}.")
            found[name] = int(value)
        return cls(**found)

    def draw_fault(self, tool: str, arguments: str, tried: int) -> Kind | None:
        """Return the fault that this call meets when it is made for the `tried`-th time, or None."""
        mark = Draw("faults", self.seed, tool, arguments, tried).integer(1, 100)
        for kind in KINDS:
            mark -= self.share(kind)
            if mark <= 0:
                return kind
        return None


def build_fault_reply(kind: Kind) -> Reply:
    """Return the reply of a service that is unavailable or busy."""
    return refusal(ToolError(kind, REFUSALS[kind]))
