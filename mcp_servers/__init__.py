"""Small stateful worlds behind MCP tools; they know nothing of the house around them."""
