from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Alert rules on runs, and the alerts they raise."""

    name = "prove_web.alerts"
    label = "alerts"

    def ready(self) -> None:
        from . import account_hooks, live_hooks  # noqa: F401  # registers itself
