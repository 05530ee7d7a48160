"""Backups: one file with a consistent copy of the database and the data folder, and restoring from it.

A backup is a compressed tar: `about.json` first, then `database`, then `files/...` as in the data folder, and last
`manifest.json` with the size and SHA-256 of each member. A truncated backup has no manifest.
"""
