from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Training runs and their curves."""

    name = "prove_web.experiments"
    label = "experiments"
