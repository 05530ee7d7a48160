"""Backups: one file with the database and the data folder as they were at one moment, and the way back.

A backup is a compressed tar: `about.json` first, then `database`, then `files/...` as in the data folder, and last
`manifest.json` with the size and SHA-256 of each member. One that was cut short has no manifest.
"""
