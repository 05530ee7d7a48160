from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Jobs, their events, and the WebSockets that deliver them."""

    name = "prove_web.live"
    label = "live"

    def ready(self) -> None:
        from . import account_hooks  # noqa: F401  # registers itself
