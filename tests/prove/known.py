"""The servers that the tests of synthesis are about, those the small policy knows; and their tools."""

from mcp_servers.catalogue import SERVERS as EVERY
from training_worker.warm import SERVERS as NAMES

SERVERS = {name: EVERY[name] for name in NAMES}
TOOLS = {name: (server, tool) for server in SERVERS.values() for name, tool in server.tools.items()}
