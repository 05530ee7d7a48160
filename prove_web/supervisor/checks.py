"""Checks before the start. Each refusal is one line with the remedy, and changes nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from training_worker.store.storage import StorageFailed, get_storage

from .program import ServiceError

DATA_VERSION = 1  # of the data folder's layout; a folder of another version is left untouched
GATEWAY_PORT = 8765
LEAST_FREE_GB = 0.5
LEAST_FREE = LEAST_FREE_GB * 1e9  # bytes; with less the site does not start, and warns while running
FULL = 50_000_000  # bytes; with less, failures are attributed to a full disk
MOST_WORKERS, SETTING = 256, "PROVE_CPU_WORKERS"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OURS = {"version", "serve.lock", "prove.sqlite3", "secret_key", "pipeline", "graph", "jobs"}  # a site has some of these
LISTEN = "0A"  # in /proc/net/tcp


def data_folder(data: Path) -> None:
    """Check that the data folder is writable, private, has space, and has this version. Raises ServiceError."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise ServiceError(
            f"cannot write to {data} ({error.strerror}): set PROVE_DATA to a folder that you own"
        ) from None
    make_private(data)
    free_gb = shutil.disk_usage(data).free / 1e9
    if free_gb < LEAST_FREE_GB:
        raise ServiceError(
            f"{free_gb:.1f} GB free in {data}, needs {LEAST_FREE_GB}: make room, or set PROVE_DATA elsewhere"
        )
    version = data / "version"
    found = version.read_text("utf-8", "replace").strip() if version.exists() else ""
    if found not in ("", str(DATA_VERSION)):
        raise ServiceError(newer(data, f"its version file says {found[:20]!r}, this version writes {DATA_VERSION}"))


def less_free(folder: Path, size: float) -> bool:
    """Return whether the folder's disk has less than `size` bytes free."""
    try:
        return shutil.disk_usage(folder).free < size
    except OSError:
        return False


def make_private(data: Path) -> None:
    """Make the folder inaccessible to other users. Raises ServiceError if it is shared or not ours to change."""
    if not data.stat().st_mode & OTHERS:
        return
    found = sorted(path.name for path in data.iterdir() if path.name != "lost+found")
    if found and not OURS & set(found):
        raise ServiceError(
            f"{data} is open to other users and holds {found[0]!r}, which is not a file of a site: set PROVE_DATA to a "
            f"separate folder, or make this one private with `chmod 700 {data}`"
        )
    try:
        for path in (data, *(data / name for name in found)):
            if not path.is_symlink() and (mode := path.stat().st_mode) & OTHERS:
                path.chmod(mode & ~OTHERS)
    except OSError as error:
        raise ServiceError(
            f"{data} is open to other users and cannot be made private ({error.strerror}): make the user that runs "
            "the site its owner, or set PROVE_DATA to a folder that you own"
        ) from None


def newer(data: Path, why: str) -> str:
    return (
        f"{data} belongs to another version of PROVE Studio ({why}): run that version, or set PROVE_DATA to another "
        "folder. Nothing was changed"
    )


@contextmanager
def only_one(data: Path) -> Iterator[Callable[[str], None]]:
    """Lock the data folder and yield a function that records the site's URL.

    Raises ServiceError if another `serve` holds it.
    """
    path = data / "serve.lock"
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(
                f"{data} is in use by another `manage.py serve` ({file.read().strip() or 'just starting'}): "
                "open it, stop it, or set PROVE_DATA to another folder"
            ) from None

        def record_url(url: str) -> None:
            with suppress(OSError):  # informs a second `serve` only; nothing depends on it
                os.ftruncate(file.fileno(), 0)
                os.pwrite(file.fileno(), (url and f"process {os.getpid()}, {url}").encode(), 0)

        version = data / "version"
        if not (version.exists() and version.read_text()):
            version.write_text(f"{DATA_VERSION}\n")
        try:
            yield record_url
        finally:
            record_url("")


def free_port(host: str, port: int, setting: str = "--port or PROVE_PORT") -> int:
    """Return the port if it is free; for 0, any free port. Raises ServiceError, naming the setting."""
    if not 0 <= port <= 65_535:
        raise ServiceError(f"{port} is not a port: choose one from 1024 to 65535 with {setting}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except (socket.gaierror, UnicodeError):
        raise ServiceError(
            f"{host!r} is not an address of this machine: choose one with --host, for example 127.0.0.1"
        ) from None
    except OSError as error:
        raise ServiceError(why_no_port(error, host, port, setting)) from None


def why_no_port(error: OSError, host: str, port: int, setting: str) -> str:
    if error.errno == errno.EADDRINUSE:
        another = setting.replace("--port", f"--port {port + 1 if port < 65_535 else 8000}")
        user = find_listening_process(port) or "another program"
        return f"port {port} is in use by {user}: stop it, or choose another port with {another}"
    if error.errno == errno.EACCES:
        return f"port {port} requires root: choose one from 1024 up with {setting}"
    return f"cannot listen on {host} port {port} ({error.strerror}): choose others with --host and {setting}"


def storage(url: str) -> None:
    """Check that PROVE_STORAGE is a usable rollout storage. Raises ServiceError."""
    try:
        get_storage(url)
    except StorageFailed as error:
        raise ServiceError(str(error)) from None


def cpu_workers(number: int) -> None:
    """Raise ServiceError for an invalid number of CPU workers."""
    if not 1 <= number <= MOST_WORKERS:
        raise ServiceError(
            f"invalid number of CPU workers, {number}: choose 1 to {MOST_WORKERS} with --cpu-workers or {SETTING}"
        )


def gateway_port(host: str, wanted: int | None, pages: int) -> int:
    """Return the MCP gateway's port: the requested one, which must be free, else the default or any free one.

    `pages` is the port of the web pages, which is not in use yet.
    """
    if wanted is not None and wanted == pages:
        raise ServiceError(
            f"port {pages} is already used for the web pages: choose another for MCP with PROVE_MCP_PORT"
        )
    if wanted is not None:
        return free_port(host, wanted, "PROVE_MCP_PORT")
    try:
        return free_port(host, GATEWAY_PORT if pages != GATEWAY_PORT else 0)
    except ServiceError:
        return free_port(host, 0)


def find_listening_process(port: int) -> str | None:
    """Return the process that listens on a port, as far as Linux reveals it."""
    sockets = {f"socket:[{inode}]" for inode in listeners(port)}
    for process in Path("/proc").glob("[0-9]*") if sockets else ():
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    if os.readlink(descriptor) in sockets:
                        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                        return f"process {process.name} ({' '.join(words).strip()[:80]})"
    return None


def listeners(port: int) -> list[str]:
    """Return the inodes of the sockets that listen on a port."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                local, state, inode = (line.split()[column] for column in (1, 3, 9))
                if state == LISTEN and int(local.rpartition(":")[2], 16) == port:
                    found.append(inode)
    return found
