"""The pages about the servers are those that the code makes."""

from functools import cache
from pathlib import Path

import pytest

from mcp_servers import reference
from mcp_servers.catalogue import SERVERS
from mcp_servers.reference import chains, refusals

FOLDER = Path(__file__).parents[2] / "docs" / "servers"
pages = cache(reference.pages)


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_a_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == pages()[name], "run `make reference`"


def test_there_is_a_page_of_every_server_and_of_no_other() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_every_server_is_deep(server) -> None:
    """At least five refusals that depend on the state, four invariants, two chains of five, and a policy to read.

    The vehicle's tools need no ids but modes (start the engine, then drive): its chains are in its own tests.
    """
    assert len(refusals(server)) >= 5 and len(server.invariants) >= 4
    assert chains(server) >= 2 or server.name == "vehicle"
    assert server.policy.startswith("# ")
