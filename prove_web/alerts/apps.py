from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Alert rules on runs, and the alerts they raise."""

    name = "prove_web.alerts"
    label = "alerts"

    def ready(self) -> None:
        from prove_web.accounts.hooks import section_counts

        from . import live_hooks  # noqa: F401  # registers itself
        from .querysets import open_alerts

        section_counts["alerts"] = open_alerts
