from django.apps import AppConfig


class ApiConfig(AppConfig):
    """HTTP API of the site, and its tokens."""

    name = "prove_web.api"
    label = "api"

    def ready(self) -> None:
        from . import account_hooks  # noqa: F401  # registers itself
