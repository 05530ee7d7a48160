"""What a project's people work with: servers switched on and off, their checks and versions, servers of others."""
