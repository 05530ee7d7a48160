"""Registry of benchmarks: what each measures, what it needs, and how to open it."""

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
from .environment import BFCL, TAU2, NotInstalled, environment, find_interpreter
from .protocol import Benchmark
from .protocol import NotKnown as NotKnown
from .tau2.suite import CATEGORIES as DOMAINS
from .tau2.suite import SPLITS
from .teval import entries as teval
from .teval.benchmark import Teval
from .teval.embedding import install_embedding
from .worlds.benchmark import CATEGORIES as SERVERS
from .worlds.benchmark import worlds
from .worlds.generalisation import DEFAULT, HELD_OUT, SEEN, generalisation
from .worlds.options import SEED, BadOption

Opener = Callable[[Path, Mapping[str, str]], AbstractContextManager[Benchmark]]


@dataclass(frozen=True)
class Option:
    """An option of a benchmark: name, description and default ("" is none).

    A `dataset` option is a folder; browser users select a dataset instead, as they must not name folders.
    """

    name: str
    about: str
    default: str = ""
    kind: Literal["text", "dataset"] = "text"


@dataclass(frozen=True, kw_only=True)
class BenchmarkSpec:
    """A registered benchmark. `opens` gets the folder of all benchmarks and the options, each with a value.

    `opens` raises NotInstalled, NotKnown for an option's value, and what the benchmark itself raises. `temperature` is
    the benchmark's own; `installs` installs its package, where there is one to install; `looks` raises NotInstalled
    where something it needs is missing.
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

    def describe_missing_requirement(self, root: Path) -> str:
        """Return what the benchmark lacks and how to get it; "" when nothing is known to be missing."""
        try:
            if self.looks:
                self.looks(root)
        except NotInstalled as reason:
            return str(reason)
        return ""


@contextmanager
def open_bfcl(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    with Bfcl(find_interpreter(root / "bfcl-env", "bfcl")) as benchmark:
        yield benchmark


def make_own_benchmark_opener(make: Callable[[Mapping[str, str], Path], Benchmark]) -> Opener:
    """Return an opener for a benchmark on our own servers; it takes the options and the site's tool graph."""

    @contextmanager
    def opens(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
        try:
            benchmark = make(options, root.parent / "graph")
        except BadOption as reason:
            raise NotKnown(str(reason)) from None
        yield benchmark

    return opens


def list_world_options(count: int) -> tuple[Option, ...]:
    """Return the options of benchmarks on our own servers; `count` is the default number of items per category."""
    return (
        Option("seed", "0 to 40; selects the held-out worlds and all random choices in them", str(SEED)),
        Option("count", "number of items per category", str(count)),
        Option(
            "servers",
            "comma-separated, or all; empty: those that the policy was trained on, or all if unknown",
        ),
        Option("candidates", "maximum number of tools per conversation, 8 to 64", "24"),
        Option("manner", "user language: paper (the paper's recipe) or plain (the small policy's training)", "paper"),
    )


def install_bfcl(root: Path) -> Path:
    environment(root / "bfcl-env", BFCL)
    return root / "bfcl-env"


@contextmanager
def open_tau2(root: Path, options: Mapping[str, str]) -> Iterator[Benchmark]:
    """Open tau2-bench. Also raises EndpointFailed."""
    from .tau2.benchmark import Tau2  # API clients take a second to import, so only an evaluation does
    from .tau2.user import user_endpoint

    if options["split"] not in SPLITS:
        raise NotKnown(f"tau2-bench has no split {options['split']!r}; it has {', '.join(SPLITS)}.")
    python = find_interpreter(root / "tau2-env", "tau2")
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
        BenchmarkSpec(
            name="bfcl",
            title="BFCL multi-turn",
            about="Stateful conversations of the Berkeley Function-Calling Leaderboard, judged by its own checker.",
            categories=CATEGORIES,
            opens=open_bfcl,
            temperature=0.001,
            installs=install_bfcl,
            looks=lambda root: find_interpreter(root / "bfcl-env", "bfcl"),
        ),
        BenchmarkSpec(
            name="tau2",
            title="tau2-bench",
            about="Customer service with a simulated user in three domains, judged by tau2's own evaluator.",
            categories=DOMAINS,
            opens=open_tau2,
            options=(
                Option("user_url", "address of the API of the model that plays the user; PROVE_LLM_URL if empty"),
                Option("user_model", "name of that model; PROVE_LLM_MODEL if empty"),
                Option("split", f"tau2's split of tasks: {', '.join(SPLITS)}", "base"),
            ),
            installs=install_tau2,
            looks=lambda root: find_interpreter(root / "tau2-env", "tau2"),
        ),
        BenchmarkSpec(
            name="teval",
            title="T-Eval",
            about="Six tool-use skills, each tested separately as JSON and as plain text, scored by T-Eval's rules.",
            categories=teval.CATEGORIES,
            opens=open_teval,
            options=(
                Option("data", "folder of its *_v2.json files, relative to the benchmarks folder", "teval"),
                Option("embedding", "folder of the model that compares sentences", "teval-embedding"),
            ),
            installs=install_teval,
            looks=lambda root: teval.files_in(root / "teval"),
        ),
        BenchmarkSpec(
            name="worlds",
            title="Held-out worlds",
            about="Conversations in worlds of our servers unseen in training, judged by calls and final state.",
            categories=SERVERS,
            opens=make_own_benchmark_opener(worlds),
            options=(
                *list_world_options(20),
                Option("data", "dataset whose held-out conversations are used instead", kind="dataset"),
            ),
        ),
        BenchmarkSpec(
            name="generalisation",
            title="Generalisation to servers kept out",
            about="The same measure on servers used in the policy's training and on servers kept out of it.",
            categories=(SEEN, HELD_OUT),
            opens=make_own_benchmark_opener(generalisation),
            options=(
                *list_world_options(100),
                Option("kept_out", "servers kept out of training, comma-separated", DEFAULT),
                Option("data", "training set, checked to contain none of their tools", kind="dataset"),
            ),
        ),
        BenchmarkSpec(
            name="behaviour",
            title="Behaviour suite",
            about="What a policy does, or avoids, where a task has a catch: seven behaviours, judged by programs.",
            categories=BEHAVIOURS,
            opens=make_own_benchmark_opener(behaviours),
            options=list_world_options(25),
        ),
    )
}


def get_benchmark_spec(name: str) -> BenchmarkSpec:
    """Return the benchmark of a name. Raises NotKnown."""
    if name not in KNOWN:
        raise NotKnown(f"There is no benchmark {name!r}; there are {', '.join(KNOWN)}.")
    return KNOWN[name]


def open_benchmark(name: str, root: Path, options: Mapping[str, str]) -> AbstractContextManager[Benchmark]:
    """Open a benchmark by name. Raises NotKnown, NotInstalled, and what the benchmark itself raises."""
    one = get_benchmark_spec(name)
    there = {option.name: option.default for option in one.options}
    if unknown := sorted(options.keys() - there.keys()):
        raise NotKnown(f"{one.title} has no option {unknown[0]!r}; it has {', '.join(there) or 'none'}.")
    return one.opens(root, {**there, **options})
