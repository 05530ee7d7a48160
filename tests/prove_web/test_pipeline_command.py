"""`manage.py pipeline` starts the main job as a child, passes on its options, and exits with the child's exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prove_web.experiments.management.commands.pipeline import child_command, run_in_foreground

ROOT = Path(__file__).resolve().parent.parent.parent

# Runs a child in the foreground like the command does. The child says when it is ready for the signal.
PARENT = """
import sys
from pathlib import Path
from prove_web.experiments.management.commands.pipeline import run_in_foreground
sys.exit(run_in_foreground([sys.executable, "-c", sys.argv[1]], Path(".")))
"""
CHILD = """
import signal, sys
def tidy(signum, frame):
    print("tidied", flush=True)
    sys.exit(3)
signal.signal(signal.{signal}, tidy)
print("ready", flush=True)
signal.pause()
"""


def manage(*arguments: str, data: Path | str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PROVE_DATA": str(data)}
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def started(signal_name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PARENT, CHILD.format(signal=signal_name)]
    parent = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    return parent


def test_options_left_out_are_left_to_the_child() -> None:
    nothing = {"seed": None, "minutes": None, "examples": None, "fresh": False}
    expected = [sys.executable, "-m", "training_worker", "--data", "/d"]
    assert child_command(Path("/d"), nothing) == expected


def test_options_given_are_passed_on_also_when_they_are_zero() -> None:
    given = {"seed": 0, "minutes": 1.5, "examples": 20, "fresh": True, "verbosity": 1}
    tail = child_command(Path("/d"), given)[5:]
    assert tail == ["--seed=0", "--minutes=1.5", "--examples=20", "--fresh"]


@pytest.mark.parametrize("code", [0, 1, 7])
def test_the_exit_code_is_the_childs(code: int) -> None:
    assert run_in_foreground([sys.executable, "-c", f"raise SystemExit({code})"], ROOT) == code


def test_a_killed_child_gives_the_exit_code_that_a_shell_gives() -> None:
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_in_foreground([sys.executable, "-c", killed], ROOT) == 128 + signal.SIGKILL


def test_ctrl_c_lets_the_child_finish_and_leaves_with_130_and_no_traceback() -> None:
    parent = started("SIGINT")
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate() == ("tidied\n", "")
    assert parent.returncode == 130


def test_a_polite_kill_of_the_command_alone_reaches_the_child() -> None:
    parent = started("SIGTERM")
    parent.terminate()
    assert parent.communicate() == ("tidied\n", "")
    assert parent.returncode == 3


def test_a_data_folder_that_cannot_be_written_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = manage("pipeline", data=file / "data")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"cannot write to {file / 'data'}" in done.stderr
    assert "set PROVE_DATA" in done.stderr


def test_a_number_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = manage("pipeline", "--seed", "soon", data=tmp_path)
    assert done.returncode == 2
    assert "--seed: invalid int value: 'soon'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_django_and_without_a_venv_is_sent_to_make_run(tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text((ROOT / "manage.py").read_text())
    bare = [sys.executable, "-I", "-S", str(tmp_path / "manage.py"), "check"]
    done = subprocess.run(bare, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Run `make run` first: it sets up .venv\n"
