from django.apps import AppConfig


class SharingConfig(AppConfig):
    """Links by which others may read one thing for a while, and what is deleted after a grace period."""

    name = "prove_web.sharing"
    label = "sharing"
