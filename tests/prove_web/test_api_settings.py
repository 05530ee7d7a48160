"""Settings of a project for programs: rules, webhooks, rewards, its environment, and the project itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from mcp_servers.catalogue import SERVERS
from prove_web.accounts.models import Entry, Organisation, Project, User
from prove_web.alerts.models import Alert, Delivery, Rule, Webhook
from prove_web.environments.enabled_servers import list_enabled_servers
from prove_web.environments.models import ServerCheck
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import SavedReward
from prove_web.live.models import Job, Kind, State
from training_worker.monitoring.alerts.presets import PRESETS

from .api_operations import ALL, Program, program, with_token
from .examples import chain, dataset_of
from .trained import run_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def maries(mary: User, organisation: Organisation, project: Project) -> Program:
    return program(mary, organisation)


@pytest.fixture
def alices(alice: User, organisation: Organisation, project: Project) -> Program:
    return program(alice, organisation)


OWN = {"name": "Low", "metric": "points.reward", "comparison": "below", "threshold": 0.2}


class TestRules:
    def test_one_of_ones_own_is_made_changed_switched_removed_and_restored(
        self, project: Project, mary: User, maries: Program
    ) -> None:
        made = maries.post("/alerts/rules", OWN, 201)
        assert (made["condition"], made["open"], made["by"]) == ("Latest value is below 0.2", 0, "mary")
        rule = f"/alerts/rules/{made['id']}"
        Alert.objects.create(project=project, rule_id=made["id"], run=run_of(project, [0.1]), key="step-1", value=0.1)
        changed = maries.post(f"{rule}/change", {"threshold": 0.3, "aggregate": "mean", "over": 5})
        assert (changed["condition"], changed["open"]) == ("Mean of the last 5 is below 0.3", 1)
        assert (changed["name"], changed["metric"]) == ("Low", "points.reward")
        assert maries.post(f"{rule}/switch", {"enabled": False}) == {**changed, "enabled": False} == maries.get(rule)
        for _ in range(2):
            assert maries.delete(rule) == {"removed": made["id"]}
        assert maries.get("/alerts/rules") == [] and maries.get("/alerts")["items"] == []
        assert [one["id"] for one in maries.get("/alerts/rules?removed=true")] == [made["id"]]
        for act in ("switch", "change"):
            assert maries.post(f"{rule}/{act}", {"enabled": True} if act == "switch" else {}, 409)["do"]
        for _ in range(2):
            assert maries.post(f"{rule}/restore")["open"] == 1
        said = Entry.objects.filter(actor=mary, content_type__model="rule").order_by("pk").values_list("did", flat=True)
        assert [*said] == ["made", "changed", "changed", "removed", "put back"]

    @pytest.mark.parametrize(
        "odd, where",
        [
            ({"name": ""}, "body.name"),
            ({"metric": "points.luck"}, "body.metric"),
            ({"comparison": "near"}, "body.comparison"),
            ({"over": 0, "aggregate": "mean"}, "body.over"),
            ({"threshold": 10**400}, "body.threshold"),
            ({"kind": "odd"}, "body.kind"),
        ],
    )
    def test_what_the_page_refuses_is_refused_by_field(self, maries: Program, odd: dict[str, Any], where: str) -> None:
        assert maries.post("/alerts/rules", OWN | odd, 422)["where"] == where
        assert not Rule.objects.exists()

    def test_ready_made_ones_are_added_once_and_watch_what_they_watch(self, maries: Program) -> None:
        presets = {one["key"]: one for one in maries.get("/alerts/rules/ready-made")}
        assert {*presets} == {*PRESETS} and {one["rule"] for one in presets.values()} == {None}
        assert all(one["means"] and one["tries"] and one["condition"] for one in presets.values())
        first, second = [*PRESETS][:2]
        made = maries.post("/alerts/rules/ready-made", {"presets": [first, first]}, 201)
        again = maries.post("/alerts/rules/ready-made", {"presets": [first, second]}, 201)
        assert [one["preset"] for one in (*made, *again)] == [first, second]
        assert {one["rule"] for one in maries.get("/alerts/rules/ready-made")} == {None, made[0]["id"], again[0]["id"]}
        refused = maries.post(f"/alerts/rules/{made[0]['id']}/change", {"metric": "points.reward"}, 422)
        assert refused["where"] == "body.metric"
        assert maries.post(f"/alerts/rules/{made[0]['id']}/change", {"tag": "night"})["tag"] == "night"
        assert maries.post("/alerts/rules/ready-made", {"presets": ["luck"]}, 422)["where"] == "body.presets"


class TestWebhooks:
    def test_one_is_made_with_a_secret_that_appears_once(self, alice: User, alices: Program) -> None:
        made = alices.post("/alerts/webhooks", {"name": "Chat", "url": "https://example.com/hook"}, 201)
        hook = Webhook.objects.get()
        assert (made["secret"], made["webhook"]["format"]) == (hook.secret, "json")
        assert hook.origin == "http://testserver" and hook.made_by == alice
        path = f"/alerts/webhooks/{hook.pk}"
        test = alices.post(f"{path}/test", status=201)
        assert (test["alert"], test["state"]) == (None, "waiting")
        assert alices.get(f"{path}/deliveries")["items"] == [test]
        assert Delivery.objects.get().webhook == hook
        assert alices.post(f"{path}/switch", {"enabled": False})["enabled"] is False
        assert alices.delete(path) == {"removed": hook.pk} == alices.delete(path)
        assert alices.get("/alerts/webhooks")["items"] == []
        assert alices.post(f"{path}/test", status=409)["do"] == "Restore it first."
        assert [one["id"] for one in alices.get("/alerts/webhooks?removed=true")["items"]] == [hook.pk]
        assert alices.post(f"{path}/restore")["removed_at"] is None
        answers = [alices.get("/alerts/webhooks"), alices.get(f"{path}/deliveries")]
        assert hook.secret not in str(answers)
        did = Entry.objects.filter(actor=alice, content_type__model="webhook").order_by("pk")
        assert [*did.values_list("did", flat=True)] == ["added", "changed", "removed", "put back"]
        assert hook.secret not in str([*did.values_list("changes", flat=True)])

    @pytest.mark.parametrize("url", ["ftp://example.com", "file:///etc/passwd", "not an address", "http://u:p@x.org/"])
    def test_an_address_that_the_page_refuses_is_refused(self, alices: Program, url: str) -> None:
        assert alices.post("/alerts/webhooks", {"name": "Chat", "url": url}, 422)["where"] == "body.url"
        assert not Webhook.objects.exists()

    def test_maintainers_do_not_read_the_webhooks_of_the_team(self, maries: Program) -> None:
        assert maries.get("/alerts/webhooks", 403)["error"]


class TestRewards:
    def test_one_is_saved_used_and_forgotten(self, project: Project, mary: User, maries: Program) -> None:
        made = maries.post("/rewards", {"name": " Names  matter ", "config": {"name": 0.4}}, 201)
        assert (made["name"], made["config"]["name"], made["config"]["coverage"]) == ("Names matter", 0.4, 0.5)
        assert maries.get("/rewards")["items"] == [made]
        data = dataset_of(project, [chain()])
        form = RunForm(project, {"name": "x", "dataset": data.pk, "reward_preset": made["key"]})
        assert form.is_valid() and form.spec["reward"] == {"name": 0.4}
        run_of(project, [0.5], dataset=data)
        assert maries.get(f"/what-if?of=dataset-1&preset={made['key']}")["config"] == made["config"]
        assert maries.delete(f"/rewards/{made['id']}") == {"removed": made["id"]}
        maries.delete(f"/rewards/{made['id']}", 404)
        did = Entry.objects.filter(actor=mary, content_type__model="savedreward").order_by("pk")
        assert [*did.values_list("did", flat=True)] == ["made", "removed"]

    @pytest.mark.parametrize(
        "name, config, where",
        [
            ("", {"name": 0.4}, "body.name"),
            ("Taken", {"name": 0.4}, "body.name"),
            ("Mine", {}, "body.name"),
            ("Mine", {"luck": 1}, "body.config"),
            ("Mine", {"coverage": -1}, "body.config"),
            ("Mine", {"alpha": 10**400}, "body.config.alpha"),
            ("Mine", {"alpha": 1e300}, "body.config"),
            ("Mine", {"alpha": [{}]}, "body.config"),
        ],
    )
    def test_what_the_page_refuses_is_refused_by_field(
        self, project: Project, maries: Program, name: str, config: dict[str, Any], where: str
    ) -> None:
        SavedReward.objects.create(project=project, name="Taken", config={"name": 0.1})
        assert maries.post("/rewards", {"name": name, "config": config}, 422)["where"] == where
        assert SavedReward.objects.count() == 1


class TestEnvironment:
    def test_servers_are_switched_and_the_rest_stays(self, project: Project, maries: Program) -> None:
        now = maries.get("/environment")
        assert now["servers"] == [*SERVERS]
        some = [*SERVERS][:3]
        assert maries.put("/environment", {"servers": some}) == now | {"servers": some}
        assert (
            maries.put("/environment", {"seed": 7}) == now | {"servers": some, "seed": 7} == maries.get("/environment")
        )
        assert list_enabled_servers(Project.objects.get(pk=project.pk)) == tuple(some)
        for odd in ({"servers": []}, {"servers": ["odd"]}, {"seed": -1}, {"size": "vast"}):
            assert maries.put("/environment", odd, 422)["where"] == f"body.{next(iter(odd))}"
        assert maries.get("/environment")["seed"] == 7

    def test_a_check_is_requested_and_reported(self, maries: Program, broker: str) -> None:
        assert {one["state"] for one in maries.get("/environment/checks")} == {"never"}
        checks = maries.post("/environment/checks", {"servers": ["banking", "banking"]})
        assert [(one["server"], one["at_work"]) for one in checks] == [("banking", True)]
        maries.post("/environment/checks", {"servers": ["banking"]})
        assert ServerCheck.objects.count() == 1
        assert maries.post("/environment/checks", {"servers": ["odd"]}, 422)["where"] == "body.servers"

    def test_without_a_broker_no_check_is_requested(self, maries: Program) -> None:
        assert "manage.py check_servers" in maries.post("/environment/checks", {"servers": ["banking"]}, 503)["error"]

    def test_a_graph_is_proven_by_one_job_at_a_time(self, mary: User, maries: Program) -> None:
        assert maries.get("/graph") == {"job": None, "current": None, "tools": [], "edges": []}
        job = maries.post("/graph/prove")
        assert maries.post("/graph/prove") == job and (job["kind"], job["by"]) == ("graph", "mary")
        assert maries.get("/graph")["job"] == job and Job.objects.get().kind == Kind.GRAPH


class TestTheProject:
    def test_it_goes_into_the_teams_bin_by_its_name_and_comes_back(self, project: Project, alice: User) -> None:
        client = with_token(alice, project.organisation)
        team, demo = Program(client, "/api/v1/acme"), Program(client)
        refused = demo.post("/delete", {"name": "demo!"}, 422)
        assert refused["where"] == "body.name" and project.name in refused["error"]
        deletion = demo.post("/delete", {"name": project.name})
        demo.get("/runs", 404)
        demo.post("/delete", {"name": project.name}, 404)
        assert team.get("/bin")["items"] == [deletion]
        for _ in range(2):
            assert team.post(f"/bin/{deletion['id']}/restore")["kind"] == "project"
        assert demo.get("/runs")["items"] == [] and team.get("/bin")["items"] == []

    def test_it_stays_while_a_job_is_at_work(self, project: Project, alices: Program) -> None:
        Job.objects.create(project=project, kind=Kind.GRAPH, title="Graph", state=State.RUNNING)
        assert "stop it first" in alices.post("/delete", {"name": project.name}, 409)["error"]

    def test_the_bin_of_a_team_is_nothing_for_a_token_of_one_project(self, project: Project, alice: User) -> None:
        from prove_web.api.tokens import issue

        text = issue(alice, project.organisation, "One", ALL, project=project)[1]
        client = Client(headers={"Authorization": f"Bearer {text}"})
        assert client.get("/api/v1/acme/bin").status_code == 404
