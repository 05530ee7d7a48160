"""A benchmark's own code in a confined process of its own environment, spoken to in JSON lines."""
