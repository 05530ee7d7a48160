"""Behaviour certificates: digests of a server's replies on fixed random walks, which locate the first differing call.

A certificate is stored beside its server as `certificate.json` and is the server's identity (`Server.fingerprint`):
data made with another one may not replay. It holds a digest of each tool's schema, and walks: plain ones, ones with
injected faults, and ones directed at single tools until each has succeeded and has refused in each way that its code
allows, in small and in default worlds. For every call a walk stores four characters: two of a digest of all replies so
far, two of the world after it. Apart from them only a walk's seed is stored, and the first difference can be located.
"""

from __future__ import annotations

import json
import platform
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ..core import Reply, Server
from ..core.random_walk import Call, Walker
from ..core.server import CERTIFICATE
from ..error_catalog import refusals_of
from ..faults import Faults
from ..world import World
from .fuzzer import DirectedWalker, dictionary

OK = "ok"
PLAIN, FAULTS = "", "faults"
SIZES = ("small", "default")
HELD_OUT = 1_000_000_000
ROUNDS, STEPS = 160, 150
MET = {"unavailable": 6, "rate_limited": 6, "stale": 15, "slow": 6}
ODD: tuple[tuple[str, str], ...] = (
    ("no_such_tool", "{}"), ("", "["), ("", "[]"), ("", '{"a": NaN}'), ("", '{"a": 10000000000000000}'),
    ("", '{"a": ' + "[" * 20 + "]" * 20 + "}"), ("", '{"a": "' + "x" * 10_001 + '"}'),
)  # fmt: skip
"""Calls that reach no tool; "" stands for a tool of the server."""

HERE = Path(__file__).parents[1]
FOLDERS, FILES = ("core", "shared", "testing"), ("faults.py", "world.py", "error_catalog.py", "reference.py")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Walk:
    """A walk in the world of a seed: plain, under faults, or directed at the tool `focus`."""

    size: str
    seed: int
    focus: str
    steps: int


class CallRecord(NamedTuple):
    """A call that a walk made, its reply, and the digests by which it is compared."""

    call: Call
    reply: Reply
    mark: str
    end: str

    @property
    def pair(self) -> Pair:
        return self.call[0], OK if self.reply.ok else str(self.reply.data["error"])


@dataclass(frozen=True)
class WalkRecord:
    """A walk and its digests: four characters for its start and for each of its calls, and one digest of all of it."""

    walk: Walk
    marks: str
    end: str


@dataclass(frozen=True)
class Certificate:
    """Certificate of a server's behaviour: a digest of each tool's schema, and the walks."""

    schemas: dict[str, str]
    walks: tuple[WalkRecord, ...]

    def dumps(self) -> str:
        """Return the certificate as the JSON text of its file, one walk per line."""
        lines = (json.dumps({**asdict(one.walk), "end": one.end, "marks": one.marks}) for one in self.walks)
        return f'{{\n"schemas": {json.dumps(self.schemas)},\n"walks": [\n' + ",\n".join(lines) + "\n]\n}\n"

    @classmethod
    def read(cls, server: Server[Any]) -> Certificate:
        """Read the certificate beside a server. Raises NotCertified."""
        found = server.certificate
        names = ("size", "seed", "focus", "steps")
        walks = (
            WalkRecord(Walk(**{name: one[name] for name in names}), one["marks"], one["end"]) for one in found["walks"]
        )
        return cls(found["schemas"], tuple(walks))


@dataclass
class Coverage:
    """Successes and refusals that walks reached, by size."""

    found: dict[str, set[Pair]] = field(default_factory=lambda: {size: set() for size in SIZES})

    def add(self, walk: Walk, made: CallRecord) -> None:
        if walk.size in SIZES and made.call[0]:
            self.found[walk.size].add(made.pair)

    def find_missing_outcomes(self, server: Server[Any], size: str) -> set[Pair]:
        """Return the outcomes that the tools' code allows and no walk reached, except unreachable and rare ones."""
        reached = self.found[size]
        return {
            (tool, code)
            for tool, code in list_declared_outcomes(server)
            - list_unreachable_outcomes(server, size)
            - pairs(dictionary(server).rare)
            if not any(name == tool and is_of(found, code) for name, found in reached)
        }

    def list_wrong_entries(self, server: Server[Any]) -> list[str]:
        """Return the wrong entries of `fuzz.toml`: outcomes that a walk does reach, or that no tool can have."""
        listed, known = dictionary(server), list_declared_outcomes(server)
        named = {*pairs(listed.rare), *(pair for keys in listed.unreached.values() for pair in pairs(keys))}
        found = [f"fuzz.toml: {tool}.{code} is no refusal of a tool" for tool, code in sorted(named - known)]
        for size in SIZES:
            for tool, code in sorted(list_unreachable_outcomes(server, size)):
                if any(name == tool and is_of(one, code) for name, one in self.found[size]):
                    found.append(f"fuzz.toml: {tool}.{code} is reached in a {size} world")
        return found


def pairs(keys: Iterable[str]) -> set[Pair]:
    """Return the tools and codes of keys such as "tool.code"."""
    return {(tool, code) for tool, _, code in (key.partition(".") for key in keys)}


def list_declared_outcomes(server: Server[Any]) -> set[Pair]:
    """Return every tool's success, and each refusal that its code can raise (`error_catalog.py`)."""
    return {(tool, code) for tool in server.tools for code in (OK, *(one.code for one in refusals_of(tool)))}


def list_unreachable_outcomes(server: Server[Any], size: str) -> set[Pair]:
    """Return the outcomes that no caller can reach in worlds of this size, as `fuzz.toml` says."""
    listed = dictionary(server).unreached
    return {pair for name in ("any", size) for pair in pairs(listed.get(name, {}))}


def is_of(code: str, written: str) -> bool:
    """Return whether a code matches the one written in the source, which may be a template such as `order_{status}`."""
    if "{" not in written:
        return code == written
    return bool(re.fullmatch(re.sub(r"\\\{[^{}]*\\\}", r"\\w+", re.escape(written)), code))


def fixed_walks() -> Iterator[Walk]:
    """Yield the walks that every certificate begins with."""
    for size, seeds, steps in (("small", 16, 100), ("default", 6, 80)):
        yield from (Walk(size, seed, PLAIN, steps) for seed in range(seeds))
        yield from (Walk(size, HELD_OUT + seed, PLAIN, 60) for seed in range(2))
        yield Walk(size, seeds, FAULTS, 60)
    yield Walk("large", 3, PLAIN, 6)


def certify(server: Server[Any]) -> tuple[Certificate, Coverage]:
    """Run the fixed walks, then walks directed at missing outcomes, each cut after its last new outcome."""
    coverage, walks = Coverage(), list[WalkRecord]()
    for walk in fixed_walks():
        marks, end = "", ""
        for made in run_walk(server, walk):
            marks, end = marks + made.mark, made.end
            coverage.add(walk, made)
        walks.append(WalkRecord(walk, marks, end))
    for size in SIZES:
        walks += run_directed_walks(server, size, coverage)
    return Certificate(schemas(server), tuple(walks)), coverage


def run_directed_walks(server: Server[Any], size: str, coverage: Coverage) -> Iterator[WalkRecord]:
    """Yield short walks to missing outcomes, one round of worlds after the other."""
    missing = coverage.find_missing_outcomes(server, size)
    for seed in range(ROUNDS):
        for tool in sorted({name for name, _ in missing}, key=list(server.tools).index):
            made, last = list[CallRecord](), 0
            for one in run_walk(server, walk := Walk(size, seed, tool, STEPS)):
                made.append(one)
                coverage.add(walk, one)
                new = {(name, code) for name, code in missing if name == one.pair[0] and is_of(one.pair[1], code)}
                missing -= new
                last = len(made) if new else last
                if all(name != tool for name, _ in missing):
                    break
            if last:
                marks = "".join(one.mark for one in made[:last])
                yield WalkRecord(Walk(size, seed, tool, last - 1), marks, made[last - 1].end)


def run_walk(server: Server[Any], walk: Walk) -> Iterator[CallRecord]:
    """Yield the start of a walk, as a call of no tool, and its calls one by one."""
    world = World.open(walk.seed, (server.name,), walk.size)
    known = sorted(f"{id} {name} {value}" for (id, name), value in world.known_by_heart().items())
    chain = digest(world.digest(), *known)
    yield CallRecord(("", ""), Reply(True, ""), shorten_digest(chain) * 2, chain.hex())
    key = (server.name, walk.seed, walk.size, "certificate")
    if walk.focus in (PLAIN, FAULTS):
        walker = Walker(server.tools, [world.sessions[server.name].state], *key)
    else:
        walker = DirectedWalker(world, server, walk.focus, *key)
    odd: list[Call] = []
    if walk.focus == FAULTS:
        world.faults = Faults(walk.seed, **MET)
        odd = [(name or next(iter(server.tools)), arguments) for name, arguments in ODD]
    for number in range(walk.steps):
        call = odd[number] if number < len(odd) else walker.draw_call()
        reply = world.call(*call)
        walker.now = world.now
        if reply.ok:
            walker.learn(call[0], reply.text)
        replied = digest(chain.hex(), *call, reply.text)
        chain = digest(replied.hex(), world.digest(), str(len(world.injected)))
        yield CallRecord(call, reply, shorten_digest(replied) + shorten_digest(chain), chain.hex())


def digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()


def shorten_digest(chain: bytes) -> str:
    """Return two characters of a digest."""
    return urlsafe_b64encode(chain[:3])[:2].decode()


def schemas(server: Server[Any]) -> dict[str, str]:
    """Return by tool a digest of what clients see of it."""
    return {
        tool.name: blake2b(
            json.dumps(
                [
                    tool.description,
                    tool.input_schema,
                    tool.output_schema,
                    tool.writes,
                    tool.destructive,
                    tool.idempotent,
                ],
                sort_keys=True,
            ).encode(),
            digest_size=6,
        ).hexdigest()
        for tool in server.tools.values()
    }


@dataclass(frozen=True)
class CertificateCheck:
    """Differences of a server from its certificate: changed schemas and the first call; and coverage gaps."""

    differences: tuple[str, ...]
    gaps: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.differences, *self.gaps)

    @property
    def ok(self) -> bool:
        return not self.lines


def check(server: Server[Any]) -> CertificateCheck:
    """Repeat the walks of a server's certificate. Raises NotCertified."""
    certificate, coverage = Certificate.read(server), Coverage()
    found = tuple(changed_schemas(schemas(server), certificate.schemas))
    for walked in certificate.walks:
        if difference := first_difference(server, walked, coverage):
            return CertificateCheck((*found, difference))
    return CertificateCheck(found, gaps(server, coverage))


def gaps(server: Server[Any], coverage: Coverage) -> tuple[str, ...]:
    """Return sentences on outcomes that no walk reaches and on wrong entries of `fuzz.toml`."""
    missing = (
        f"no walk in a {size} world comes to {tool}.{code}; say in fuzz.toml what leads there, or why nothing does"
        for size in SIZES
        for tool, code in sorted(coverage.find_missing_outcomes(server, size))
    )
    return (*missing, *coverage.list_wrong_entries(server))


def changed_schemas(now: dict[str, str], before: dict[str, str]) -> Iterator[str]:
    for text, names in (
        ("a new tool", now.keys() - before.keys()),
        ("no longer a tool", before.keys() - now.keys()),
        ("another schema or description", {name for name in now.keys() & before.keys() if now[name] != before[name]}),
    ):
        if names:
            yield f"{text}: {', '.join(sorted(names))}"


def first_difference(server: Server[Any], walked: WalkRecord, coverage: Coverage) -> str | None:
    """Describe the first call of a walk whose reply or state differs; None if there is none."""
    walk, end = walked.walk, ""
    where = f"{walk.size} world of seed {walk.seed}" + (f", walk to {walk.focus}" if walk.focus else "")
    for number, made in enumerate(run_walk(server, walk)):
        before, end = walked.marks[4 * number : 4 * number + 4], made.end
        if made.mark != before:
            return f"{where}, {what_differs(number, made, before)}"
        coverage.add(walk, made)
    return None if end == walked.end else f"{where}: it ends otherwise"


def what_differs(number: int, made: CallRecord, before: str) -> str:
    if number == 0:
        return "at its opening: the world, or what its user knows, is another"
    call, reply = f"call {number}: {made.call[0]} {made.call[1]}", made.mark[:2]
    if reply != before[:2]:
        return (
            f"{call}\n    reply before: digest {before[:2]} (the text is not stored)\n    reply now: {made.reply.text}"
        )
    return f"{call}\n    the reply is the same, the state after it is not: {made.reply.text}"


def sources(server: Server[Any]) -> str:
    """Return a digest of all that a certificate can depend on: the server's files, shared modules, libraries."""
    libraries = f"{platform.python_version()} {version('pydantic')} {version('pydantic-core')}"
    found = blake2b(libraries.encode(), digest_size=8)
    own = [path for path in sorted(server.folder.iterdir()) if path.is_file()]
    shared = [path for name in FOLDERS for path in sorted((HERE / name).glob("*.py"))]
    for path in (*own, *shared, *(HERE / name for name in FILES)):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()


def write(server: Server[Any], certificate: Certificate) -> None:
    """Store a certificate beside its server; it becomes the server's identity."""
    (server.folder / CERTIFICATE).write_text(certificate.dumps(), "utf-8")
    for name in ("certificate", "fingerprint"):
        server.__dict__.pop(name, None)
