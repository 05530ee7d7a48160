"""The supervisor restarts programs, prints a short form of their output, and leaves none of them behind."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prove_web.supervisor import checks, guard, process
from prove_web.supervisor.output import Console, Output
from prove_web.supervisor.program import Program, ServiceError, StopRequested
from prove_web.supervisor.supervisor import ECHO, Supervisor
from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).resolve().parent.parent.parent
MARKER = "PROVE_TEST_MARKER"

# A supervisor in a process of its own. Its first program starts a child of its own; its second takes a while to stop.
SUPERVISED = """
import os, sys
from pathlib import Path
from prove_web.supervisor.output import Console
from prove_web.supervisor.program import Program
from prove_web.supervisor.supervisor import ECHO, Supervisor

family = '''
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("family", flush=True)
time.sleep(600)
'''
slow = '''
import signal, sys, time
def tidy(number, frame):
    time.sleep({tidying})
    open("tidied", "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, tidy)
print("ready", flush=True)
while True: time.sleep(1)
'''
here = Path.cwd()
with Supervisor(Console(), here / "logs") as supervisor:
    supervisor.start(Program("family", (sys.executable, "-c", family), os.environ, here))
    supervisor.start(Program("slow", (sys.executable, "-c", slow), os.environ, here, grace={grace}))
    supervisor.run()
print("stopped")
"""


def marked(marker: str) -> list[int]:
    """Return the living processes that have the marker in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            dead = folder.joinpath("stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            if not dead and f"{MARKER}={marker}".encode() in folder.joinpath("environ").read_bytes():
                found.append(int(folder.name))
    return found


class Supervised:
    def __init__(self, folder: Path, tidying: float, grace: float) -> None:
        self.marker = uuid.uuid4().hex
        script = SUPERVISED.replace("{tidying}", str(tidying)).replace("{grace}", str(grace))
        self.child = subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=folder,
            env={**os.environ, MARKER: self.marker, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.child.stdout
        said = {self.child.stdout.readline() for _ in range(2)}
        assert said == {"family     | family\n", "slow       | ready\n"}
        assert len(marked(self.marker)) == 4

    def end(self) -> tuple[int, str]:
        out, _ = self.child.communicate(timeout=PATIENCE)
        return self.child.returncode, out


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    made: list[Supervised] = []

    def make(tidying: float = 0, grace: float = 10) -> Supervised:
        made.append(Supervised(tmp_path, tidying, grace))
        return made[-1]

    yield make
    for each in made:
        for pid in marked(each.marker):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        each.child.communicate()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(Console(io.StringIO()), tmp_path / "logs") as supervisor:
        yield supervisor


def program(code: str, name: str = "stand-in", **options: object) -> Program:
    return Program(name, (sys.executable, "-c", code), os.environ, ROOT, **options)


def printed(supervisor: Supervisor) -> str:
    return supervisor.console.stream.getvalue()  # type: ignore[attr-defined]


def turns_until(supervisor: Supervisor, true: Callable[[], object]) -> None:
    supervisor.wait(lambda: bool(true()), "the stand-in", PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_lets_each_program_finish_and_leaves_none(supervised, tmp_path: Path, number) -> None:
    running = supervised(tidying=0.5)
    running.child.send_signal(number)
    assert running.end() == (0, "stopped\n")
    assert (tmp_path / "tidied").exists()
    assert marked(running.marker) == []


def test_a_program_that_does_not_stop_in_time_is_killed(supervised, tmp_path: Path) -> None:
    running = supervised(tidying=600, grace=0.5)
    running.child.terminate()
    assert running.end() == (0, "stopped\n")
    assert not (tmp_path / "tidied").exists()
    assert marked(running.marker) == []


def test_a_second_ctrl_c_ends_all_at_once(supervised) -> None:
    running = supervised(tidying=600, grace=600)

    def insisted() -> bool:
        if running.child.poll() is None:
            running.child.send_signal(signal.SIGINT)
        return running.child.poll() is not None

    eventually(insisted, "an end at once", every=ECHO)
    assert running.end() == (0, "stopped\n")
    assert marked(running.marker) == []


def test_the_echo_of_the_first_ctrl_c_is_no_second(supervisor: Supervisor) -> None:
    for _ in range(2):
        supervisor.on_signal(signal.SIGINT, None)
    assert supervisor.stopping and not supervisor.insisted
    supervisor.stop_requested_at -= 2 * ECHO
    supervisor.on_signal(signal.SIGTERM, None)
    assert not supervisor.insisted
    supervisor.on_signal(signal.SIGINT, None)
    assert supervisor.insisted


def test_a_killed_supervisor_takes_its_programs_with_it(supervised) -> None:
    running = supervised(tidying=600)
    running.child.kill()
    running.child.wait()
    # Processes that the programs start must end by themselves: the workers' children do (test_serve.py).
    eventually(lambda: len(marked(running.marker)) <= 1, "the end of the programs")


def guarded_as_elsewhere(code: str, marker: str = "") -> subprocess.Popen[str]:
    """Start a program under the guard of systems other than Linux, and wait until it is up."""
    watch = "import sys; from prove_web.supervisor.guard import watch; sys.exit(watch(sys.argv[1:]))"
    guarded = subprocess.Popen(
        [sys.executable, "-c", watch, sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, MARKER: marker},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert guarded.stdout and guarded.stdout.readline() == "up\n"
    return guarded


def test_the_guard_of_other_systems_kills_the_group_when_its_input_ends() -> None:
    marker = uuid.uuid4().hex
    with guarded_as_elsewhere("import time; print('up', flush=True); time.sleep(600)", marker) as guarded:
        assert guarded.stdin
        guarded.stdin.close()
        assert guarded.wait(PATIENCE) == -signal.SIGKILL
        eventually(lambda: not marked(marker), "the end of the group")


def test_the_guard_of_other_systems_passes_on_the_request_to_stop_and_the_exit_code() -> None:
    code = "import signal, sys; signal.signal(15, lambda *_: sys.exit(7)); print('up', flush=True); signal.pause()"
    with guarded_as_elsewhere(code) as guarded:
        guarded.terminate()
        assert guarded.wait(PATIENCE) == 7


def test_the_guard_does_not_start_a_program_for_a_supervisor_that_is_gone() -> None:
    if sys.platform != "linux":
        pytest.skip("Linux's way")
    done = subprocess.run([sys.executable, "-I", "-S", guard.__file__, "1", "echo", "too late"], capture_output=True)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_a_program_that_died_is_started_again(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FIRST_DELAY", 0.05)
    supervisor.start(program("import os, time; print('life', os.getpid(), flush=True); time.sleep(600)"))
    turns_until(supervisor, lambda: printed(supervisor).count("life") == 1)
    child = supervisor.processes[0].child
    assert child
    os.kill(child.pid, signal.SIGKILL)
    turns_until(supervisor, lambda: printed(supervisor).count("life") == 2)
    assert "stand-in   | was ended by SIGKILL; starts again in 0.05 s" in printed(supervisor)


def test_a_program_that_cannot_live_is_given_up_with_its_last_words(supervisor: Supervisor, monkeypatch) -> None:
    monkeypatch.setattr(process, "FIRST_DELAY", 0.01)
    supervisor.start(program("raise SystemExit('no such module: torch')"))
    with pytest.raises(
        ServiceError, match=r"exit code 1, the 5th time within a minute.* output: no such module: torch"
    ):
        supervisor.run()


def test_a_program_that_has_lived_is_never_given_up(supervisor: Supervisor, monkeypatch) -> None:
    monkeypatch.setattr(process, "FIRST_DELAY", 0.01)
    supervisor.start(program("print('life')"))
    supervisor.processes[0].steady = True
    turns_until(supervisor, lambda: printed(supervisor).count("| life") > process.MOST_DEATHS)


def test_what_a_dead_program_left_running_is_ended_with_it(supervisor: Supervisor, tmp_path: Path) -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    supervisor.start(program(code))
    turns_until(supervisor, lambda: "ended with exit code 0" in printed(supervisor))
    pid = int(printed(supervisor).split("|")[1].split()[0])
    eventually(lambda: not Path(f"/proc/{pid}").exists() or "Z (" in status(pid), "the end of what was left")


def status(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/status").read_text()
    return "Z ("


NOTES_ITS_END = """
import signal, sys
def note(*rest):
    print({name!r}, file=open("order", "a"))
    sys.exit()
signal.signal(signal.SIGTERM, note)
print("up", flush=True)
signal.pause()
"""


def test_programs_stop_in_their_order(tmp_path: Path) -> None:
    with Supervisor(Console(io.StringIO()), tmp_path / "logs") as supervisor:
        for order, name in ((2, "broker"), (0, "worker"), (1, "writer")):
            command = (sys.executable, "-c", NOTES_ITS_END.format(name=name))
            supervisor.start(Program(name, command, os.environ, tmp_path, stop_order=order))
        turns_until(supervisor, lambda: printed(supervisor).count("| up") == 3)
    assert (tmp_path / "order").read_text().split() == ["worker", "writer", "broker"]


def test_waiting_ends_when_somebody_asks_to_stop_or_after_its_time(supervisor: Supervisor) -> None:
    with pytest.raises(ServiceError, match="the moon did not answer within 0 s"):
        supervisor.wait(lambda: False, "the moon", 0)
    supervisor.on_signal(signal.SIGINT, None)
    with pytest.raises(StopRequested):
        supervisor.wait(lambda: False, "the moon", PATIENCE)


def output(tmp_path: Path, *noise: str) -> tuple[Output, io.StringIO]:
    stream = io.StringIO()
    return Output("web", Console(stream), tmp_path, noise), stream


def test_a_traceback_is_printed_as_its_last_line_and_written_in_full_to_the_file(tmp_path: Path) -> None:
    out, stream = output(tmp_path)
    text = (
        "ERROR first\nTraceback (most recent call last):\n  File 'a'\n    b()\nKeyError: 1\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File 'c'\nValueError: 2\nafter\n"
    )
    for start in range(0, len(text), 7):  # as a pipe delivers it
        out.feed(text[start : start + 7].encode())
    lines = [line.partition("| ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["ERROR first", f"ValueError: 2 (traceback in {tmp_path / 'web.log'})", "after"]
    assert (tmp_path / "web.log").read_text() == text


def test_a_traceback_at_the_end_is_printed_once_nothing_follows(tmp_path: Path) -> None:
    out, stream = output(tmp_path)
    out.feed(b"Traceback (most recent call last):\n  x\nKeyError: 1\n")
    assert stream.getvalue() == ""
    out.flush()
    assert "KeyError: 1" in stream.getvalue()


def test_noise_blank_lines_and_control_characters_stay_off_the_terminal(tmp_path: Path) -> None:
    out, stream = output(tmp_path, "Warm shutdown")
    out.feed(b"\nworker: Warm shutdown (MainProcess)\n\x1b[2Jgotcha \xff\r\n")
    assert stream.getvalue() == "web        | ?[2Jgotcha \ufffd\n"


def test_names_are_coloured_only_where_somebody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    Console(terminal).print_line("web", "hello")
    assert terminal.getvalue() == "\033[36mweb        |\033[0m hello\n"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    Console(plain).print_line("web", "hello")
    assert plain.getvalue() == "web        | hello\n"


def test_a_terminal_that_is_gone_is_a_request_to_stop(tmp_path: Path) -> None:
    stream = io.StringIO()
    with Supervisor(Console(stream), tmp_path / "logs") as supervisor:
        stream.close()
        supervisor.print_line("anybody there?")
        supervisor.run()  # returns


FULL = Path("/dev/full")  # every write fails as on a full disk
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@needs_full
def test_a_full_disk_ends_neither_the_supervisor_nor_its_programs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "stand-in.log").symlink_to(FULL)
    alive = tmp_path / "alive"
    terminal = FULL.open("w")
    with Supervisor(Console(terminal), tmp_path / "logs") as supervisor:
        supervisor.start(program(f"import time; print('x' * 9000); open({str(alive)!r}, 'w'); time.sleep(600)"))
        turns_until(supervisor, lambda: supervisor.processes[0].output.unwritten)
        supervisor.print_line("still here")
        assert supervisor.processes[0].alive and not supervisor.stopping
    with contextlib.suppress(OSError):
        terminal.close()


@needs_full
def test_a_log_that_cannot_be_written_is_reported_once_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    out, stream = output(tmp_path)
    out.path.symlink_to(FULL)
    out.feed(b"first\n")
    out.feed(b"second\n")
    out.path.unlink()
    out.feed(b"third\n")
    lines = [line.partition("| ")[2] for line in stream.getvalue().splitlines()]
    wrong = f"cannot write {out.path} (No space left on device): output is shown only here until it can"
    assert lines == [wrong, "first", "second", f"writes {out.path} again; 13 bytes are not in it", "third"]
    assert out.path.read_text() == "third\n"


def test_a_program_that_dies_for_want_of_room_is_never_given_up(supervisor: Supervisor, monkeypatch) -> None:
    monkeypatch.setattr(process, "FIRST_DELAY", 0.0)
    monkeypatch.setattr(checks, "FULL", 10**18)
    supervisor.start(program("raise SystemExit(3)"))
    turns_until(supervisor, lambda: printed(supervisor).count("exit code 3") > process.MOST_DEATHS)
    assert "the disk of" in printed(supervisor) and "is full: make room; starts again in" in printed(supervisor)


def test_a_program_that_cannot_be_started_for_now_is_tried_again(supervisor: Supervisor, monkeypatch) -> None:
    def refuse(*rest: object, **given: object) -> None:
        monkeypatch.undo()
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", refuse)
    supervisor.start(program("print('here', flush=True); import time; time.sleep(600)"))
    turns_until(supervisor, lambda: "here" in printed(supervisor))
    assert "cannot be started (Resource temporarily unavailable); tries again in 0.5 s" in printed(supervisor)


def test_what_is_stopped_on_purpose_stays_stopped_until_somebody_wants_it_again(supervisor, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    supervisor.start(program("import time; time.sleep(600)", "kept", stopped=stopped))
    (managed,) = supervisor.processes
    first = managed.child.pid
    stopped.touch()
    turns_until(supervisor, lambda: not managed.alive)
    for _ in range(5):
        supervisor.turn()
    assert (
        not managed.alive
        and "kept       | stopped by request" in printed(supervisor)
        and "starts again" not in printed(supervisor)
    )
    stopped.unlink()
    turns_until(supervisor, lambda: managed.alive)
    assert managed.child.pid != first and not managed.deaths


def test_a_program_that_ignores_a_stop_is_killed_and_a_stopped_one_does_not_start(supervisor, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    stubborn = f"{deaf}; print('up', flush=True); time.sleep(600)"
    supervisor.start(program(stubborn, "stubborn", stopped=stopped, grace=0.2))
    turns_until(supervisor, lambda: "up" in printed(supervisor))
    stopped.touch()
    turns_until(supervisor, lambda: not supervisor.processes[0].alive)
    supervisor.start(program("import time; time.sleep(600)", "other", stopped=stopped))
    supervisor.turn()
    assert not supervisor.processes[1].alive
