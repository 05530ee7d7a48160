"""The worker process: Celery app, heartbeats, the order of waiting jobs, logs, and the info on the worker itself."""
