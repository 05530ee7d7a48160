"""WebSocket URLs."""

from django.urls import path

from .consumers import LiveConsumer

routes = [path("ws/live/", LiveConsumer.as_asgi())]
