"""The benchmarks there are: what each measures, what it needs, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .bfcl.benchmark import CATEGORIES, Bfcl
from .environment import BFCL, environment, installed
from .protocol import Benchmark
from .teval import entries as teval
from .teval.benchmark import Teval
from .teval.embedding import install_embedding

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
    benchmark's own; `installs` gets its package, where it has one that can be got.
    """

    name: str
    title: str
    about: str
    categories: tuple[str, ...]
    opens: Opener
    options: tuple[Option, ...] = ()
    temperature: float = 0.0
    installs: Callable[[Path], Path] | None = None


@contextmanager
def open_bfcl(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    with Bfcl(installed(root / "bfcl-env", "bfcl")) as benchmark:
        yield benchmark


def install_bfcl(root: Path) -> Path:
    environment(root / "bfcl-env", BFCL)
    return root / "bfcl-env"


@contextmanager
def open_teval(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    data, embedding = (root / Path(options[name]).expanduser() for name in ("data", "embedding"))
    with Teval(data, embedding) as benchmark:
        yield benchmark


def install_teval(root: Path) -> Path:
    print(f"T-Eval's data is not on PyPI: {teval.WHERE}, {root / 'teval'}", flush=True)
    return install_embedding(root / "teval-embedding")


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
        ),
        Known(
            name="teval",
            title="T-Eval",
            about="Six skills of tool use one by one, answered as JSON and as plain text, scored by T-Eval's rules.",
            categories=teval.CATEGORIES,
            opens=open_teval,
            options=(
                Option("data", "the folder of its *_v2.json files, as seen from that of the benchmarks", "teval"),
                Option("embedding", "the folder of the model that compares sentences", "teval-embedding"),
            ),
            installs=install_teval,
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
