"""The edge to MCP, the only folder that imports its SDK: adapter, gateway and its sessions, third-party servers."""
