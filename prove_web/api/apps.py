from django.apps import AppConfig


class ApiConfig(AppConfig):
    """HTTP API of the site, and its tokens."""

    name = "prove_web.api"
    label = "api"
