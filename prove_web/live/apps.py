from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Jobs, what they report, and the sockets that pass it on."""

    name = "prove_web.live"
    label = "live"
