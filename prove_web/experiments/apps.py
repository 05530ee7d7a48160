from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Training runs and their metric charts."""

    name = "prove_web.experiments"
    label = "experiments"
