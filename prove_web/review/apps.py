from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """Review of trajectories: queues, labels, adjudication, comments."""

    name = "prove_web.review"
    label = "review"

    def ready(self) -> None:
        from . import notification_rules  # noqa: F401  what is told as items and jobs are saved
