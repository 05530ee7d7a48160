from django.apps import AppConfig


class ServersConfig(AppConfig):
    """Tool servers: the catalogue, and live sessions on them."""

    name = "prove_web.servers"
    label = "servers"

    def ready(self) -> None:
        from . import account_hooks, live_hooks  # noqa: F401  # registers itself
