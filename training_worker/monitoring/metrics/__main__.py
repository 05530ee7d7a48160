"""The command `python -m training_worker.monitoring.metrics`, which prints the metrics table of docs/metrics.md."""

from . import table

print(table())
