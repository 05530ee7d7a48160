"""A deployment names only what exists: the programs and variables of compose.yaml, and settings fit for production."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, get_commands, load_command_class

from prove_web import settings as settings_module
from prove_web.operations import healthcheck_cli
from prove_web.operations.management.commands.program import find_program
from prove_web.supervisor import checks
from prove_web.supervisor.program import ServiceError
from prove_web.supervisor.programs import WEB_ALONE

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the trainer's packages")

ROOT = Path(__file__).resolve().parent.parent.parent
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
RUNNING = (ROOT / "docs" / "running.md").read_text()
DEPLOYING = (ROOT / "docs" / "deploying.md").read_text()
PROGRAMS = {"web", "gateway", "writer", "web-worker", "files-worker", "beat", "cpu-worker", "gpu-worker"}
NOT_OURS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"}


@pytest.mark.parametrize("name", OURS)
def test_each_service_runs_a_command_that_exists(name: str, settings: Any) -> None:
    settings.REDIS_URL = "redis://broker:6379/0"
    command, *rest = OURS[name]["command"]
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    options = parser.parse_args(rest)
    if command == "program":
        program = find_program(options.name, options.host)
        assert program.name == options.name and program.command[0] == sys.executable


def test_every_program_of_a_site_has_a_service() -> None:
    assert {service["command"][1] for service in OURS.values() if service["command"][0] == "program"} == PROGRAMS


FOREIGN = {"database": "postgres:17", "broker": "valkey/valkey:9"}


def test_what_is_not_ours_has_a_version_and_says_when_it_is_well() -> None:
    assert {name: service["image"] for name, service in SERVICES.items() if name not in OURS} == FOREIGN
    for name in (*FOREIGN, "web"):
        kind, *command = SERVICES[name]["healthcheck"]["test"]
        assert kind in ("CMD", "CMD-SHELL") and command, name
    waited = OURS["prepare"]["depends_on"]
    assert waited == {name: {"condition": "service_healthy"} for name in FOREIGN}
    for name, service in OURS.items():
        if name != "prepare":
            assert service["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}, name
            assert service["restart"] == "unless-stopped", name
    assert all(volume in str(SERVICES) for volume in COMPOSE["volumes"])


def test_only_the_gpu_worker_reserves_gpus() -> None:
    [name] = [name for name, service in OURS.items() if "deploy" in service]
    [device] = OURS[name]["deploy"]["resources"]["reservations"]["devices"]
    assert (name, device) == ("gpu-worker", {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]})
    profiles = {name: service["profiles"] for name, service in OURS.items() if "profiles" in service}
    assert profiles == {"gateway": ["mcp"], "gpu-worker": ["gpu"], "cpu-trainer": ["cpu"]}


def test_no_program_of_ours_has_more_rights_than_it_needs() -> None:
    for name, service in OURS.items():
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "user", "network_mode", "pid"} & set(service), name
        assert service["volumes"] == ["data:/data"], f"{name} sees nothing of the machine it runs on"
        assert all(port.startswith("${PROVE_BIND:-127.0.0.1}:") for port in service.get("ports", [])), name


def test_the_image_runs_as_an_unprivileged_user_and_every_step_exists() -> None:
    steps = [line.split(maxsplit=1) for line in (ROOT / "Dockerfile").read_text().splitlines() if line[:1].isupper()]
    users = [rest for step, rest in steps if step == "USER"]
    assert users == ["prove"] and "--uid 1000 prove" in (ROOT / "Dockerfile").read_text()
    at = {step: number for number, (step, _) in enumerate(steps)}
    assert at["USER"] < at["COPY"] < at["ENTRYPOINT"], "nothing is copied or run as root"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {rest.split()[1] for step, rest in steps if rest.startswith("make ")} <= targets
    assert {"setup"} <= targets
    assert sum(step == "VOLUME" and rest == "/data" for step, rest in steps) == 1


def test_workers_see_no_database_and_no_secret() -> None:
    for name, service in OURS.items():
        if service["image"] == "prove-studio-worker" or name == "gateway":
            assert not WEB_ALONE & set(service["environment"]), name


def test_every_variable_is_documented() -> None:
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", RUNNING + DEPLOYING, re.MULTILINE))
    given = {variable for service in SERVICES.values() for variable in service.get("environment", {})}
    referenced = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "compose.yaml").read_text()))
    offered = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert sorted((given | referenced | offered) - table - NOT_OURS) == []
    assert offered - {"COMPOSE_PROFILES"} <= referenced, "what may be filled in is used"


def test_dependencies_and_volumes_of_services_exist() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", {})) <= set(SERVICES), name
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"]), name


def test_what_the_image_copies_and_runs_exists() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    for line in lines:
        if line.startswith("COPY"):
            *sources, _ = line.split()[2:]
            assert all((ROOT / source).exists() for source in sources), line
    assert 'ENTRYPOINT ["python", "manage.py"]' in lines
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", ".git", "data", ".venv"} <= set(ignored), "secrets and results stay out of the image"


def test_the_settings_and_the_page_name_the_same_variables() -> None:
    documented = set(re.findall(r"^([A-Z_]{5,}) +\S", str(settings_module.__doc__), re.MULTILINE))
    assert "PROVE_HTTPS" in documented
    assert sorted(documented - set(re.findall(r"^\| `([A-Z_]+)` \|", RUNNING, re.MULTILINE))) == []


def test_an_unknown_program_is_refused_with_the_known_ones(settings: Any) -> None:
    with pytest.raises(CommandError, match="choose one of web, gateway, writer"):
        find_program("wirter", "127.0.0.1")
    with pytest.raises(CommandError, match="set REDIS_URL"):
        find_program("writer", "127.0.0.1")


def test_the_port_of_a_program_can_be_chosen(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = "redis://somewhere/0"
    port = str(checks.free_port("127.0.0.1", 0))
    for name in ("web", "gateway"):
        command = find_program(name, "127.0.0.1", int(port)).command
        assert command[command.index("--port") + 1] == port
    with pytest.raises(CommandError, match="writer listens on no port: omit --port"):
        find_program("writer", "127.0.0.1", 8001)
    with pytest.raises(ServiceError, match="99999 is not a port: choose one from 1024 to 65535 with --port"):
        find_program("web", "127.0.0.1", 99999)


@pytest.mark.long
def test_a_program_runs_as_the_site_starts_it(tmp_path: Path) -> None:
    """The gateway itself reports that its port is in use."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        environment = {**os.environ, "PROVE_DATA": str(tmp_path), "PROVE_MCP_PORT": port}
        command = [sys.executable, "manage.py", "program", "gateway"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode != 0 and "in use" in done.stderr


PRODUCTION = {"PROVE_HOSTS": "prove.example.com", "PROVE_HTTPS": "1", "PROVE_HSTS": "subdomains,preload"}
PRODUCTION |= {"PROVE_HSTS_SECONDS": "31536000"}


@pytest.mark.long
def test_django_finds_nothing_to_say_about_production(tmp_path: Path) -> None:
    known = {name: value for name, value in os.environ.items() if name != "PROVE_DEBUG"}
    environment = {**known, "PROVE_DATA": str(tmp_path), **PRODUCTION}
    done = subprocess.run(
        [sys.executable, "-W", "error", "manage.py", "check", "--deploy", "--fail-level", "INFO"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "System check identified no issues (0 silenced).\n"


def test_https_moves_browsers_and_leaves_programs_alone(client: Any, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 60
    answer = client.get("/sign-in/")
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/sign-in/")
    assert client.get("/health/").status_code == 200
    assert client.get("/sign-in/", secure=True)["Strict-Transport-Security"] == "max-age=60"


@pytest.mark.parametrize(
    ("hosts", "name"),
    [("", "localhost"), ("a.example,b", "a.example"), (".example.com", "example.com"), ("*", "localhost")],
)
def test_the_health_check_uses_a_host_name_that_the_site_accepts(hosts: str, name: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("PROVE_HOSTS", hosts)
    assert healthcheck_cli.known_name() == name


def test_a_site_that_does_not_answer_is_not_ready(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("PROVE_PORT", "1")
    assert healthcheck_cli.main() == 1
    assert "nothing answers on port 1" in capsys.readouterr().out
