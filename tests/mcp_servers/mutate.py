"""Mutation testing of the servers: small faults put into their code, and whether the tests notice.

    python tests/mcp_servers/mutate.py --each 10                 ten mutants of each server
    python tests/mcp_servers/mutate.py --server banking          one server

Three nets, each for what the one before lets through: the laws on random walks, the behaviour certificate, the server's
own tests. The certificate notices any other answer to the calls of its walks, whether it breaks a law or not.

Generic operators: a comparison turned or moved by one, arithmetic and logic swapped, a number moved by one, a condition
never true, a statement left out. Mutants are drawn from the code of tools, rules and state; not from the seed, whose
worlds are only other worlds, nor from the laws. Prints survivors; exit code 1 when laws and certificate kill less
than 60 %.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from mcp_servers.catalogue import SERVERS  # noqa: E402
from mcp_servers.core import Draw  # noqa: E402

LEFT_OUT = {"__init__", "server", "tools", "seed", "laws", "parameters", "names", "phrases", "history"}
ENOUGH = 0.6
PATIENCE = 180
LAWS = ("tests/mcp_servers/test_laws.py", "tests/mcp_servers/test_contracts.py")
CERTIFICATE = "tests/mcp_servers/test_certificate.py"
NETS = ("laws", "certificate", "own tests")
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COUNTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}


@dataclass(frozen=True)
class Mutant:
    """A fault of one kind in one node of a file, counted as `ast.walk` comes to them."""

    server: str
    path: Path
    node: int
    kind: int

    def made(self) -> tuple[str, str]:
        """Return what the fault is, and the full file with it."""
        tree = ast.parse(self.path.read_text("utf-8"))
        target = list(ast.walk(tree))[self.node]
        where, what = getattr(target, "lineno", 0), fault(target, self.kind)
        return f"{self.path.relative_to(ROOT)}:{where}: {what}", ast.unparse(ast.fix_missing_locations(tree))


def mutants(server: str) -> list[Mutant]:
    """Every mutant of a server's code, in order."""
    paths = [path for path in sorted((ROOT / "mcp_servers" / server).glob("*.py")) if path.stem not in LEFT_OUT]
    return [mutant for path in paths for mutant in of_file(server, path)]


def of_file(server: str, path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text("utf-8"))
    inside = within_functions(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in inside and not is_words(node):
            yield from (Mutant(server, path, number, kind) for kind in range(3) if fault(deepcopy(node), kind))


def within_functions(tree: ast.Module) -> set[int]:
    """The nodes in the body of a function, rather than in a decorator, an annotation or a table of words."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {id(part) for function in functions for line in function.body for part in ast.walk(line)}


def is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def fault(node: ast.AST, kind: int) -> str:
    """Put a fault of this kind into the node; what it is, or "" when there is none of this kind."""
    before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    match node, kind:
        case ast.Compare(ops=[operator]), 0 if type(operator) in COMPARED:
            node.ops = [COMPARED[type(operator)]()]
        case ast.BinOp(op=operator), 0 if type(operator) in COUNTED:
            node.op = COUNTED[type(operator)]()
        case ast.BoolOp(op=operator), 0:
            node.op = ast.And() if isinstance(operator, ast.Or) else ast.Or()
        case ast.UnaryOp(op=ast.Not()), 0:
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool(value)), 0:
            node.value = not value
        case ast.Constant(value=int(value)), 0:
            node.value = value + 1
        case ast.If(), 1:
            before, node.test = f"if {ast.unparse(node.test)}", ast.Constant(False)
        case ast.Expr(value=ast.Call()), 2:
            node.value = ast.Constant(None)
        case _:
            return ""
    after = "never" if kind == 1 else "left out" if kind == 2 else ast.unparse(node)
    return f"{before[:90]}  ->  {after[:90]}"


class Copy:
    """A copy of the code in which one file at a time is replaced."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("mcp_servers", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("prove_web", "training_worker", "templates", "manage.py", "pyproject.toml"):
            (folder / name).symlink_to(ROOT / name)

    def caught(self, mutant: Mutant) -> str | None:
        """The first net that a mutant is caught in, or None."""
        target = self.folder / mutant.path.relative_to(ROOT)
        target.write_text(mutant.made()[1], "utf-8")
        try:
            return next((net for net in NETS if not self.passes(mutant.server, net)), None)
        finally:
            shutil.copyfile(mutant.path, target)

    def passes(self, server: str, net: str) -> bool:
        which = {
            "laws": (*LAWS, "-k", f"{server}]"),
            "certificate": (CERTIFICATE, "-k", f"certificate_says and {server}]"),
            "own tests": (f"tests/mcp_servers/test_{server}.py",),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *which[net]]
        try:
            return subprocess.run(command, cwd=self.folder, capture_output=True, timeout=PATIENCE).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10, help="mutants of each server")
    parser.add_argument("--server", choices=SERVERS, action="append", help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    options = parser.parse_args(argv)
    total: Counter[str | None] = Counter()
    with tempfile.TemporaryDirectory(prefix="prove-mutants-") as folder:
        copy = Copy(Path(folder))
        for server in options.server or SERVERS:
            assert all(copy.passes(server, net) for net in NETS), f"the tests must pass on {server} as it is"
            drawn = Draw("mutants", options.seed, server).sample(mutants(server), options.each)
            found = {mutant: copy.caught(mutant) for mutant in drawn}
            print(f"{server:<14} {summary(Counter(found.values()))}", flush=True)
            for mutant in (mutant for mutant in drawn if found[mutant] is None):
                print(f"    lives: {mutant.made()[0]}", flush=True)
            total.update(found.values())
    print(summary(total))
    return 0 if total["laws"] + total["certificate"] >= ENOUGH * total.total() else 1


def summary(found: Counter[str | None]) -> str:
    return ", ".join(f"{found[net]} by the {net}" for net in NETS) + f", of {found.total()}; {found[None]} live"


if __name__ == "__main__":
    sys.exit(main())
