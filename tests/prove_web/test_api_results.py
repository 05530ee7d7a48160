"""Results of runs and evaluations for programs: outcomes, groups as trees, comparisons, alerts, links, the bin."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from prove_web.accounts.models import Organisation, Project, User
from prove_web.alerts.models import Alert, Rule
from prove_web.api.api import document
from prove_web.experiments.models import Run
from prove_web.live.models import Job, State
from prove_web.sharing.models import Share
from training_worker.environment.episode import oracle

from .api_operations import Program, program
from .evaluated import Look, evaluation_of, fails_on, saying
from .examples import chain, dataset_of
from .trained import keep_rollouts, run_of
from .trained import saying as spoken

pytestmark = pytest.mark.django_db
STEP = 2


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA, settings.PROVE_STORAGE = tmp_path, ""


@pytest.fixture
def maries(mary: User, organisation: Organisation, project: Project) -> Program:
    return program(mary, organisation)


@pytest.fixture
def run(project: Project) -> Run:
    return run_of(project, [0.5] * STEP, dataset=dataset_of(project, [chain()]), config={"group": 2})


class TestRollouts:
    def test_outcomes_are_counted_by_tool(self, run: Run, maries: Program) -> None:
        assert maries.get("/runs/1/tools/outcomes") == {"first": None, "last": None, "left": 0, "tools": []}
        keep_rollouts(run, STEP, [oracle(chain()), spoken(chain(), "No idea.")])
        outcomes = maries.get("/runs/1/tools/outcomes")
        assert (outcomes["first"], outcomes["last"], outcomes["left"]) == (STEP, STEP, 0)
        needed = {call.name for step in chain().steps for call in step.calls}
        assert {one["tool"] for one in outcomes["tools"]} == needed
        for one in outcomes["tools"]:
            counts = {each["outcome"]: each["count"] for each in one["outcomes"]}
            assert counts["succeeded"] == one["calls"] and counts["untried"] == one["chances"] - one["calls"] > 0
        name = outcomes["tools"][0]["tool"]
        assert [one["tool"] for one in maries.get(f"/runs/1/tools/outcomes?q={name}")["tools"]] == [name]
        assert len(maries.get("/runs/1/tools/outcomes?all=true")["tools"]) > len(needed)

    def test_a_group_is_a_tree_with_the_call_where_it_branches(self, run: Run, maries: Program) -> None:
        keep_rollouts(run, STEP, [oracle(chain()), spoken(chain(), "No idea.")])
        group = maries.get(f"/runs/1/rollouts/{STEP}/groups/1")
        first, *rest = group["branches"]
        assert (first["after"], first["rollouts"], first["ends"], first["parts"]) == (None, [1, 2], [2], True)
        assert [one["after"] for one in rest] == [first["number"]] and rest[0]["rollouts"] == [1]
        assert [one["tool"] for one in rest[0]["calls"]] == [call.name for step in chain().steps for call in step.calls]
        assert [one["index"] for one in group["members"]] == [1, 2]
        assert maries.get(f"/runs/1/rollouts/{STEP}/groups/9", 404)["error"].startswith("Step 2 has no group 9")
        assert maries.get("/runs/1/rollouts/77/groups/1", 404)["do"]


class TestEvaluations:
    def test_two_are_paired_task_by_task(self, project: Project, maries: Program) -> None:
        before = evaluation_of(project, saying(fails_on(1, 2)), benchmark=Look())
        after = evaluation_of(project, saying(fails_on(2, 3, 4)), benchmark=Look())
        comparison = maries.get(f"/evaluations/{after.number}/compare/{before.number}")
        assert (comparison["before"], comparison["after"], comparison["overall"]["items"]) == (
            before.number,
            after.number,
            12,
        )
        assert (
            (comparison["overall"]["gained"], comparison["overall"]["lost"])
            == (len(comparison["gained"]), len(comparison["lost"]))
            == (1, 2)
        )
        assert comparison["overall"]["difference"] == pytest.approx(-100 / 12)
        assert {one["name"] for one in comparison["categories"]} == {"even", "odd"}
        assert comparison["gained"][0]["before"] < comparison["gained"][0]["after"]
        same = maries.get(f"/evaluations/{after.number}/compare/{after.number}", 409)
        assert "cannot be compared with itself" in same["error"]

    def test_the_policies_that_a_run_or_an_evaluation_takes_are_listed_and_named_where_another_is_given(
        self, project: Project, maries: Program
    ) -> None:
        listed = {one["policy"]: one for one in maries.get("/policies")}
        assert listed["warm"] == {
            "policy": "warm",
            "title": "Shipped warm-start policy",
            "group": "",
            "trains": True,
            "evaluates": True,
        }
        assert not listed["source:oracle"]["trains"] and listed["source:oracle"]["evaluates"]
        wrong = maries.post("/evaluations", {"benchmark": "bfcl", "policy": "gpt"}, 422)
        error = {one["where"]: one["error"] for one in wrong["faults"]}["body.policy"]
        assert error.startswith('There is no policy "gpt" here. Possible values: warm') and "source:oracle" in error
        wrong = maries.post("/runs", {"policy": "gpt"}, 422)
        error = {one["where"]: one["error"] for one in wrong["faults"]}["body.policy"]
        assert "Possible values: warm" in error and "source:oracle" not in error
        for body in ("Launch", "LaunchEvaluation"):
            assert "/policies" in document()["components"]["schemas"][body]["properties"]["policy"]["description"]

    def test_a_leaderboard_has_them_in_order_beside_the_papers_rows(self, project: Project, maries: Program) -> None:
        worse = evaluation_of(project, saying(fails_on(1, 2, 3), "worse"), benchmark=Look())
        better = evaluation_of(project, saying(fails_on(1), "better"), benchmark=Look())
        leaderboard = maries.get(f"/leaderboards/{better.benchmark}")
        [board] = leaderboard["boards"]
        assert [one["evaluation"] for one in board["standings"]] == [better.number, worse.number]
        assert [one["rank"] for one in board["standings"]] == [1, 2] and leaderboard["paper"] == []
        listed = {one["benchmark"]: one for one in maries.get("/leaderboards")}
        assert listed[better.benchmark]["first"] == board["standings"][0]
        assert listed["bfcl"]["paper"]["scores"]["overall"] > 0 and listed["bfcl"]["first"] is None
        assert maries.get("/leaderboards/nothing", 404)["error"].startswith("Unknown benchmark 'nothing'")


class TestAlerts:
    @pytest.fixture
    def alert(self, project: Project, run: Run) -> Alert:
        rule = Rule.objects.create(project=project, name="Low", metric="points.reward", comparison="below")
        return Alert.objects.create(project=project, rule=rule, run=run, key="step-2", step=STEP, value=0.1)

    def test_an_alert_is_read_acknowledged_left_and_opened_again(
        self, alert: Alert, organisation: Organisation, bob: User
    ) -> None:
        bobs = program(bob, organisation)
        [listed] = bobs.get("/alerts")["items"]
        detail = bobs.get(f"/alerts/{alert.pk}")
        assert detail.items() >= listed.items() and detail["condition"].startswith("Latest value is below")
        done = bobs.post(f"/alerts/{alert.pk}/change", {"do": "acknowledge"})
        assert (done["state"], done["acknowledged_by"]) == ("acknowledged", "bob")
        assert bobs.get("/alerts")["items"] == [] and len(bobs.get("/alerts?state=acknowledged&run=1")["items"]) == 1
        assert bobs.post(f"/alerts/{alert.pk}/change", {"do": "snooze", "hours": 8})["snoozed_until"]
        assert bobs.post(f"/alerts/{alert.pk}/change", {"do": "snooze"}, 422)["where"] == "body.hours"
        assert bobs.post(f"/alerts/{alert.pk}/change", {"do": "reopen"})["state"] == "open"

    def test_a_rule_is_switched_and_a_removed_one_is_not(self, alert: Alert, maries: Program) -> None:
        here = f"/alerts/rules/{alert.rule_id}/switch"
        assert maries.post(here, {"enabled": False})["enabled"] is False
        assert [(one["enabled"], one["open"]) for one in maries.get("/alerts/rules")] == [(False, 1)]
        Rule.objects.update(removed_at="2026-01-01T00:00:00Z")
        maries.post(here, {"enabled": True}, 409)


class TestSharing:
    def test_a_link_lets_a_stranger_in_until_it_is_withdrawn(self, run: Run, maries: Program) -> None:
        page = maries.get("/runs/1")["url"]
        made = maries.post("/shares", {"page": page, "days": 7}, 201)
        secret = made["address"].removeprefix("http://testserver")
        assert Client().get(secret).status_code == 200
        [listed] = maries.get("/shares")["items"]
        assert (listed["title"], listed["page"], listed["state"]) == ("Run 1", page, "open")
        assert maries.post(f"/shares/{listed['id']}/withdraw")["state"] == "withdrawn"
        assert Client().get(secret).status_code == 404
        assert maries.post("/shares", {"page": f"http://testserver{page}"}, 201)["share"]["title"] == "Run 1"

    @pytest.mark.parametrize("page", ["/acme/demo/runs/9/", "/acme/demo/datasets/", "https://else.example/", "", "//["])
    def test_what_cannot_be_shared_is_refused(self, page: str, run: Run, maries: Program) -> None:
        assert maries.post("/shares", {"page": page}, 422)["where"] == "body.page"
        assert maries.post("/shares", {"page": "/acme/demo/runs/1/", "days": 1_000}, 422)["where"] == "body.days"
        assert not Share.objects.exists()

    def test_ones_own_links_are_listed_and_an_owner_sees_all(
        self, run: Run, maries: Program, alice: User, organisation: Organisation
    ) -> None:
        program(alice, organisation).post("/shares", {"page": "/acme/demo/runs/1/"}, 201)
        hers = Share.objects.get()
        assert maries.get("/shares")["items"] == [] and maries.post(f"/shares/{hers.pk}/withdraw", status=404)
        maries.post("/shares", {"page": "/acme/demo/runs/1/"}, 201)
        assert len(program(alice, organisation).get("/shares")["items"]) == 2


class TestBin:
    def test_a_run_and_a_data_set_go_into_the_bin_and_come_back(self, run: Run, maries: Program) -> None:
        gone = maries.post("/runs/1/delete")
        assert (gone["kind"], gone["number"], gone["by"]) == ("run", 1, "mary")
        maries.get("/runs/1", 404)
        other = maries.post("/datasets/1/delete")
        assert [one["id"] for one in maries.get("/bin")["items"]] == [other["id"], gone["id"]]
        assert maries.post("/runs/1/delete") == gone, "deleting twice is deleting once"
        assert maries.post(f"/bin/{gone['id']}/restore")["url"] == maries.get("/runs/1")["url"]
        assert [one["kind"] for one in maries.get("/bin")["items"]] == ["dataset"]

    def test_what_is_needed_stays_and_says_for_what(self, run: Run, maries: Program) -> None:
        Job.objects.filter(pk=run.job_id).update(state=State.RUNNING)
        refused = maries.post("/runs/1/delete", status=409)
        assert "stop it first" in refused["error"] and maries.get("/runs/1")["number"] == 1
