"""Health check: `python -m prove_web.operations.healthcheck_cli` exits with 0 when the site is ready. No Django.

It queries the web process of this machine at PROVE_PORT, with a host name that PROVE_HOSTS allows.
"""

from __future__ import annotations

import http.client
import os
import sys

ALIVE, READY = "/health/", "/health/ready/"


def fetch_health_response(host: str, port: int, path: str) -> tuple[int, str] | None:
    """Return status and text of the response; None without one."""
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": known_name()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def known_name() -> str:
    """Return a host name that the site accepts."""
    name = os.environ.get("PROVE_HOSTS", "").split(",")[0].strip().lstrip(".")
    return "localhost" if not name or "*" in name else name


def main(path: str = READY) -> int:
    port = int(os.environ.get("PROVE_PORT") or 8000)
    answer = fetch_health_response("127.0.0.1", port, path)
    print(answer[1] if answer else f"nothing answers on port {port}: is the web process up?")
    return 0 if answer and answer[0] == 200 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
