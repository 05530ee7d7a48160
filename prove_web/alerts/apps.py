from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Rules that watch runs, and what they found."""

    name = "prove_web.alerts"
    label = "alerts"
