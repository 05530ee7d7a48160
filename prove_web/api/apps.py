from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The site's API for programs, and the tokens they use it with."""

    name = "prove_web.api"
    label = "api"
