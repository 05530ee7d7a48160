"""An empty database gets an owner, a team and its first jobs, once; a newer one is left alone."""

import re
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from prove_web.accounts.models import Membership, Project, User
from prove_web.accounts.roles import Role
from prove_web.experiments.models import Run
from prove_web.live.models import Job, State, StopLevel
from prove_web.operations import bootstrap
from prove_web.supervisor.program import ServiceError
from prove_web.supervisor.programs import OWNER_PASSWORD


@pytest.fixture(autouse=True)
def no_password_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (OWNER_PASSWORD, bootstrap.DEMO):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.django_db
def test_the_first_owner_signs_in_with_the_password_that_appears_once() -> None:
    welcome = bootstrap.fill_empty_database()
    assert welcome and welcome.password and welcome.warning == ""
    assert re.fullmatch(r"(\w{4}-){3}\w{4}", welcome.password)
    owner = User.objects.get()
    assert owner.check_password(welcome.password)
    assert welcome.password not in owner.password
    assert not owner.is_superuser
    owner.full_clean()
    assert Membership.objects.get().role == Role.OWNER
    assert Project.objects.get().path == ("my-team", "demo")


@pytest.mark.django_db
def test_two_first_starts_choose_different_passwords() -> None:
    passwords = set()
    for _ in range(2):
        with transaction.atomic():
            welcome = bootstrap.fill_empty_database()
            passwords.add(welcome and welcome.password)
            transaction.set_rollback(True)
    assert len(passwords) == 2


@pytest.mark.django_db
def test_a_password_from_the_environment_is_used_and_never_displayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWNER_PASSWORD, "open sesame, mountain")
    assert bootstrap.fill_empty_database() == bootstrap.Welcome(None)
    assert User.objects.get().check_password("open sesame, mountain")


@pytest.mark.django_db
def test_a_weak_password_from_the_environment_is_accepted_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWNER_PASSWORD, "abc")
    welcome = bootstrap.fill_empty_database()
    assert welcome and "too short" in welcome.warning
    assert User.objects.get().check_password("abc")


@pytest.mark.django_db
def test_the_first_jobs_follow_each_other() -> None:
    bootstrap.fill_empty_database()
    run = Run.objects.select_related("job__after__after", "dataset__job").get()
    data = run.job.after
    assert data == run.dataset.job
    assert [job.title for job in (data.after, data, run.job)] == ["Dependency graph", "Demo data", "First run"]
    assert data.spec == bootstrap.FULL[0]
    assert run.job.spec == run.config == {"dataset": str(data.pk), **bootstrap.FULL[1]}
    assert set(Job.objects.values_list("state", flat=True)) == {State.QUEUED}


@pytest.mark.django_db
def test_the_demo_can_be_small_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, jobs in (("small", 3), ("none", 0)):
        monkeypatch.setenv(bootstrap.DEMO, name)
        with transaction.atomic():
            bootstrap.fill_empty_database()
            assert Job.objects.count() == jobs
            transaction.set_rollback(True)


@pytest.mark.django_db
def test_a_demo_that_is_none_is_named_and_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bootstrap.DEMO, "huge")
    with pytest.raises(ServiceError, match="PROVE_DEMO='huge' is not one of whole, small, none"):
        bootstrap.fill_empty_database()
    assert not User.objects.exists()


@pytest.mark.django_db
def test_a_later_start_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap.fill_empty_database()
    monkeypatch.setenv(OWNER_PASSWORD, "another one, later")
    assert bootstrap.fill_empty_database() is None
    assert (User.objects.count(), Job.objects.count()) == (1, 3)
    assert bootstrap.password_was_ignored()


@pytest.mark.django_db
def test_the_password_of_the_first_start_may_stay_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not bootstrap.password_was_ignored()
    monkeypatch.setenv(OWNER_PASSWORD, "open sesame, mountain")
    bootstrap.fill_empty_database()
    assert not bootstrap.password_was_ignored()


@pytest.mark.django_db
def test_a_job_that_was_at_work_at_the_last_stop_gets_its_next_attempt_and_no_blame() -> None:
    bootstrap.fill_empty_database()
    Job.objects.filter(kind="graph").update(state=State.RUNNING, seq=7, failures=2)
    assert bootstrap.go_on() == 1
    job = Job.objects.get(kind="graph")
    assert (job.state, job.attempt, job.seq) == (State.QUEUED, 2, 0)
    for _ in range(5):
        Job.objects.update(state=State.STARTING)
        bootstrap.go_on()
    assert set(Job.objects.values_list("state", flat=True)) == {State.QUEUED}


@pytest.mark.django_db
def test_a_job_with_a_pending_stop_is_stopped_by_the_stop_of_the_site() -> None:
    bootstrap.fill_empty_database()
    Job.objects.filter(kind="graph").update(state=State.STOPPING, stop=StopLevel.AFTER_STEP)
    bootstrap.go_on()
    assert Job.objects.get(kind="graph").state == State.STOPPED


@pytest.mark.django_db
def test_a_database_with_migrations_of_a_later_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)  # PostgreSQL would forget what is not committed
    bootstrap.refuse_newer_database()
    MigrationRecorder(connection).record_applied("live", "0099_from_the_future")
    says = r"live\.0099_from_the_future, which is unknown here.*run that version.*Nothing was changed"
    with pytest.raises(ServiceError, match=says):
        bootstrap.refuse_newer_database()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a server makes no database by being asked")
def test_a_database_that_is_not_there_yet_is_not_made_by_looking(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "none.sqlite3"))
    bootstrap.refuse_newer_database()
    assert list(tmp_path.iterdir()) == []
