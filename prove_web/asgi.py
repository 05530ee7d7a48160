"""ASGI application of the web server: pages, their one socket, and the MCP endpoint of live sessions."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "prove_web.settings")
django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack  # noqa: E402  # needs Django to be set up
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from prove_web.core.asgi_handler import Pages  # noqa: E402
from prove_web.core.body_limit import BodyLimitMiddleware  # noqa: E402
from prove_web.core.server_timing import ServerTiming  # noqa: E402
from prove_web.live.routing import routes  # noqa: E402
from prove_web.servers.mcp_endpoint import Sessions  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": ServerTiming(BodyLimitMiddleware(Sessions(Pages()))),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routes))),
    }
)
