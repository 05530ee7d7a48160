from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    """Evaluations on benchmarks, and leaderboards."""

    name = "prove_web.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        from . import live_hooks  # noqa: F401  # registers itself
