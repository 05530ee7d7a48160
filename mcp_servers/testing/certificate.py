"""Behaviour certificates: what a server answers on fixed random walks, and the first call that it answers otherwise.

A certificate lies beside its server as `certificate.json` and is the server's identity (`Server.fingerprint`): data made
with another one may not replay. It holds a digest of each tool's schema, and walks: plain ones, ones under injected
faults, and ones directed at single tools until each has done what was asked and refused in each way that its code
knows, in small and in default worlds. Of every call a walk keeps four characters: two of a digest of all replies so far,
two of the world after it. So nothing of a walk is stored but its seed, and the first difference still has a place.
"""

from __future__ import annotations

import json
import platform
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ..faults import Faults
from ..kit import Reply, Server
from ..kit.server import CERTIFICATE
from ..kit.walk import Call, Walker
from ..refusing import refusals_of
from ..world import World
from .fuzzer import FILE, DirectedWalker, dictionary

OK = "ok"
PLAIN, FAULTS = "", "faults"
SIZES = ("small", "default")
HELD_OUT = 1_000_000_000
ROUNDS, STEPS = 60, 150
MET = {"unavailable": 6, "rate_limited": 6, "stale": 15, "slow": 6}
ODD: tuple[tuple[str, str], ...] = (
    ("no_such_tool", "{}"), ("", "["), ("", "[]"), ("", '{"a": NaN}'), ("", '{"a": 10000000000000000}'),
    ("", '{"a": ' + "[" * 20 + "]" * 20 + "}"), ("", '{"a": "' + "x" * 10_001 + '"}'),
)  # fmt: skip
"""Calls that no tool sees; "" stands for a tool of the server."""

HERE = Path(__file__).parents[1]
SHARED = ("crossing", "distance", "faults", "people", "places", "words", "world", "refusing", "reference")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Walk:
    """A walk in the world of a seed: plain, under faults, or directed at the tool `focus`."""

    size: str
    seed: int
    focus: str
    steps: int


class Made(NamedTuple):
    """A call that a walk made, what was answered, and the digests that it is compared by."""

    call: Call
    reply: Reply
    mark: str
    end: str

    @property
    def pair(self) -> Pair:
        return self.call[0], OK if self.reply.ok else str(self.reply.data["error"])


@dataclass(frozen=True)
class Walked:
    """A walk, and its digests: four characters for its opening and for each of its calls, and one of all of it."""

    walk: Walk
    marks: str
    end: str


@dataclass(frozen=True)
class Certificate:
    """What a server's behaviour comes to: a digest for each tool's schema, and the walks."""

    schemas: dict[str, str]
    walks: tuple[Walked, ...]

    def dumps(self) -> str:
        """The certificate as the JSON text of its file, a walk a line."""
        lines = (json.dumps({**asdict(one.walk), "end": one.end, "marks": one.marks}) for one in self.walks)
        return '{\n"schemas": %s,\n"walks": [\n%s\n]\n}\n' % (json.dumps(self.schemas), ",\n".join(lines))

    @classmethod
    def read(cls, server: Server[Any]) -> Certificate:
        """The certificate beside a server. Raises what `Server.certificate` does."""
        found = server.certificate
        names = ("size", "seed", "focus", "steps")
        walks = (Walked(Walk(**{name: one[name] for name in names}), one["marks"], one["end"]) for one in found["walks"])
        return cls(found["schemas"], tuple(walks))


@dataclass(frozen=True)
class Difference:
    """The first thing in which a server is not as its certificate says."""

    server: str
    text: str

    def __str__(self) -> str:
        return f"{self.server}: {self.text}"


@dataclass
class Coverage:
    """The successes and refusals that walks came to, by size."""

    found: dict[str, set[Pair]] = field(default_factory=lambda: {size: set() for size in SIZES})

    def missing(self, server: Server[Any], size: str) -> set[Pair]:
        """What the code of the tools can come to and the walks did not, without what is known to be out of reach."""
        reached = self.found[size]
        return {
            (tool, code)
            for tool, code in declared(server) - unreachable(server, size)
            if not any(name == tool and is_of(found, code) for name, found in reached)
        }

    def needless(self, server: Server[Any]) -> list[str]:
        """Entries of `fuzz.toml` that say something is out of reach which is not, or which no tool could come to."""
        found = []
        for size in SIZES:
            for tool, code in unreachable(server, size) - unreachable(server, "any"):
                if any(name == tool and is_of(one, code) for name, one in self.found[size]):
                    found.append(f"{size}: {tool}.{code} is reached")
        both = set.intersection(*self.found.values())
        for tool, code in unreachable(server, "any"):
            if any(name == tool and is_of(one, code) for name, one in both):
                found.append(f"any: {tool}.{code} is reached")
        known = declared(server)
        found += [
            f"{size}: {tool}.{code} is no refusal of a tool"
            for size in ("any", *SIZES)
            for tool, code in sorted(unreachable(server, size) - known)
        ]
        return found


def declared(server: Server[Any]) -> set[Pair]:
    """Every tool's success, and each refusal its code can come to (`refusing.py`)."""
    return {(tool, code) for tool in server.tools for code in (OK, *(one.code for one in refusals_of(tool)))}


def unreachable(server: Server[Any], size: str) -> set[Pair]:
    """What no caller can bring about in worlds of this size, as `fuzz.toml` says; "any" for both sizes."""
    listed = dictionary(server).unreachable
    keys = [key for name in {"any", size} for key in listed.get(name, {})]
    return {(tool, code) for tool, _, code in (key.partition(".") for key in keys)}


def is_of(code: str, written: str) -> bool:
    """Whether a code is the one that is written in the source, `order_{status}` among them."""
    if "{" not in written:
        return code == written
    return bool(re.fullmatch(re.sub(r"\\\{.*?\\\}", r"\\w+", re.escape(written)), code))


def fixed_walks() -> Iterator[Walk]:
    """The walks that every certificate begins with."""
    for size, seeds, steps in (("small", 20, 100), ("default", 8, 80)):
        yield from (Walk(size, seed, PLAIN, steps) for seed in range(seeds))
        yield from (Walk(size, HELD_OUT + seed, PLAIN, 60) for seed in range(2))
        yield Walk(size, seeds, FAULTS, 60)
    yield Walk("large", 3, PLAIN, 6)


def certify(server: Server[Any]) -> tuple[Certificate, Coverage]:
    """Walk: the fixed walks, then those directed at what is still missing, cut after the last new thing they reach."""
    coverage, walks = Coverage(), list[Walked]()
    for walk in fixed_walks():
        marks, end = "", ""
        for made in made_by(server, walk):
            marks, end = marks + made.mark, made.end
            if walk.size in SIZES and made.call[0]:
                coverage.found[walk.size].add(made.pair)
        walks.append(Walked(walk, marks, end))
    for size in SIZES:
        walks += directed(server, size, coverage)
    return Certificate(schemas(server), tuple(walks)), coverage


def directed(server: Server[Any], size: str, coverage: Coverage) -> Iterator[Walked]:
    """Short walks to what is missing, a round of worlds after the other."""
    reached, missing = coverage.found[size], coverage.missing(server, size)
    for seed in range(ROUNDS):
        for tool in server.tools:
            if all(name != tool for name, _ in missing):
                continue
            marks, last = list[Made](), 0
            for made in made_by(server, Walk(size, seed, tool, STEPS)):
                marks.append(made)
                if made.call[0] and made.pair not in reached:
                    reached.add(made.pair)
                    found = {(name, code) for name, code in missing if name == made.pair[0] and is_of(made.pair[1], code)}
                    last = len(marks) if found else last
                    missing -= found
                    if all(name != tool for name, _ in missing):
                        break
            if last:
                text = "".join(made.mark for made in marks[:last])
                yield Walked(Walk(size, seed, tool, last - 1), text, marks[last - 1].end)


def made_by(server: Server[Any], walk: Walk) -> Iterator[Made]:
    """The opening of a walk, a call of no tool, and its calls one by one."""
    world = World.open(walk.seed, (server.name,), walk.size)
    known = sorted(f"{id} {name} {value}" for (id, name), value in world.known_by_heart().items())
    chain = digest(world.digest(), *known)
    yield Made(("", ""), Reply(True, ""), marked(chain) * 2, chain.hex())
    state, walker = world.sessions[server.name].state, Walker(server.tools, [world.sessions[server.name].state], server.name, walk.seed, walk.size, "certificate")
    if walk.focus not in (PLAIN, FAULTS):
        walker = DirectedWalker(world, server, walk.focus, server.name, walk.seed, walk.size)
    odd: list[Call] = []
    if walk.focus == FAULTS:
        world.faults = Faults(walk.seed, **MET)
        odd = [(name or next(iter(server.tools)), arguments) for name, arguments in ODD]
    for number in range(walk.steps):
        call = odd[number] if number < len(odd) else walker.next()
        reply = world.call(*call)
        walker.now = world.now
        if reply.ok:
            walker.learn(call[0], reply.text)
        replied = digest(chain.hex(), *call, reply.text)
        chain = digest(replied.hex(), world.digest(), str(len(world.injected)))
        yield Made(call, reply, marked(replied) + marked(chain), chain.hex())


def digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()


def marked(chain: bytes) -> str:
    """Two characters of a digest."""
    return urlsafe_b64encode(chain[:3])[:2].decode()


def schemas(server: Server[Any]) -> dict[str, str]:
    """A digest, by tool, of what clients are told of it."""
    return {
        tool.name: blake2b(
            json.dumps(
                [tool.description, tool.input_schema, tool.output_schema, tool.writes, tool.destructive, tool.idempotent],
                sort_keys=True,
            ).encode(),
            digest_size=6,
        ).hexdigest()
        for tool in server.tools.values()
    }


@dataclass(frozen=True)
class Checked:
    """How a server stands to its certificate: the first difference of each kind, and what the walks do not reach."""

    differences: tuple[Difference, ...]
    gaps: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not (self.differences or self.gaps)


def check(server: Server[Any]) -> Checked:
    """Make the walks of a server's certificate again. Raises what `Server.certificate` does."""
    certificate, coverage = Certificate.read(server), Coverage()
    found = list(changed_schemas(server, certificate))
    for walked in certificate.walks:
        if difference := first_difference(server, walked, coverage):
            return Checked((*found, difference), ())
    gaps = [f"{size}: {tool}.{code} is not reached" for size in SIZES for tool, code in sorted(coverage.missing(server, size))]
    return Checked(tuple(found), (*gaps, *coverage.needless(server)))


def changed_schemas(server: Server[Any], certificate: Certificate) -> Iterator[Difference]:
    now, before = schemas(server), certificate.schemas
    for text, names in (
        ("has the new tool", now.keys() - before.keys()),
        ("has no longer the tool", before.keys() - now.keys()),
        ("describes otherwise the tool", {name for name in now.keys() & before.keys() if now[name] != before[name]}),
    ):
        if names:
            yield Difference(server.name, f"{text}{'s' * (len(names) > 1)} {', '.join(sorted(names))}")


def first_difference(server: Server[Any], walked: Walked, coverage: Coverage) -> Difference | None:
    """The first call of a walk that is answered otherwise, or leads to another state; None when none is."""
    walk, end = walked.walk, ""
    where = f"{walk.size} world of seed {walk.seed}" + (f", walk to {walk.focus}" if walk.focus else "")
    for number, made in enumerate(made_by(server, walk)):
        before, end = walked.marks[4 * number : 4 * number + 4], made.end
        if made.mark != before:
            return Difference(server.name, f"{where}, {what_differs(number, made, before)}")
        if walk.size in SIZES and number:
            coverage.found[walk.size].add(made.pair)
    return None if end == walked.end else Difference(server.name, f"{where}: its end is another")


def what_differs(number: int, made: Made, before: str) -> str:
    if number == 0:
        return "at its opening: the world, or what its user knows, is another"
    (tool, arguments), (reply, state) = made.call, (made.mark[:2], made.mark[2:])
    if reply != before[:2]:
        return f"call {number}: {tool} {arguments}\n  reply before: not stored, digest {before[:2]}\n  reply now:    {made.reply.text}"
    return f"call {number}: {tool} {arguments}\n  the reply is the same: {made.reply.text}\n  the state after it is another: digest {before[2:]} before, {state} now"


def sources(server: Server[Any]) -> str:
    """A digest of all that a certificate can depend on: the server's files, the kit, what worlds share, the libraries."""
    found = blake2b(f"{platform.python_version()} {version('pydantic')} {version('pydantic-core')}".encode(), digest_size=8)
    own = [path for path in sorted(server.folder.iterdir()) if path.is_file()]
    shared = [HERE / f"{name}.py" for name in SHARED]
    for path in (*own, *shared, *sorted((HERE / "kit").glob("*.py")), *sorted((HERE / "testing").glob("*.py"))):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()


def write(server: Server[Any], certificate: Certificate) -> bool:
    """Store a certificate beside its server; whether it is another than before."""
    path, text = server.folder / CERTIFICATE, certificate.dumps()
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.write_text(text, "utf-8")
    return True
