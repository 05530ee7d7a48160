"""Sweeps: the members of a space, a launch of all of them or none, their progress, and refusals in words."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.defaults import DEFAULTS, EVALUATE
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import Point, Run, Sweep
from prove_web.experiments.search_space import BadSpace, Range, ValueList, grid, parse, sample_members
from prove_web.experiments.sweep_form import PRESETS, VARIABLE, name_of
from prove_web.experiments.sweep_plot import HEIGHT, WIDTH, MemberResult, plot
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.models import Dataset
from prove_web.workers.enrolment import enrol
from training_worker.worker import heartbeat

from .examples import dataset_of
from .story import ended, event
from .trained import RESULT, run_of

SignIn = Callable[[User], Client]
VALUES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_a_grid_has_every_combination_once(lists: list[list[str]]) -> None:
    space = {f"f{i}": parse(f"f{i}", ", ".join(values)) for i, values in enumerate(lists)}
    members = [tuple(member.values()) for member in grid(space)]
    count = 1
    for values in lists:
        count *= len(set(values))
    assert len(set(members)) == len(members) == count


@given(st.integers(0, 99), st.integers(1, 30))
def test_draws_depend_on_their_seed_are_distinct_and_stay_within_their_ranges(seed: int, count: int) -> None:
    space = {
        "rate": parse("rate", "1e-7 to 1e-4, log"),
        "group": parse("group", "2 to 64", integral=True),
        "loss": parse("loss", "dapo, grpo"),
    }
    members = sample_members(space, count, seed)
    assert members == sample_members(space, count, seed)
    assert len({tuple(member.values()) for member in members}) == len(members) <= count
    for member in members:
        assert 1e-7 <= float(member["rate"]) <= 1e-4 and 2 <= int(member["group"]) <= 64
        assert member["loss"] in ("dapo", "grpo")


def test_draws_from_lists_alone_never_outnumber_their_combinations() -> None:
    assert len(sample_members({"a": ValueList(("1", "2")), "b": ValueList(("x", "y"))}, 100, 0)) == 4


def test_a_range_in_so_many_values_has_both_ends() -> None:
    assert parse("rate", "1e-7 to 1e-4, log in 4") == ValueList(("1e-07", "1e-06", "1e-05", "0.0001"))
    assert parse("beta", "0 to 0.04 in 3") == ValueList(("0", "0.02", "0.04"))
    assert parse("group", "2 to 4 in 9", integral=True) == ValueList(("2", "3", "4")), "whole numbers fall together"
    assert parse("beta", "0 to 1, linear") == Range(0, 1, log=False, integral=False)
    assert parse("seed", " 0, 1 ,1,, 2") == ValueList(("0", "1", "2"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Enter values"),
        (" , ,", "Enter values"),
        ("nan to 1", "'nan' is not a number"),
        ("0 to inf", "'inf' is not a number"),
        ("2 to 1", "The range 2 to 1 is empty"),
        ("0 to 1 log", "A log range cannot start at 0"),
        ("0 to 1 in 1", "2 to 100 values, not 1"),
        ("0 to 1 in 999999999", "2 to 100 values, not 999999999"),
        ("-1e308 to 1e308 in 4", "must be within 1e\\+12, not -1e\\+308"),
        ("5e-324 to 1, log in 3", "A log range cannot start at 4.9"),
        ("1," * 501, "the maximum is 1,000"),
    ],
)
def test_values_that_make_no_sense_are_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(BadSpace, match=says):
        parse("beta", text)


@pytest.mark.parametrize("text", ["1.5 to 7.5", "1.2 to 1.4", "1 to 7.5 in 3", "1e-7 to 1e-4, log"])
def test_a_range_of_integers_ends_at_integers(text: str) -> None:
    with pytest.raises(BadSpace, match="whole numbers only"):
        parse("group", text, integral=True)


def test_a_grid_that_is_too_large_is_refused_before_it_is_made() -> None:
    space = {f"f{i}": parse(f"f{i}", "0 to 1 in 100") for i in range(4)}
    with pytest.raises(BadSpace, match=r"100,000,000 runs \(100 . 100 . 100 . 100\); the maximum is 100"):
        grid(space)
    with pytest.raises(BadSpace, match="such as 0 to 1 in 4"):
        grid({"beta": parse("beta", "0 to 1")})


def test_a_plot_has_a_dot_for_each_member_inside_its_box() -> None:
    for values in (["1e-6", "1e-4", "1e-2"], ["1", "2", "3"], ["a", "b", "a"], ["5"]):
        made = plot("x", [MemberResult(i, value, 0.5, 0.5 + i / 10, i == 1) for i, value in enumerate(values)])
        assert len(made.dots) == len(values) and sum(dot.best for dot in made.dots) == min(1, len(values) - 1)
        assert all(0 < dot.x < WIDTH and 0 < dot.y < HEIGHT for dot in made.dots)
    rising = plot("x", [MemberResult(i, f"{i}", 0.5, i / 10, False) for i in (1, 2, 3)])
    assert [dot.x for dot in rising.dots] == sorted(dot.x for dot in rising.dots)
    assert [dot.y for dot in rising.dots] == sorted((dot.y for dot in rising.dots), reverse=True)
    wide = [
        dot.x
        for dot in plot("x", [MemberResult(i, v, 0, 0, False) for i, v in enumerate(["1e-6", "1e-4", "1e-2"])]).dots
    ]
    assert wide[1] - wide[0] == pytest.approx(wide[2] - wide[1], abs=0.2), "by logarithm"


def test_a_members_name_fits() -> None:
    assert name_of("Rates", {"learning_rate": "1e-6", "seed": "2"}) == "Rates: learning rate 1e-6, seed 2"
    assert len(name_of("n" * 60, {"policy": "run:" + "0" * 36, "loss": "dapo"})) == 80


pages = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.fixture
def alices(alice: User, as_user: SignIn) -> Client:
    return as_user(alice)


def new(project: Project) -> str:
    return reverse("sweep-new", args=project.path)


def filled(dataset: Dataset, *rows: tuple[str, str], **other: Any) -> dict[str, Any]:
    sweep = {"sweep-name": "Mine", "sweep-method": "grid", "sweep-budget": 8, "sweep-seed": 0}
    for number, (field, values) in enumerate(rows, 1):
        sweep |= {f"sweep-field_{number}": field, f"sweep-values_{number}": values}
    return {**DEFAULTS, **sweep, "dataset": dataset.pk} | other


class TestPages:
    pytestmark = pages

    def test_a_sweep_launches_all_its_members_as_runs_in_the_queue(
        self, project: Project, dataset: Dataset, alice: User, alices: Client
    ) -> None:
        answer = alices.post(new(project), filled(dataset, ("learning_rate", "1e-6, 3e-7"), ("seed", "0, 1")))
        sweep = Sweep.objects.get()
        assert answer.status_code == 302 and answer.url == reverse("sweep", args=[*project.path, 1])
        assert (sweep.name, sweep.created_by, sweep.space) == (
            "Mine",
            alice,
            {"learning_rate": "1e-6, 3e-7", "seed": "0, 1"},
        )
        members = list(sweep.members.order_by("number"))
        assert [(run.config["learning_rate"], run.config["seed"]) for run in members] == [
            (1e-6, 0),
            (1e-6, 1),
            (3e-7, 0),
            (3e-7, 1),
        ]
        assert [run.number for run in members] == [1, 2, 3, 4]
        assert members[3].name == members[3].job.title == "Mine: learning rate 3e-7, seed 1"
        assert {run.job.state for run in members} == {State.QUEUED} and {run.job.created_by for run in members} == {
            alice
        }
        assert message_broker.broker().llen("training") == 4

    @pytest.mark.parametrize("preset", PRESETS)
    def test_a_preset_fills_the_first_line_and_can_be_launched(
        self, preset: str, project: Project, dataset: Dataset, alices: Client
    ) -> None:
        typed = filled(dataset, ("beta", "0, 0.01")) | {"temperature": "0.7", "fill": "preset", "preset": preset}
        answer = alices.post(new(project), typed)
        form, base = answer.context["sweep"], answer.context["form"]
        (field, values), *_ = PRESETS[preset][1].items()
        assert (form["field_1"].value(), form["values_1"].value()) == (field, values)
        assert base["temperature"].value() == "0.7" and not Sweep.objects.exists()
        alices.post(new(project), filled(dataset, (field, values)))
        assert Run.objects.count() == len(values.split(","))
        assert len({str(run.config) for run in Run.objects.all()}) == len(values.split(",")), "each is another run"
        assert alices.get(f"{new(project)}?preset={preset}").context["sweep"]["values_1"].value() == values

    def test_draws_at_random_are_runs_too(self, project: Project, dataset: Dataset, alices: Client) -> None:
        random = {"sweep-method": "random", "sweep-budget": 5, "sweep-seed": 3}
        answer = alices.post(new(project), filled(dataset, ("learning_rate", "1e-6 to 1e-3, log"), **random))
        assert answer.status_code == 302, answer.context["sweep"].errors
        sweep = Sweep.objects.get()
        rates = [run.config["learning_rate"] for run in sweep.members.all()]
        assert len(set(rates)) == 5 and all(1e-6 <= rate <= 1e-3 for rate in rates)
        assert (sweep.budget, sweep.seed) == (5, 3)

    def test_any_setting_of_the_form_may_vary(self, project: Project, dataset: Dataset, alices: Client) -> None:
        other = dataset_of(project)
        rows = [("dataset", f"{dataset.number}, {other.number}"), ("kind", "grpo, sft"), ("mask_truncated", "yes, no")]
        alices.post(new(project), filled(dataset, *rows))
        assert {(run.dataset, run.kind) for run in Run.objects.all()} == {
            (one, kind) for one in (dataset, other) for kind in ("grpo", "sft")
        }
        assert {job.kind for job in Job.objects.filter(run__isnull=False)} == {Kind.RUN, Kind.SFT}
        assert {*VARIABLE} == {*RunForm.base_fields} - {"name", "recipe", "base", *EVALUATE}

    @pytest.mark.parametrize(
        ("rows", "other", "said"),
        [
            ([], {}, "Choose at least one setting to vary."),
            ([("learning_rate", "")], {}, "Enter values"),
            ([("", "1, 2")], {}, "Choose the setting for these values."),
            ([("seed", "0"), ("seed", "1")], {}, "Seed is already varied."),
            ([("colour", "red")], {}, "Select a valid choice. colour is not one"),
            ([("name", "a, b")], {}, "Select a valid choice. name is not one"),
            ([("learning_rate", "nan, 1e-6")], {}, "Learning rate 'nan': Enter a number."),
            ([("learning_rate", "1e-6, 5")], {}, "Learning rate '5': Ensure this value is less than or equal to 0.1."),
            ([("group", "1, 8")], {}, "Group size '1': Ensure this value is greater than or equal to 2."),
            ([("loss", "dapo, ppo")], {}, "Loss 'ppo': Select a valid choice. ppo is not one"),
            ([("dataset", "99")], {}, "Dataset '99'"),
            ([("dataset", "x")], {}, "Dataset 'x'"),
            ([("sharding", "ddp, fsdp")], {}, "'fsdp': FSDP shards weights across processes"),
            ([("processes", "1, 3")], {}, "Processes '3': 8 prompts per step are not divisible"),
            ([("seed", "0, 1")], {"group": "1"}, "Group size: Ensure this value is greater than or equal to 2."),
            ([("seed", "0 to 19 in 20"), ("group", "2 to 64 in 60")], {}, "the maximum is 100"),
            ([("seed", "0, 1")], {"sweep-budget": "101"}, "less than or equal to 100"),
            ([("seed", "0, 1")], {"sweep-method": "bayes"}, "Select a valid choice. bayes is not one"),
            ([("seed", "0, 1")], {"sweep-name": ""}, "This field is required."),
            ([("learning_rate", "<b>")], {}, "Learning rate '<b>': Enter a number."),
        ],
    )
    def test_what_no_sweep_can_be_is_named_with_its_value_and_nothing_is_launched(
        self,
        rows: list[tuple[str, str]],
        other: dict[str, str],
        said: str,
        project: Project,
        dataset: Dataset,
        alices: Client,
    ) -> None:
        answer = alices.post(new(project), filled(dataset, *rows, temperature="0.75", **other))
        text = answer.content.decode()
        assert answer.status_code == 422 and said in unescape(text) and "<b>" not in text
        assert 'value="0.75"' in text
        assert not Sweep.objects.exists() and not Run.objects.exists()

    def test_a_sweep_says_how_many_runs_it_will_launch(
        self, project: Project, dataset: Dataset, alices: Client
    ) -> None:
        look = {"fill": "look"}
        text = alices.post(
            new(project), filled(dataset, ("seed", "0, 1, 2"), ("beta", "0, 0.01"), **look)
        ).content.decode()
        assert "<strong>6 runs</strong> will be queued" in text and not Run.objects.exists()
        answer = alices.post(new(project), filled(dataset, ("seed", "0, x"), **look))
        assert answer.status_code == 200 and "Seed &#x27;x&#x27;: Enter a whole number." in answer.content.decode()

    def test_a_sweep_says_what_each_run_and_all_together_will_take_and_when_the_last_is_done(
        self, project: Project, dataset: Dataset, alice: User, alices: Client
    ) -> None:
        form = filled(dataset, ("seed", "0, 1, 2"), ("max_steps", "10, 20"), fill="look")
        outlook = alices.post(new(project), form).context["outlook"]
        minutes = 60 * DEFAULTS["minutes"]
        assert (
            [one.seconds for one in outlook.members] == [minutes] * 6 and not outlook.known and outlook.tokens is None
        )
        assert outlook.done is None and "no training worker" in outlook.why, "what is not known is not made up"
        spec = {**DEFAULTS, "dataset": str(dataset.job_id), "policy": "warm"}
        like = run_of(project, [0.5] * 4, config=spec, dataset=dataset)
        Point.objects.filter(run=like).update(metrics={"step_s": 2.0, "model_tokens": 10.0})
        heartbeat.beat(message_broker.broker(), "training@one", {"queues": ["training"], "slots": 2})
        theirs, _ = enrol(Organisation.objects.create(name="Others", slug="others"), alice, "Theirs", 30)
        heartbeat.beat(message_broker.broker(), theirs.worker, {"queues": ["training"], "slots": 9})
        page = alices.post(new(project), form)
        outlook = page.context["outlook"]
        assert outlook.slots == 2, "a machine of another team does nothing for this one"
        assert (
            [one.seconds for one in outlook.members] == [20.0, 40.0] * 3 and outlook.known and outlook.seconds == 180.0
        )
        assert outlook.tokens == 10.0 * like.config["prompts"] * like.config["group"] * 90
        assert outlook.done == pytest.approx(100.0), "two at once, in the order of their settings"
        assert "Total time" in page.text and f"run {like.number}" in page.text
        assert not Run.objects.exclude(pk=like.pk).exists() and Job.objects.filter(state=State.QUEUED).count() == 0

    def test_a_failed_member_does_not_end_the_sweep_and_the_best_is_marked(
        self, project: Project, dataset: Dataset, alices: Client
    ) -> None:
        alices.post(new(project), filled(dataset, ("seed", "0, 1, 2")))
        first, second, third = Run.objects.order_by("number")
        started = [event(1, "started", host="here", pid=1)]
        better = RESULT | {"sampled": {**RESULT["sampled"], "after": 0.9}}  # type: ignore[dict-item]
        record(str(first.job_id), 1, [*started, ended(2, **RESULT)])
        record(str(second.job_id), 1, [*started, event(2, "ended", state="failed", error="It <broke>.", result={})])
        page = alices.get(Sweep.objects.get().get_absolute_url())
        assert page.context["best"] == first
        record(str(third.job_id), 1, [*started, ended(2, **better)])
        page = alices.get(Sweep.objects.get().get_absolute_url())
        text = page.content.decode()
        assert page.context["best"] == third and text.count(">best<") == 1
        assert page.context["states"] == [("failed", "Failed", 1), ("done", "Done", 2)]
        assert "It &lt;broke&gt;." in text and len(page.context["plots"][0].dots) == 2
        listed = alices.get(reverse("sweeps", args=project.path)).content.decode()
        assert "0.900" in listed and "2 done" in listed and "1 failed" in listed

    @pytest.mark.parametrize("level", ["after_step", "now"])
    def test_a_stop_reaches_every_member_of_a_sweep(
        self, level: str, project: Project, dataset: Dataset, alices: Client
    ) -> None:
        alices.post(new(project), filled(dataset, ("seed", "0, 1, 2")))
        one, two, three = (run.job for run in Run.objects.order_by("number"))
        Job.objects.filter(pk=one.pk).update(state=State.DONE)
        Job.objects.filter(pk=two.pk).update(state=State.RUNNING)
        stop = reverse("sweep-stop", args=[*project.path, 1])
        alices.post(stop, {"level": level})
        states = [Job.objects.get(pk=job.pk) for job in (one, two, three)]
        assert [job.state for job in states] == [State.DONE, State.STOPPING, State.STOPPED]
        assert [job.stop for job in states] == ["", level, level]
        assert "Unknown stop level" in alices.post(stop, {"level": "softly"}, follow=True).content.decode()
        assert alices.get(stop).status_code == 405

    def test_lists_take_as_few_queries_for_many_as_for_one(
        self,
        project: Project,
        dataset: Dataset,
        alices: Client,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        for seeds in ("0, 1", "0 to 19 in 20"):
            alices.post(new(project), filled(dataset, ("seed", seeds)))
        with django_assert_max_num_queries(10):
            assert len(alices.get(reverse("sweeps", args=project.path)).context["page"]) == 2
        with django_assert_max_num_queries(10):
            assert len(alices.get(reverse("sweep", args=[*project.path, 2])).context["rows"]) == 20
        with django_assert_max_num_queries(13):
            alices.get(reverse("runs", args=project.path))

    def test_who_may_only_look_sees_no_way_to_launch_or_stop(
        self, project: Project, dataset: Dataset, alices: Client, victor: User, as_user: SignIn
    ) -> None:
        alices.post(new(project), filled(dataset, ("seed", "0, 1")))
        victors, stop = as_user(victor), reverse("sweep-stop", args=[*project.path, 1])
        assert "Cancel" in alices.get(Sweep.objects.get().get_absolute_url()).content.decode()
        assert (
            "<form method" not in victors.get(Sweep.objects.get().get_absolute_url()).content.decode().split("<main")[1]
        )
        assert victors.get(new(project)).status_code == victors.post(stop, {"level": "now"}).status_code == 403
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(User.objects.get(username="alice"))
        assert strict.post(stop, {"level": "now"}).status_code == 403
        assert not Job.objects.exclude(stop="").exists()

    def test_an_empty_list_and_a_project_without_data_say_so(
        self, project: Project, alices: Client, settings: LazySettings
    ) -> None:
        assert "No sweeps yet" in alices.get(reverse("sweeps", args=project.path)).content.decode()
        assert "No finished datasets" in alices.get(new(project)).content.decode()

    def test_a_member_is_a_run_like_any_other_and_leads_back(
        self, project: Project, dataset: Dataset, alices: Client
    ) -> None:
        alices.post(new(project), filled(dataset, ("kind", "grpo, sft")))
        grpo, sft = (alices.get(run.get_absolute_url()).content.decode() for run in Run.objects.order_by("number"))
        for text in (grpo, sft):
            assert f'href="{reverse("sweep", args=[*project.path, 1])}"' in text
        assert "Rollouts by step" in grpo and "Rollouts by step" not in sft
        table = alices.get(reverse("runs", args=project.path) + "?q=kind:sft")
        assert [row.run.kind for row in table.context["rows"]] == ["sft"]
