"""The guide to a server of one's own shows the very files of the library that the tests run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "your-own-server.md").read_text("utf-8")
LIBRARY = ROOT / "tests" / "mcp_servers" / "library"
LISTINGS = dict(
    zip(
        re.findall(r"^## \d\. .*`(\w+\.(?:py|toml))`", GUIDE, re.M),
        re.findall(r"^```(?:py|toml)\n(.*?)^```", GUIDE, re.S | re.M),
        strict=True,
    )
)


def test_the_library_has_at_most_three_files_and_its_phrases() -> None:
    assert {path.name for path in LIBRARY.iterdir() if path.is_file()} == set(LISTINGS) and len(LISTINGS) <= 4


@pytest.mark.parametrize("name", LISTINGS)
def test_the_guide_lists_each_file_verbatim(name: str) -> None:
    assert LISTINGS[name] == (LIBRARY / name).read_text("utf-8")
