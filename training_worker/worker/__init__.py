"""The worker process: Celery app, heartbeats, the order of waiting jobs and the worker's own description."""
