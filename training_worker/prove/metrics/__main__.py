"""Write the table of metrics that docs/metrics.md holds: `python -m training_worker.prove.metrics`."""

from . import table

print(table())
