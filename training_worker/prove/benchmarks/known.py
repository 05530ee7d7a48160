"""The benchmarks there are: what each measures, what it needs, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .bfcl.benchmark import CATEGORIES, Bfcl
from .environment import BFCL, NotInstalled, environment, installed
from .protocol import Benchmark

Opener = Callable[[Path, Mapping[str, str]], AbstractContextManager[Benchmark]]


class NotKnown(Exception):
    """A benchmark, a category or an option that there is not; says which there are."""


@dataclass(frozen=True)
class Option:
    """Something a benchmark takes beside the policy: its name, what it is, and what it is by default ("" asks)."""

    name: str
    about: str
    default: str = ""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A benchmark by name. `opens` is given the folder of all benchmarks and the options, each with a value.

    It raises NotInstalled, NotKnown for an option's value, and what the benchmark itself raises. `temperature` is the
    benchmark's own; `installs` gets its package, where it has one that can be got; `looks` for what it needs, and
    raises NotInstalled.
    """

    name: str
    title: str
    about: str
    categories: tuple[str, ...]
    opens: Opener
    options: tuple[Option, ...] = ()
    temperature: float = 0.0
    installs: Callable[[Path], Path] | None = None
    looks: Callable[[Path], object] | None = None

    def missing(self, root: Path) -> str:
        """What it needs and does not have, and how to get it; "" when nothing is known to be missing."""
        try:
            if self.looks:
                self.looks(root)
        except NotInstalled as reason:
            return str(reason)
        return ""


@contextmanager
def open_bfcl(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    with Bfcl(installed(root / "bfcl-env", "bfcl")) as benchmark:
        yield benchmark


def install_bfcl(root: Path) -> Path:
    environment(root / "bfcl-env", BFCL)
    return root / "bfcl-env"


KNOWN = {
    one.name: one
    for one in (
        Known(
            name="bfcl",
            title="BFCL multi-turn",
            about="Stateful conversations of the Berkeley Function-Calling Leaderboard, judged by its own checker.",
            categories=CATEGORIES,
            opens=open_bfcl,
            temperature=0.001,
            installs=install_bfcl,
            looks=lambda root: installed(root / "bfcl-env", "bfcl"),
        ),
    )
}


def known(name: str) -> Known:
    """Raises NotKnown."""
    if name not in KNOWN:
        raise NotKnown(f"There is no benchmark {name!r}; there are {', '.join(KNOWN)}.")
    return KNOWN[name]


def opened(name: str, root: Path, options: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
    """Raises NotKnown, NotInstalled, and what the benchmark itself raises."""
    one = known(name)
    there = {option.name: option.default for option in one.options}
    if unknown := sorted(options.keys() - there.keys()):
        raise NotKnown(f"{one.title} has no option {unknown[0]!r}; it has {', '.join(there) or 'none'}.")
    return one.opens(root, {**there, **options})
