"""The blocks of docs/benchmarks.md: each holds what one command measured, and only that command writes it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def write_block(name: str, content: str, page: Path = PAGE) -> None:
    """Replace the block `name` of the page. Raises ValueError when the page has no such block."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    text = page.read_text("utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{page} has no block {name}: add a line `{begin.strip()}` and a line `{end}`.")
    page.write_text(f"{text.split(begin)[0]}{begin}{content}\n{end}{text.split(end, 1)[1]}", "utf-8")


def markdown(table: Table) -> str:
    """Return a table of the terminal as Markdown, with its title as a line of its own."""
    cells = zip(*(list(column.cells) for column in table.columns), strict=True)
    rows = [[str(column.header) for column in table.columns], ["---"] * len(table.columns), *cells]
    lines = ["| " + " | ".join(strip_markup(cell) for cell in row) + " |" for row in rows]
    title = f"{strip_markup(table.title)}:" if table.title else ""
    return "\n".join([*([title, ""] if title else []), *lines])


def strip_markup(cell: object) -> str:
    """Return the text of a cell without its markup."""
    text = Text.from_markup(cell) if isinstance(cell, str) else cell
    return str(text) if isinstance(text, Text) else str(Console().render_str(str(text)))
