from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, organisations and projects, and permissions."""

    name = "prove_web.accounts"
    label = "accounts"

    def ready(self) -> None:
        from .audit.registry import watch
        from .signing_in import sessions, signals  # noqa: F401  # whose receivers listen from now on

        watch()
