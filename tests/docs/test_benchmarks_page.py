"""docs/benchmarks.md: what commands measured stands in blocks that they write."""

import re
from pathlib import Path

import pytest
from rich.table import Table

from training_worker.core.benchmark_page import PAGE, markdown, write_block
from training_worker.experiments.proof import README

BLOCKS = {"proof", "pretrained", "noise", "ablations", "evaluations", "gpu", "bench", "peers", "pages"}


def test_the_page_has_a_block_for_each_command() -> None:
    text = PAGE.read_text("utf-8")
    assert set(re.findall(r"^<!-- (\w+): begin -->$", text, re.M)) == BLOCKS
    assert set(re.findall(r"^<!-- (\w+): end -->$", text, re.M)) == BLOCKS


def test_the_first_table_of_the_readme_stands_on_the_page() -> None:
    [block] = re.findall(r"<!-- proof: begin -->\n(.*?)\n<!-- proof: end -->", README.read_text("utf-8"), re.S)
    assert block in PAGE.read_text("utf-8")


def test_a_block_is_replaced_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- one: begin -->\nold\n<!-- one: end -->\nb\n", "utf-8")
    write_block("one", "new", page)
    assert page.read_text() == "a\n<!-- one: begin -->\nnew\n<!-- one: end -->\nb\n"
    with pytest.raises(ValueError, match="has no block two"):
        write_block("two", "new", page)


def test_a_table_of_the_terminal_becomes_markdown() -> None:
    table = Table("what", "ours", title="seven rounds")
    table.add_row("[bold]one[/] call", "3 us")
    assert markdown(table) == "seven rounds:\n\n| what | ours |\n| --- | --- |\n| one call | 3 us |"
