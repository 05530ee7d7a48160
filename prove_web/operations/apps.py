from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Health, measurements, logs and backups; it has no tables."""

    name = "prove_web.operations"
    label = "operations"
