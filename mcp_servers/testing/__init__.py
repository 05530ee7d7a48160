"""Tools to test servers: directed random walks, and the behaviour certificates that they produce."""
