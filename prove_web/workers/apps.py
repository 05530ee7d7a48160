from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """The queue, the workers that serve it, and how another machine becomes one."""

    name = "prove_web.workers"
    label = "workers"
