"""What the web server runs: pages, the one socket behind them, and the live sessions that MCP clients work in."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prove_web.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  # needs Django to be set up
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from prove_web.live.routing import routes  # noqa: E402
from prove_web.servers.connect import Sessions  # noqa: E402

application = ProtocolTypeRouter(
    {"http": Sessions(pages), "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routes)))}
)
