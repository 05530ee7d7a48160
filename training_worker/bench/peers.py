"""The peers, each in its own environment that is installed on request, measured in alternation with our code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..evaluation.environment import BFCL, SetUpFailed, environment

HERE = Path(__file__).parent
VERIFIERS = ("verifiers==0.1.14", "faker==40.54.0", "python-dateutil==2.9.0.post0", "networkx==3.6.1")
TAU2 = (
    *("pydantic", "loguru", "deepdiff", "addict", "pyyaml", "toml", "python-dotenv", "docstring_parser", "fastapi"),
    *("rich", "tenacity", "pandas", "litellm<1.82.7", "requests", "psutil", "tabulate", "typer", "httpx", "numpy"),
)


class PeerFailed(SetUpFailed):
    """A peer that could not be run; the message says which and why."""


class Peer:
    """A peer's process: each line that it receives makes it measure once."""

    def __init__(self, name: str, process: subprocess.Popen[str]):
        self.name, self.process = name, process

    def measure(self) -> list[float]:
        """Return its seconds. Raises PeerFailed when it has ended."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except OSError:
            raise PeerFailed(f"{self.name} ended by itself.") from None
        for line in self.process.stdout:
            try:
                return [float(word) for word in line.split()]
            except ValueError:
                continue  # other output of the peer
        raise PeerFailed(f"{self.name} ended by itself.")


@contextmanager
def bfcl(folder: Path) -> Iterator[Peer]:
    """Run BFCL's multi-turn backends, from PyPI."""
    yield from run_peer("BFCL", environment(folder / "bfcl", BFCL), HERE / "peer_bfcl.py")


@contextmanager
def tau2(folder: Path, checkout: Path) -> Iterator[Peer]:
    """Run tau2-bench's retail domain, from a checkout of its repository: it is not on PyPI."""
    if not (checkout / "src" / "tau2").is_dir():
        raise PeerFailed(f"{checkout} is not a checkout of tau2-bench. Give the path of one to --tau2.")
    yield from run_peer("tau2", environment(folder / "tau2", TAU2), HERE / "peer_tau2.py", str(checkout.resolve()))


@contextmanager
def verifiers(folder: Path, calls: int, group: int, tasks: Path) -> Iterator[Peer]:
    """Run verifiers' StatefulToolEnv, from PyPI, with our worlds behind its tools; `tasks` has worlds and calls."""
    python = environment(folder / "verifiers", VERIFIERS)
    yield from run_peer(
        "verifiers", python, HERE / "peer_verifiers.py", str(calls), str(group), str(tasks), paths=HERE.parents[1]
    )


def run_peer(name: str, python: Path, script: Path, *arguments: str, paths: Path | None = None) -> Iterator[Peer]:
    """Yield a peer's process while it is measured; it also imports from `paths`."""
    command, given = [str(python), str(script), *arguments], {**os.environ, "PYTHONPATH": str(paths or "")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=given
    ) as process:
        yield Peer(name, process)
        process.kill()
