"""Regular expressions of the product, and long hostile texts made of their own alphabets.

Run as a program, it reads patterns as lines of JSON and prints the place of each before it runs it on those texts. A
pattern that takes more than `SECONDS` of processor time for one text, many times what a linear one takes, ends the
process.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mcp_servers", "training_worker", "prove_web")
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
ANCHORED = {"match", "fullmatch"}
LENGTH, SECONDS = 30_000, 0.2  # a linear pattern takes milliseconds, a quadratic one 0.7 s on a fast core
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: "-",
}
SPREAD = "a0 _-.,:;/\\\"'<>{}[]()\n\x00é"  # of which a class or its opposite takes some


@dataclass(frozen=True)
class Pattern:
    """A pattern, the functions of `re` that the code applies it with, and where it stands."""

    place: str
    text: str
    flags: int
    uses: tuple[str, ...]
    longest: int = 0  # characters of the texts that it meets, where the code bounds them


def patterns(package: str) -> Iterator[Pattern | str]:
    """Every pattern that is written in a package; of one that is put together in a function, that function."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / package).rglob("*.py"))}
    used = uses(trees.values())
    for path, tree in trees.items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names = names_of(tree)
        for call in ast.walk(tree):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=function)) if function in FUNCTIONS:
                    place = f"{path.relative_to(ROOT)}"
                    methods = used.get(names.get(id(call), ""), {"sub"}) if function == "compile" else {function}
                    try:
                        found = value_of(call.args[0], path)
                        flags = flags_of(call)
                    except NameError:
                        within = [one.name for one in functions if one.lineno <= call.lineno <= (one.end_lineno or 0)]
                        yield f"{place} {within[-1]}"
                        continue
                    text = found.decode("latin-1") if isinstance(found, bytes) else found
                    yield Pattern(place, text, flags, tuple(sorted(methods)))


def names_of(tree: ast.Module) -> dict[int, str]:
    """The names that a module gives to values, by the expression."""
    found: dict[int, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case _:
                pairs = []
        found |= {id(value): target.id for target, value in pairs if isinstance(target, ast.Name)}
    return found


def uses(trees: Any) -> dict[str, set[str]]:
    """The functions of `re` that are called on a name anywhere in a package."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=method) if method in FUNCTIONS:
                    found.setdefault(name, set()).add(method)
                case ast.Call(args=arguments):
                    for one in arguments:
                        if isinstance(one, ast.Name):  # the function that receives it may search with it
                            found.setdefault(one.id, set()).add("sub")
    return found


def value_of(expression: ast.expr, path: Path) -> Any:
    """What an expression at the top of a module is. Raises NameError for one that takes names of a function."""
    if isinstance(expression, ast.Constant):
        return expression.value
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return eval(compile(ast.Expression(expression), str(path), "eval"), dict(vars(module)))


def flags_of(call: ast.Call) -> int:
    given = (*call.args[1:], *(one.value for one in call.keywords))
    names = {node.attr for part in given for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    return sum({getattr(re, name).value for name in names if isinstance(getattr(re, name, None), re.RegexFlag)})


def texts(pattern: Pattern) -> set[str]:
    """Long texts that begin to match again and again, and do not."""
    tree = parser.parse(pattern.text, pattern.flags)
    long, parts, text, few = pattern.longest or LENGTH, list(pieces(tree, "")), sample(tree), list(alphabet(tree))[:7]
    pumps = {*few, text, text[:-1], *(one + other for one in few for other in few)}
    begun = {("", pump) for pump in pumps}
    for before, body in parts:
        begun |= {(head, body + one) for head in ("", before) for one in ("", *few)} | {("", before + body)}
    begun = {(head, pump) for head, pump in begun if pump}
    return {head + pump * (long // len(pump)) + tail for head, pump in begun for tail in ("", "\x00", "\n!")}


def pieces(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Of every part that repeats: what comes before it, and once what it repeats."""
    for code, argument in tree:
        for inner in inside(code, argument):
            yield from pieces(inner, before)
        if code in REPEATS and argument[1] > 20:
            yield before, sample(argument[2])
        before += sample([(code, argument)])


def inside(code: Any, argument: Any) -> list[Any]:
    match code:
        case codes.SUBPATTERN:
            return [argument[3]]
        case codes.BRANCH:
            return list(argument[1])
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return [argument[2]]
        case codes.ATOMIC_GROUP:
            return [argument]
        case codes.ASSERT:
            return [argument[1]]
    return []


def sample(tree: Any) -> str:
    """A short text that a part of a pattern matches, give or take what stands around it."""
    said = ""
    for code, argument in tree:
        match code:
            case codes.BRANCH:
                said += sample(argument[1][0])
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                said += sample(argument[2]) * max(1, argument[0])
            case codes.ASSERT | codes.ASSERT_NOT | codes.AT | codes.GROUPREF:
                pass
            case _:
                inner = inside(code, argument)
                said += sample(inner[0]) if inner else next(iter(characters(code, argument)), "")
    return said


def alphabet(tree: Any) -> dict[str, None]:
    found: dict[str, None] = {}
    for code, argument in tree:
        parts = [alphabet(part) for part in inside(code, argument)]
        for part in parts or [dict.fromkeys(characters(code, argument))]:
            found |= part
    return found


def characters(code: Any, argument: Any) -> list[str]:
    """Some characters that one place of a pattern takes, and those that it takes not."""
    match code:
        case codes.LITERAL:
            return [chr(argument)]
        case codes.NOT_LITERAL:
            return [next(one for one in SPREAD if one != chr(argument)), chr(argument)]
        case codes.ANY:
            return ["a"]
        case codes.IN:
            wanted = [character for each in argument for character in of_class(*each)]
            if argument[0][0] is codes.NEGATE:
                return [*[one for one in SPREAD if one not in wanted][:1], *wanted]
            return list(dict.fromkeys(wanted))
    return []


def of_class(code: Any, argument: Any) -> list[str]:
    match code:
        case codes.LITERAL:
            return [chr(argument)]
        case codes.RANGE:
            return [chr(argument[0])]
        case codes.CATEGORY:
            return [OF_CATEGORY[argument]]
    return []


def run(pattern: Pattern) -> None:
    """Match all texts, each within `SECONDS` of processor time."""
    with warnings.catch_warnings(action="ignore"):
        found = re.compile(pattern.text, pattern.flags & ~re.UNICODE)
    for text in texts(pattern):
        for name in pattern.uses:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # whose signal ends the process, in the midst of a match
            getattr(found, name)(*(("", text) if name in ("sub", "subn") else (text,)))


if __name__ == "__main__":
    for line in sys.stdin:
        given = Pattern(**json.loads(line))
        print(given.place, flush=True)
        run(given)
