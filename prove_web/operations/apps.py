from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Health, metrics, logs and backups, without database tables."""

    name = "prove_web.operations"
    label = "operations"
