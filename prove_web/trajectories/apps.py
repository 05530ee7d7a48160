from django.apps import AppConfig


class TrajectoriesConfig(AppConfig):
    """Datasets and their trajectories."""

    name = "prove_web.trajectories"
    label = "trajectories"

    def ready(self) -> None:
        from . import live_hooks  # noqa: F401  # registers itself
