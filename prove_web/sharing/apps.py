from django.apps import AppConfig


class SharingConfig(AppConfig):
    """Share links, by which others may read one page for a while, and the trash, which is purged after a while."""

    name = "prove_web.sharing"
    label = "sharing"

    def ready(self) -> None:
        from . import account_hooks  # noqa: F401  # registers itself
