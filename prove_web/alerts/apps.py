from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Alert rules on runs, and the alerts they raise."""

    name = "prove_web.alerts"
    label = "alerts"
