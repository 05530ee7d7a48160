"""Find a browser for the browser tests, or get one: `browser.py` prints where it is, or why those tests are left out.

An installed Chromium or Chrome; else Playwright's own download; else, as root where there is apt-get, Debian's package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
PLAYWRIGHTS = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
PATIENCE = 300  # seconds for each way of getting one
LEFT_OUT = """browser: none found, and none could be downloaded: the browser tests (tests/browser) are left out.
browser: install Chromium or Chrome, for example `apt-get install chromium`, and run `make test` again."""


def find_browser() -> str | None:
    """The path of a browser that starts, or None."""
    installed = [shutil.which(name) for name in NAMES] + [path for path in MAC if os.path.exists(path)]
    return next((path for path in installed if path and starts(path)), None) or playwrights_own()


def starts(path: str) -> bool:
    """Whether it runs at all: a download may lack libraries, and a stub of a package may only print advice."""
    done = attempt([path, "--version"], seconds=30)
    return done is not None and done.returncode == 0


def playwrights_own() -> str | None:
    done = attempt([sys.executable, "-c", PLAYWRIGHTS], seconds=60)
    path = done.stdout.strip() if done and done.returncode == 0 else ""
    return path if path and Path(path).exists() and starts(path) else None


def get_browser() -> str | None:
    """Find one, or download one and find that."""
    if found := find_browser():
        return found
    print("browser: none installed; trying Playwright's own", flush=True)
    environment = {**os.environ, "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}
    attempt([sys.executable, "-m", "playwright", "install", "chromium"], environment=environment)
    if found := playwrights_own():
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("browser: trying the package chromium", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        attempt(["apt-get", "update", "-qq"], environment=environment)
        attempt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], environment=environment)
    return find_browser()


def attempt(
    command: list[str], seconds: float = PATIENCE, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    """Run a command quietly; None when it cannot be run or takes too long."""
    try:
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


if __name__ == "__main__":
    path = get_browser()
    print(f"browser: {path}" if path else LEFT_OUT, flush=True)
