from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    """Evaluations on benchmarks, and leaderboards."""

    name = "prove_web.evaluations"
    label = "evaluations"
