from django.apps import AppConfig


class EnvironmentsConfig(AppConfig):
    name = "prove_web.environments"
