from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """Training runs and their metric charts."""

    name = "prove_web.experiments"
    label = "experiments"

    def ready(self) -> None:
        from . import live_hooks  # noqa: F401  # registers itself
