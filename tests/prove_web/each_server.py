"""All servers as parameters of a test that looks at each of their tools; most of them are left to `make test-long`."""

import pytest

from mcp_servers.catalogue import SERVERS

FIRST = ("banking", "filesystem", "iot_devices")
EACH_SERVER = [name if name in FIRST else pytest.param(name, marks=pytest.mark.long) for name in SERVERS]
