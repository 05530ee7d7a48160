from django.apps import AppConfig


class TrajectoriesConfig(AppConfig):
    """Datasets and their trajectories."""

    name = "prove_web.trajectories"
    label = "trajectories"
