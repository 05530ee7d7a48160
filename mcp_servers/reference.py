"""Generator of the pages in docs/servers, one per server, from the code: `python -m mcp_servers.reference`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .catalogue import SERVERS
from .core import Server, Tool
from .core.server import ids_in

PAGES = Path(__file__).parents[1] / "docs" / "servers"
LONGEST = 5  # tools in each counted chain
MOST_CHAINS = 50_000
ABOUT = """Generated from the code by `make reference`. *Refusals* are the errors that depend on the state, without
unknown ids and malformed arguments. *Chains* counts the sequences of five different tools in which each
returns an id that the next one requires.

| server | tools | writing tools | refusals | invariants | chains of 5 | description |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
"""


@dataclass(frozen=True)
class Refusal:
    code: str
    message: str  # {...} marks a value


def main() -> int:
    PAGES.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PAGES / name).write_text(text, "utf-8")
    return 0


def pages() -> dict[str, str]:
    """Return the text of each page by file name; `index.md` has the table of all servers."""
    return {"index.md": index(), **{f"{server.name}.md": page(server) for server in SERVERS.values()}}


def index() -> str:
    tools = sum(len(server.tools) for server in SERVERS.values())
    rows = "\n".join(row(server) for server in SERVERS.values())
    return f"# The {len(SERVERS)} servers and their {tools} tools\n\n{ABOUT}{rows}\n"


def row(server: Server[Any]) -> str:
    writing = sum(tool.writes for tool in server.tools.values())
    numbers = [len(server.tools), writing, len(refusals(server)), len(server.invariants), format_count(chains(server))]
    description = collapse_whitespace(server.description)
    return f"| [`{server.name}`]({server.name}.md) | {' | '.join(map(str, numbers))} | {description} |"


def page(server: Server[Any]) -> str:
    parts = [f"# {server.name}\n\n{server.description} {len(server.tools)} tools.", policy_of(server)]
    parts.append("## Tools")
    parts += [tool_section(tool) for tool in server.tools.values()]
    lines = "\n".join(f"| `{one.code}` | {cell(one.message)} |" for one in refusals(server))
    parts.append(f"## Refusals\n\n| code | message |\n| --- | --- |\n{lines}")
    state = server.seed(0, "small")
    rows = "\n".join(
        f"| `{name}` | `{own.prefix}-` | {cell(inspect.getdoc(state.row_types()[name]) or '')} |"
        for name, own in state.tables().items()
    )
    parts.append(f"## Tables and ids\n\n| table | id prefix | row |\n| --- | --- | --- |\n{rows}")
    laws = "\n".join(f"* `{name}`: {collapse_whitespace(law.__doc__ or '')}" for name, law in server.invariants.items())
    parts.append(f"## Invariants\n\n{laws}")
    return "\n\n".join(filter(None, parts)) + "\n"


def policy_of(server: Server[Any]) -> str:
    """Return the server's policy as a section of its page."""
    lines = [line for line in server.policy.strip().splitlines() if not line.startswith("# ")]
    text = "\n".join(f"#{line}" if line.startswith("## ") else line for line in lines).strip()
    return f"## Policy\n\n{text}" if text else ""


def tool_section(tool: Tool) -> str:
    marks = ["writes" if tool.writes else "reads"]
    marks += ["destructive"] * tool.destructive + ["idempotent"] * (tool.writes and tool.idempotent)
    gives = ", ".join(f"`{id}`" for id in sorted(set(ids_in(tool.result_type))))
    head = f"### `{tool.name}`\n\n{tool.description} *{', '.join(marks)}*" + (f"; gives {gives}" if gives else "")
    rows = [parameter_row(tool, name, schema) for name, schema in tool.input_schema["properties"].items()]
    table = "| parameter | type | required | description |\n| --- | --- | --- | --- |\n" + "\n".join(rows)
    return f"{head}\n\n{table}" if rows else head


def parameter_row(tool: Tool, name: str, schema: dict[str, Any]) -> str:
    kind = f"`{tool.ids[name]}`" if name in tool.ids else type_of(schema, tool.input_schema.get("$defs", {}))
    secret = " (secret)" if name in tool.sensitive else ""
    return f"| `{name}` | {kind} | {'yes' if name in tool.required else ''} | {cell(schema['description'])}{secret} |"


def type_of(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Describe a JSON type in a few words, with its bounds."""
    match schema:
        case {"$ref": str(ref)}:
            return type_of(definitions[ref.rsplit("/", 1)[-1]], definitions)
        case {"anyOf": list(branches)}:
            kinds = [type_of({**branch}, definitions) for branch in branches if branch != {"type": "null"}]
            return " or ".join(dict.fromkeys(kinds))
        case {"enum": list(values)} | {"const": values}:
            return ", ".join(f"`{value}`" for value in (values if isinstance(values, list) else [values]))
        case {"type": "array", "items": dict(items)}:
            return f"list of {type_of(items, definitions)}"
        case {"format": "date"}:
            return "date"
        case {"format": "date-time"}:
            return "date and time"
        case {"type": "integer"}:
            low, high = schema.get("minimum"), schema.get("maximum")
            return f"integer, {low:,} to {high:,}" if low is not None and high is not None else "integer"
    return str(schema.get("type", "any"))


@cache
def refusals(server: Server[Any]) -> tuple[Refusal, ...]:
    """Return every ToolError that the server's code raises, sorted by code, each with its first message."""
    found: dict[str, Refusal] = {}
    for path in sorted(Path(inspect.getfile(server.seed)).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolError":
                for code in codes(node.args[0]):
                    found.setdefault(code, Refusal(code, message(node.args[1])))
    return tuple(found[code] for code in sorted(found))


def codes(node: ast.expr) -> Iterator[str]:
    """Yield the codes that an expression can evaluate to: one string, or one of several."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.replace("_", "").isalnum():
            yield part.value


def message(node: ast.expr) -> str:
    """Return a message as it is written in the source, with the names of its values."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(message(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        filled = ast.unparse(node.value).removeprefix("minute_text(")
        return f"{{{filled.split('.')[-1].split('(')[0].strip(')') or 'value'}}}"
    return "..."


def chains(server: Server[Any], longest: int = LONGEST) -> int:
    """Count the sequences of `longest` different tools in which each returns an id that the next one needs.

    Counting ends one above MOST_CHAINS.
    """
    tools = list(server.tools.values())
    after = {
        tool.name: [one.name for one in tools if one is not tool and set(ids_in(tool.result_type)) & one.consumes]
        for tool in tools
    }

    def walk(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if len(path) == longest:
            yield path
        else:
            for name in after[path[-1]]:
                if name not in path:
                    yield from walk((*path, name))

    every = chain.from_iterable(walk((tool.name,)) for tool in tools)
    return sum(1 for _ in islice(every, MOST_CHAINS + 1))


def format_count(number: int) -> str:
    return f"over {MOST_CHAINS:,}" if number > MOST_CHAINS else f"{number:,}"


def cell(text: str) -> str:
    return collapse_whitespace(text).replace("|", "\\|")


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
