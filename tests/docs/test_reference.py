"""The pages about the servers are those that the code makes."""

from pathlib import Path

import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.reference import chains, pages, refusals

FOLDER = Path(__file__).parents[2] / "docs" / "servers"


@pytest.mark.parametrize(("name", "text"), [pytest.param(*item, id=item[0]) for item in pages().items()])
def test_a_page_is_up_to_date(name: str, text: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == text, "run `make reference`"


def test_there_is_no_page_of_a_server_that_is_not_there() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_every_server_is_deep(server) -> None:
    """At least five refusals that depend on the state, four invariants, two chains of five, and a policy to read.

    The vehicle's tools need no ids but modes (start the engine, then drive): its chains are in its own tests.
    """
    assert len(refusals(server)) >= 5 and len(server.invariants) >= 4
    assert chains(server) >= 2 or server.name == "vehicle"
    assert server.policy.startswith("# ")
