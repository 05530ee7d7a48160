from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """Review of trajectories: queues, labels, adjudication, comments."""

    name = "prove_web.review"
    label = "review"

    def ready(self) -> None:
        from . import account_hooks, live_hooks, notification_rules  # noqa: F401  # register themselves
