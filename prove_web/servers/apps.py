from django.apps import AppConfig


class ServersConfig(AppConfig):
    """The tool servers: their catalogue, and live sessions on them."""

    name = "prove_web.servers"
    label = "servers"
