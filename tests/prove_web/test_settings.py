"""Settings come from the environment; a value that makes no sense stops the start and names itself."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from prove_web.core.env import envbool, envint, envstr
from prove_web.core.secret import secret_key

ROOT = Path(__file__).resolve().parent.parent.parent


def test_an_unset_or_empty_variable_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    for name in ("EMPTY", "UNSET"):
        assert (envstr(name, "a"), envint(name, 3), envbool(name, True)) == ("a", 3, True)


def test_a_switch_can_be_written_in_several_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, meaning in {"1": True, "Yes": True, "ON": True, "0": False, "False": False, "off": False}.items():
        monkeypatch.setenv("SWITCH", value)
        assert envbool("SWITCH", not meaning) is meaning


@pytest.mark.parametrize("read", [lambda: envbool("ODD", False), lambda: envint("ODD", 1)])
def test_a_value_that_makes_no_sense_is_named_with_its_variable(read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "maybe")
    with pytest.raises(ImproperlyConfigured, match=r"ODD='maybe'"):
        read()


def test_the_secret_key_is_made_once_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    data = tmp_path / "data"
    first = secret_key(data)
    assert len(first) >= 50
    assert secret_key(data) == first
    assert [path.name for path in data.iterdir()] == ["secret_key"]
    assert stat.S_IMODE((data / "secret_key").stat().st_mode) == 0o600
    monkeypatch.setenv("SECRET_KEY", "given")
    assert secret_key(data) == "given"


def test_the_database_waits_its_turn_and_no_key_is_made_for_it(tmp_path: Path) -> None:
    script = "from django.db import connection as c; k = c.cursor(); print(k.execute('PRAGMA journal_mode').fetchone())"
    environment = {**os.environ, "PROVE_DATA": str(tmp_path), "DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "('wal',)", done.stderr
    assert not (tmp_path / "secret_key").exists()
