"""The benchmarks there are: what each measures, what it needs, and how it is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .behaviour.benchmark import CATEGORIES as BEHAVIOURS
from .behaviour.benchmark import behaviours
from .bfcl.benchmark import CATEGORIES, Bfcl
from .environment import BFCL, TAU2, NotInstalled, environment, installed
from .protocol import Benchmark
from .protocol import NotKnown as NotKnown
from .tau2.suite import CATEGORIES as DOMAINS
from .tau2.suite import SPLITS
from .teval import entries as teval
from .teval.benchmark import Teval
from .teval.embedding import install_embedding
from .worlds.benchmark import CATEGORIES as SERVERS
from .worlds.benchmark import worlds
from .worlds.generalisation import DEFAULT, KEPT_OUT, SEEN, generalisation
from .worlds.options import SEED, BadOption

Opener = Callable[[Path, Mapping[str, str]], AbstractContextManager[Benchmark]]


@dataclass(frozen=True)
class Option:
    """Something a benchmark takes beside the policy: its name, what it is, and what it is by default ("" is nothing).

    A `dataset` is the folder of one; at the browser it is chosen, as nobody there may name a folder.
    """

    name: str
    about: str
    default: str = ""
    kind: Literal["text", "dataset"] = "text"


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


def ours(make: Callable[[Mapping[str, str], Path], Benchmark]) -> Opener:
    """How a benchmark on our own servers is opened: by its options, and with the site's graph of tools."""

    @contextmanager
    def opens(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
        try:
            benchmark = make(options, root.parent / "graph")
        except BadOption as reason:
            raise NotKnown(str(reason)) from None
        yield benchmark

    return opens


def making(count: int) -> tuple[Option, ...]:
    """What those are made by."""
    return (
        Option("seed", "0 to 40; names the held-out worlds, and all that is drawn in them", str(SEED)),
        Option("count", "how many items a category has", str(count)),
        Option(
            "servers",
            "with commas between, or all; empty: those that the policy was trained on, or all where nobody knows",
        ),
        Option("candidates", "the most tools that a conversation shows, 8 to 64", "24"),
        Option("manner", "how users speak: as by the paper's recipe, or plain, as the small policy was shown", "paper"),
    )


def install_bfcl(root: Path) -> Path:
    environment(root / "bfcl-env", BFCL)
    return root / "bfcl-env"


@contextmanager
def open_tau2(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    """Raises EndpointFailed, too."""
    from .tau2.benchmark import Tau2  # a second, for clients of an API, that only an evaluation pays
    from .tau2.user import user_endpoint

    if options["split"] not in SPLITS:
        raise NotKnown(f"tau2-bench has no split {options['split']!r}; it has {', '.join(SPLITS)}.")
    python = installed(root / "tau2-env", "tau2")
    user = user_endpoint(options, os.environ, root.parent / "answers")
    with user or nullcontext(), Tau2(python, user, options["split"]) as benchmark:
        yield benchmark


def install_tau2(root: Path) -> Path:
    environment(root / "tau2-env", TAU2)
    return root / "tau2-env"


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
            looks=lambda root: installed(root / "bfcl-env", "bfcl"),
        ),
        Known(
            name="tau2",
            title="tau2-bench",
            about="Customer service with a simulated user in three domains, judged by tau2's own evaluator.",
            categories=DOMAINS,
            opens=open_tau2,
            options=(
                Option(
                    "user_url", "address of the API of the model that plays the user, that of PROVE_LLM_URL if empty"
                ),
                Option("user_model", "name of that model, that of PROVE_LLM_MODEL if empty"),
                Option("split", f"tau2's split of tasks: {', '.join(SPLITS)}", "base"),
            ),
            installs=install_tau2,
            looks=lambda root: installed(root / "tau2-env", "tau2"),
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
            looks=lambda root: teval.files_in(root / "teval"),
        ),
        Known(
            name="worlds",
            title="Held-out worlds",
            about="Conversations in worlds of our servers that no training has seen, judged by calls and final state.",
            categories=SERVERS,
            opens=ours(worlds),
            options=(
                *making(20),
                Option("data", "instead: a data set; its held-out conversations", kind="dataset"),
            ),
        ),
        Known(
            name="generalisation",
            title="Generalisation to servers kept out",
            about="The same on servers that a policy was trained on, and on servers kept out of its training.",
            categories=(SEEN, KEPT_OUT),
            opens=ours(generalisation),
            options=(
                *making(100),
                Option("kept_out", "the servers kept out of training, with commas between", DEFAULT),
                Option("data", "the training set, to be checked to know nothing of them", kind="dataset"),
            ),
        ),
        Known(
            name="behaviour",
            title="Behaviour suite",
            about="What a policy does, or leaves, where a task has a catch: seven behaviours, judged by programs.",
            categories=BEHAVIOURS,
            opens=ours(behaviours),
            options=making(25),
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
