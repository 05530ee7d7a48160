from django.apps import AppConfig


class TrajectoriesConfig(AppConfig):
    """Data sets and the trajectories they hold."""

    name = "prove_web.trajectories"
    label = "trajectories"
