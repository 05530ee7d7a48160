from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """The job queue, its workers, and the enrolment of machines as workers."""

    name = "prove_web.workers"
    label = "workers"

    def ready(self) -> None:
        from . import account_hooks, live_hooks  # noqa: F401  # registers itself
