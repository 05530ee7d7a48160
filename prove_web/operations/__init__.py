"""Site operation: health, metrics, logs, backups, and running programs individually."""
