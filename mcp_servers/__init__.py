"""Stateful MCP tool servers over seeded worlds; they depend on no other package of this project."""
