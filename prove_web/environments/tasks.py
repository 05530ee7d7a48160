"""Tasks of the environment pages on the queue `web`."""

from __future__ import annotations

from django.db import close_old_connections

import prove_web.live.tasks  # noqa: F401  which sets up Django in a Celery process
from prove_web.celery import app


@app.task(name="prove_web.environments.check")
def check(check: int) -> None:
    """Run the invariant checks of one server, unless its record was deleted."""
    close_old_connections()
    from .models import ServerCheck
    from .server_checks import run

    requested = ServerCheck.objects.filter(pk=check, ended_at=None).first()
    if requested is not None:
        run(requested)
