"""Alerts of a project: runs fire them once, a rewound run withdraws them, and only the team sees them."""

from __future__ import annotations

import html
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as trials
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from prove_web.accounts.models import Organisation, Project, User
from prove_web.alerts.evaluator import watch
from prove_web.alerts.forms import describe_condition, from_preset
from prove_web.alerts.models import Alert, Delivery, Patterns, Rule, Webhook
from prove_web.alerts.notifications import Bell, set_bell
from prove_web.alerts.periodic import pass_over
from prove_web.alerts.tasks import watch as watch_task
from prove_web.experiments.models import Point, Run
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.models import Job, State
from prove_web.review.models import Notification
from training_worker.monitoring.alerts.presets import PRESETS

from .examples import chain, dataset_of
from .story import event, run_job, step
from .trained import calling, good, keep_rollouts, measure, run_of, saying

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


def rule_of(project: Project, preset: str = "", **values: Any) -> Rule:
    own = Rule(project=project, name="Low", metric="points.reward")
    made = from_preset(project, PRESETS[preset]) if preset else own
    for name, value in values.items():
        setattr(made, name, value)
    made.save()
    return made


def low(project: Project, threshold: float = 0.25, **values: Any) -> Rule:
    return rule_of(project, comparison="below", threshold=threshold, **values)


def points(run: Run, metric: str, *values: float | None) -> None:
    Point.objects.filter(run=run).delete()
    Point.objects.bulk_create(Point(run=run, step=at, metrics={metric: one}) for at, one in enumerate(values, 1))


def fired(run: Run) -> list[tuple[str, int, float | None]]:
    return [(one.rule.name, one.step, one.value) for one in Alert.objects.valid().filter(run=run).order_by("step")]


def tell(job: Job, *events: dict, attempt: int = 1) -> Run:
    record(str(job.id), attempt, events)
    watch_task(str(job.pk))
    return Run.objects.get(job=job)


def test_a_rule_fires_once_and_clears_and_may_fire_again(project: Project) -> None:
    low(project)
    run = run_of(project, [0.5, 0.2, 0.1, 0.6, 0.1])
    for _ in range(3):
        watch(run)
    assert fired(run) == [("Low", 2, 0.2), ("Low", 5, 0.1)]
    assert [one.cleared_step for one in Alert.objects.order_by("step")] == [4, None]


def test_what_runs_report_is_watched_without_holding_up_what_is_recorded(project: Project, broker: str) -> None:
    low(project)
    job = run_job(project)
    waiting = int(message_broker.broker().llen("web"))
    for number in (1, 2, 3):
        record(str(job.pk), 1, [step(number, number, 0.1)])
    assert int(message_broker.broker().llen("web")) - waiting == 1, "asked for once until it is begun"
    assert Alert.objects.count() == 0
    watch_task(str(job.pk))
    assert fired(Run.objects.get(job=job)) == [("Low", 1, 0.1)]
    record(str(job.pk), 1, [step(4, 4, 0.1)])
    assert int(message_broker.broker().llen("web")) - waiting == 2


def test_a_rewound_step_withdraws_its_alert_and_an_acknowledgement_stays(project: Project, bob: User) -> None:
    low(project)
    job = run_job(project)
    run = tell(job, step(1, 1, 0.5), step(2, 2, 0.1))
    Alert.objects.update(acknowledged_at=timezone.now(), acknowledged_by=bob)
    tell(job, event(3, "rewound", step=1))
    assert fired(run) == []
    tell(job, step(4, 2, 0.5))
    assert fired(run) == []
    tell(job, event(5, "rewound", step=1), step(6, 2, 0.2))
    assert fired(run) == [("Low", 2, 0.2)] and Alert.objects.get().acknowledged_by == bob


class Rewound(TestCase):
    """Whatever a run logs, rewinds and logs again, its alerts in the end are those of its curve."""

    @trials(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.tuples(st.booleans(), st.lists(st.sampled_from([0.1, 0.24, 0.26, 0.5]), min_size=1, max_size=5)),
            min_size=1,
            max_size=5,
        )
    )
    def test_alerts_follow_from_the_curve_alone(self, story: list[tuple[bool, list[float]]]) -> None:
        organisation, _ = Organisation.objects.get_or_create(slug="acme", name="Acme")
        project = Project.objects.create(organisation=organisation, slug=f"p{Project.objects.count()}", name="P")
        low(project)
        job, seq, at = run_job(project), 0, 0
        for back, rewards in story:
            events = []
            if back:
                at, seq = at // 2, seq + 1
                events.append(event(seq, "rewound", step=at))
            for reward in rewards:
                at, seq = at + 1, seq + 1
                events.append(step(seq, at, reward))
            run = tell(job, *events)
            fired_again = fired(tell(job, *events))
        twin = run_of(project)
        Point.objects.bulk_create(
            Point(run=twin, step=one.step, metrics=one.metrics) for one in Point.objects.filter(run=run)
        )
        watch(twin)
        assert fired(run) == fired(twin) == fired_again
        assert Notification.objects.count() == 0 and not Alert.objects.filter(step=0).exists()


@pytest.mark.parametrize("name", ["loss", "reward", "kl"])
def test_a_metric_that_is_no_number_fires_and_one_that_is_not_logged_does_not(project: Project, name: str) -> None:
    rule_of(project, "nan")
    run = run_of(project)
    points(run, name, 0.5, None, None, 0.5)
    watch(run)
    assert fired(run) == [("Loss or reward is NaN/Inf", 2, None)]
    other = run_of(project)
    points(other, "calls", 0.5, None)
    watch(other)
    assert fired(other) == []


def test_held_out_that_falls_while_training_rises_fires_at_the_evaluation(project: Project) -> None:
    rule_of(project, "overfit")
    run = run_of(project, [0.1 * number for number in range(1, 11)])
    measure(run, step_0=0.3, step_5=0.6, step_10=0.5)
    watch(run)
    [(_, at, value)] = fired(run)
    assert at == 10 and value == pytest.approx(0.1)


def test_a_rule_is_on_for_its_kind_and_tag_alone(project: Project) -> None:
    low(project, name="All")
    low(project, name="Tagged", tag="big")
    low(project, name="Supervised", kind="sft")
    low(project, name="Off", enabled=False)
    run = run_of(project, [0.1])
    watch(run)
    assert {name for name, _, _ in fired(run)} == {"All"}
    run.tags = ["big"]
    watch(run)
    assert {name for name, _, _ in fired(run)} == {"All", "Tagged"}


def test_rules_of_one_project_do_not_watch_the_runs_of_another(project: Project, charlie: User) -> None:
    low(project)
    theirs = run_of(Project.objects.get(organisation__slug="other"), [0.1])
    watch(theirs)
    assert not Alert.objects.exists()


def test_a_run_that_failed_fires_and_clears_when_it_resumes(project: Project) -> None:
    rule_of(project, "failed")
    rule_of(project, "done")
    run = run_of(project, [0.5, 0.5], state=State.FAILED, ended_at=timezone.now())
    for _ in range(2):
        pass_over()
    assert fired(run) == [("Run failed or lost", 2, None)]
    Job.objects.filter(pk=run.job_id).update(state=State.QUEUED, attempt=2, started_at=timezone.now())
    pass_over()
    assert [one.state for one in Alert.objects.all()] == [Alert.State.CLEARED]
    Job.objects.filter(pk=run.job_id).update(state=State.DONE, ended_at=timezone.now())
    pass_over()
    assert [one.rule.preset for one in Alert.objects.state("cleared").order_by("pk")] == ["failed", "done"]


def test_silence_fires_once_and_clears_with_a_heartbeat(project: Project) -> None:
    rule_of(project, "silent")
    beat = timezone.now() - timedelta(seconds=50)
    run = run_of(project, state=State.RUNNING, started_at=beat, beat_at=beat)
    for _ in range(2):
        pass_over()
    [alert] = Alert.objects.all()
    assert alert.value >= 50 and alert.state == Alert.State.OPEN
    Job.objects.filter(pk=run.job_id).update(beat_at=timezone.now())
    pass_over()
    assert Alert.objects.get().state == Alert.State.CLEARED


def test_a_disk_that_runs_full_fires_for_active_runs(project: Project, settings: Any, tmp_path: Any) -> None:
    settings.PROVE_DATA = tmp_path
    rule_of(project, "disk", threshold=1e9)
    run_of(project, state=State.RUNNING, started_at=timezone.now(), beat_at=timezone.now())
    run_of(project)
    pass_over()
    pass_over()
    assert [one.run.number for one in Alert.objects.all()] == [1]


@pytest.fixture
def hacked(project: Project, settings: Any, tmp_path: Any) -> Run:
    """A run whose rollouts make a call again and again, or none at all."""
    settings.PROVE_DATA = tmp_path
    example = chain()
    dataset_of(project, [example])
    run = run_of(project, [0.5, 0.5, 0.5])
    call = example.steps[0].calls[0]
    for at in (1, 2, 3):
        keep_rollouts(run, at, [calling(example, call, call, call), good(example), saying(example, "No.")])
    return run


def test_ways_round_the_reward_are_found_in_the_rollouts_with_those_that_show_them(
    project: Project, hacked: Run, victor: User, as_user: SignIn, django_assert_max_num_queries: Any
) -> None:
    rule_of(project, "repeats")
    rule_of(project, "idle")
    watch(hacked)
    assert [(name, at) for name, at, _ in fired(hacked)] == [
        ("Repeated calls", 3),
        ("No calls where expected", 3),
    ]
    seen = list(Patterns.objects.values("step", "digest"))
    watch(hacked)
    assert list(Patterns.objects.values("step", "digest")) == seen and len(seen) == 3
    client = as_user(victor)
    for alert, index in zip(Alert.objects.order_by("pk"), (1, 3), strict=True):
        with django_assert_max_num_queries(12):
            page = client.get(alert.get_absolute_url()).text
        rollout = reverse("rollout", args=[*project.path, hacked.number, 3, index])
        assert rollout in page
        assert client.get(rollout).status_code == 200


def test_a_step_that_is_reported_again_is_checked_again(project: Project, hacked: Run) -> None:
    rule_of(project, "repeats")
    watch(hacked)
    before = {one.step: one.digest for one in Patterns.objects.all()}
    keep_rollouts(hacked, 3, [good(chain())])
    hacked.stored_steps.filter(step=1).delete()
    watch(hacked)
    after = {one.step: one.digest for one in Patterns.objects.all()}
    assert after.keys() == {2, 3} and after[2] == before[2] and after[3] != before[3]
    assert fired(hacked) == []


def test_rollouts_that_are_not_there_yet_are_looked_at_later(project: Project, hacked: Run) -> None:
    rule_of(project, "repeats")
    away = hacked.job.out / "rollouts"
    away.rename(away.with_name("elsewhere"))
    watch(hacked)
    assert not Patterns.objects.exists()
    away.with_name("elsewhere").rename(away)
    watch(hacked)
    assert Patterns.objects.count() == 3 and len(fired(hacked)) == 1


@pytest.mark.parametrize("preset", [one.key for one in PRESETS.values() if one.metric.startswith("points.")])
def test_every_rule_about_a_curve_leads_to_rollouts(
    project: Project, hacked: Run, victor: User, as_user: SignIn, preset: str
) -> None:
    rule = rule_of(project, preset)
    alert = Alert.objects.create(project=project, rule=rule, run=hacked, key="step-3", step=3, value=1.0)
    page = as_user(victor).get(alert.get_absolute_url())
    assert page.status_code == 200 and html.escape(PRESETS[preset].means[:20]) in page.text
    if rule.ready_made.shows not in ("equal", "cut", "failing"):
        assert "rollout 1" in page.text


def test_the_bell_tells_who_launched_the_run_and_who_wants_all(
    project: Project, alice: User, mary: User, bob: User, victor: User
) -> None:
    set_bell(alice, project, Bell.ALL)
    set_bell(bob, project, Bell.NONE)
    low(project)
    for owner in (mary, bob):
        run = run_of(project, [0.1], by=owner)
        watch(run)
        watch(run)
    counts = {user.username: Notification.objects.filter(user=user).count() for user in (alice, mary, bob, victor)}
    assert counts == {"alice": 2, "mary": 1, "bob": 0, "victor": 0}


def test_one_that_is_over_when_it_is_found_rings_no_bell(project: Project, mary: User) -> None:
    low(project)
    watch(run_of(project, [0.5, 0.1, 0.5], by=mary))
    assert Alert.objects.get().state == Alert.State.CLEARED and not Notification.objects.exists()


@pytest.fixture
def opened(project: Project, mary: User) -> Alert:
    low(project)
    watch(run_of(project, [0.5, 0.1], by=mary))
    return Alert.objects.get()


def is_listed(client: Client, state: str) -> bool:
    return "alert-name" in client.get("/acme/demo/alerts/", {"state": state}).text


def test_an_alert_is_acknowledged_snoozed_and_opened_again(opened: Alert, bob: User, as_user: SignIn) -> None:
    client, change = as_user(bob), f"/acme/demo/alerts/{opened.pk}/change/"
    places = ("open", "acknowledged", "snoozed", "cleared")

    def where() -> list[str]:
        return [state for state in places if is_listed(client, state)]

    assert where() == ["open"] and ">1<" in client.get("/acme/demo/").text
    client.post(change, {"do": "acknowledge"})
    assert where() == ["acknowledged"] and "nav-open" not in client.get("/acme/demo/").text
    client.post(change, {"do": "snooze", "hours": "8"})
    assert where() == ["snoozed"]
    Alert.objects.update(snoozed_until=timezone.now() - timedelta(seconds=1))
    assert where() == ["open"], "the time is over"
    client.post(change, {"do": "acknowledge"})
    client.post(change, {"do": "reopen"})
    assert where() == ["open"]
    for odd in ({}, {"do": "snooze", "hours": "9999"}, {"do": "burn"}):
        assert client.post(change, odd).status_code == 400


def test_the_page_of_a_run_shows_what_is_open_and_nothing_that_somebody_dealt_with(
    opened: Alert, victor: User, as_user: SignIn
) -> None:
    client = as_user(victor)
    page = client.get(opened.run.get_absolute_url()).text
    assert opened.get_absolute_url() in page and "1 alert open" in page
    Alert.objects.update(acknowledged_at=timezone.now())
    assert "alert open" not in client.get(opened.run.get_absolute_url()).text


def test_names_are_escaped(opened: Alert, victor: User, as_user: SignIn) -> None:
    Rule.objects.update(name="<script>x</script>")
    Run.objects.update(name="<b>run</b>")
    client = as_user(victor)
    for url in (
        opened.get_absolute_url(),
        opened.run.get_absolute_url(),
        "/acme/demo/alerts/",
        "/acme/demo/alerts/rules/",
    ):
        page = client.get(url).text
        assert "<script>x" not in page and "<b>run</b>" not in page and "&lt;script&gt;x" in page


def test_a_list_costs_the_same_however_long(
    project: Project, opened: Alert, victor: User, as_user: SignIn, django_assert_max_num_queries: Any
) -> None:
    Alert.objects.bulk_create(
        Alert(project=project, rule=opened.rule, run=opened.run, key=f"step-{n}", step=n) for n in range(3, 40)
    )
    client = as_user(victor)
    with django_assert_max_num_queries(14):
        page = client.get("/acme/demo/alerts/").text
    assert page.count("alert-name") == 25 and "1 to 25 of 38" in page


def test_rules_are_added_ready_made_changed_switched_and_put_back(
    project: Project, mary: User, as_user: SignIn
) -> None:
    client, rules = as_user(mary), "/acme/demo/alerts/rules/"
    for _ in range(2):
        client.post(f"{rules}add/", {"preset": ["nan", "kl", "nothing"]})
    assert list(Rule.objects.values_list("preset", flat=True)) == ["nan", "kl"]
    kl = Rule.objects.get(preset="kl")
    assert client.get(f"{rules}{kl.pk}/").status_code == 200
    assert client.post(f"{rules}{kl.pk}/", {"name": "KL", "threshold": "nan", "over": "5"}).status_code == 422
    client.post(f"{rules}{kl.pk}/", {"name": "KL", "threshold": "0.2", "over": "3", "metric": "points.loss"})
    kl.refresh_from_db()
    assert (kl.name, kl.threshold, kl.over, kl.metric) == ("KL", 0.2, 3, "points.kl")
    for do, there in (("off", True), ("remove", False), ("restore", True)):
        client.post(f"{rules}{kl.pk}/switch/", {"do": do})
        assert (f"{rules}{kl.pk}/" in client.get(rules).text.split("Removed")[0]) is there
    assert not Rule.objects.get(pk=kl.pk).enabled


def test_a_rule_of_ones_own_watches_any_metric(project: Project, mary: User, as_user: SignIn) -> None:
    form = {"name": "Slow", "metric": "points.step_s", "comparison": "above", "aggregate": "mean"}
    client = as_user(mary)
    bad = client.post("/acme/demo/alerts/rules/new/", form | {"over": "0", "threshold": "x"})
    assert bad.status_code == 422 and "Slow" in bad.text, "nothing that was typed is lost"
    assert client.post("/acme/demo/alerts/rules/new/", form | {"metric": "points.__x"}).status_code == 422
    assert client.post("/acme/demo/alerts/rules/new/", form | {"over": "2", "threshold": "1.5"}).status_code == 302
    run = run_of(project, [0.5, 0.5, 0.5])
    watch(run)
    assert fired(run) == [("Slow", 2, 2.0)]
    assert "2" in client.get(Alert.objects.get().get_absolute_url()).text


def test_a_webhook_gets_each_new_alert_once(project: Project) -> None:
    Webhook.objects.create(project=project, name="Chat", url="https://example.com/", secret="s")
    Webhook.objects.create(project=project, name="Off", url="https://example.com/", secret="s", enabled=False)
    low(project)
    run = run_of(project, [0.1])
    for _ in range(2):
        watch(run)
    assert [(one.webhook.name, one.alert.run) for one in Delivery.objects.all()] == [("Chat", run)]


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.unit not in ("share", "")])
def test_a_rule_is_said_with_its_unit_as_it_is_written(project: Project, name: str) -> None:
    said = describe_condition(rule_of(project, name))
    assert PRESETS[name].unit in said and said[0].isupper()
