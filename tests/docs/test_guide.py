"""The guide to a server of one's own shows the very files of the library that the tests run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "your-own-server.md").read_text("utf-8")
LIBRARY = ROOT / "tests" / "mcp_servers" / "library"
SHOWN = dict(
    zip(
        re.findall(r"^## \d\. .*`(\w+\.(?:py|toml))`", GUIDE, re.M),
        re.findall(r"^```(?:py|toml)\n(.*?)^```", GUIDE, re.S | re.M),
        strict=True,
    )
)


def test_the_library_has_at_most_three_files_and_its_phrases() -> None:
    assert {path.name for path in LIBRARY.iterdir() if path.is_file()} == set(SHOWN) and len(SHOWN) <= 4


@pytest.mark.parametrize("name", SHOWN)
def test_a_file_is_shown_as_it_is(name: str) -> None:
    assert SHOWN[name] == (LIBRARY / name).read_text("utf-8")
