"""The documents say what is: their code runs, their commands work, their tables equal the program's."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.waiting import PATIENCE
from training_worker.datasets.recipes import PLANS, by_kind
from training_worker.endpoint.settings import Settings, describe_setting, variable

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```", re.S | re.M)
LANGUAGE_MODELS = (ROOT / "docs" / "language-models.md").read_text("utf-8")
LONG = {"make run", "make test"}  # these two are what runs the tests and the job
IN_A_CHILD = {"migrate", "audit_template"}  # of the commands of manage.py
SLOW = ("audit_template", "check_servers")  # commands that only test-long runs
RUN_BLOCKS = """
import traceback
failed = []
for name, code in BLOCKS:
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except Exception:
        failed.append(name)
        traceback.print_exc()
raise SystemExit(", ".join(failed) or None)
"""


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for number, (name, text) in enumerate(BLOCK.findall(page.read_text("utf-8"))):
            if name == language:
                indent = len(text) - len(text.lstrip(" "))
                lines = [line[indent:] for line in text.splitlines()]
                found.append((f"{page.relative_to(ROOT)}-{number}", "\n".join(lines)))
    return found


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PROVE_DATA": str(cwd / "data")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=PATIENCE, input="")


def test_every_python_block_runs(tmp_path):
    """Without Django, and in one process, since most of their time goes to the same imports."""
    done = run([sys.executable, "-W", "error", "-c", f"BLOCKS = {blocks('python')!r}\n{RUN_BLOCKS}"], tmp_path)
    assert done.returncode == 0, done.stderr


def commands() -> dict[str, list[str]]:
    """The commands of each block, since later ones may read what earlier ones make."""
    lines = {name: [line.split("#")[0].strip() for line in text.splitlines()] for name, text in blocks("sh")}
    found = {name: [line for line in some if line and line not in LONG] for name, some in lines.items()}
    return {name: some for name, some in found.items() if some}


def test_the_two_commands_are_targets_of_the_makefile():
    assert {f"make {target}" for target in re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)} >= LONG


@pytest.fixture
def folder(tmp_path: Path, graph_folder: Path) -> Path:
    """A checkout's folder, as far as the commands need one."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "graph").symlink_to(graph_folder)
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    return tmp_path


def works(line: str, folder: Path) -> None:
    words = [sys.executable if word == ".venv/bin/python" else word for word in shlex.split(line)]
    done = run(words, folder)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.long
def test_every_shell_command_of_the_documents_works_as_it_is_typed(folder):
    for some in commands().values():
        for line in some:
            works(line, folder)


@pytest.fixture
def in_this_process(folder, db, settings, monkeypatch) -> Callable[[str], bool]:
    """Does a command of Python without a process of its own; False when it cannot, or is none."""
    settings.PROVE_DATA = folder / "data"
    monkeypatch.chdir(folder)
    few = replace(PLANS["100"], train=by_kind((6, 1, 1)), held_out=by_kind((2, 0, 0)))
    monkeypatch.setitem(PLANS, "100", few)

    def call(line: str) -> bool:
        _, program, name, *arguments = [*shlex.split(line), "", ""]
        if program not in ("-m", "manage.py") or name in IN_A_CHILD or "banking" in arguments[:1]:
            return False
        if program == "manage.py":
            call_command(name, *filter(None, arguments))
            return True
        module = import_module(name)
        if hasattr(module, "__path__"):
            module = import_module(f"{name}.__main__")
        assert module.main([*filter(None, arguments)]) == 0, line
        return True

    return call


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(some, id=name, marks=[pytest.mark.long] if any(word in " ".join(some) for word in SLOW) else [])
        for name, some in commands().items()
    ],
)
def test_every_shell_command_of_the_documents_works(lines, folder, in_this_process, migrated):
    shutil.copy(migrated, folder / "data" / "prove.sqlite3")
    for line in lines:
        if not in_this_process(line):
            works(line, folder)


def test_the_table_of_recipes_equals_the_recipes():
    row = r"^\| `([\w-]+)` \| ([\d,]+) \+ ([\d,]+) \+ ([\d,]+) = [\d,]+ \| (\d+) \| (.*) \|$"
    rows = re.findall(row, (ROOT / "docs" / "data-sets.md").read_text("utf-8"), re.M)
    for name, *train, held_out, title in rows:
        plan = PLANS[name]
        assert [int(count.replace(",", "")) for count in train] == list(plan.train.values())
        assert int(held_out) == sum(plan.held_out.values()) and title == plan.title
    assert [row[0] for row in rows] == list(PLANS)


def test_the_table_of_an_endpoints_settings_equals_the_settings():
    rows = re.findall(r"^\| `(PROVE_LLM_\w+)` \| (.*?) \|(.*)\|$", LANGUAGE_MODELS, re.M)
    known = fields(Settings)
    assert [(name, text) for name, text, _ in rows] == [
        (variable(one.name), describe_setting(one.name)) for one in known
    ]
    defaults = ["" if one.default is MISSING else str(one.default) for one in known]
    assert [default.strip() for *_, default in rows][:-1] == defaults[:-1]


def test_every_link_to_a_file_leads_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_option_table_equals_the_programs_options():
    pytest.importorskip("torch", reason="the pipeline needs the trainer's packages")
    from training_worker.experiments.pipeline import Options, option_parser

    table = dict(re.findall(r"^\| `--([\w-]+)` \|([^|]*)\|", (ROOT / "docs" / "pipeline.md").read_text(), re.M))
    actions = {a.option_strings[0].removeprefix("--"): a for a in option_parser()._actions if a.dest != "help"}
    assert set(table) == set(actions)
    for name, action in actions.items():
        if isinstance(action, argparse._StoreAction) and name not in ("data", "policy"):
            assert float(table[name].replace(",", "")) == getattr(Options, name.replace("-", "_"))


def test_the_tables_of_sweeps_equal_the_presets_and_the_trainers_defaults():
    from prove_web.experiments.defaults import START
    from prove_web.experiments.sweep_form import PRESETS

    page = (ROOT / "docs" / "sweeps.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*): `(\w+)` over `(.*)` \|$", page, re.M)
    assert {name: (title, {field: values}) for name, title, field, values in rows} == PRESETS
    values = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page, re.M))
    assert {name: float(value) for name, value in values.items()} == {name: START[name] for name in values}
    assert len(values) == 4
