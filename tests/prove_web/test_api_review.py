"""Review for programs: queues, conflicts, agreement, comments, acceptance, fixes by hand, and views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Organisation, Project, SavedView, User
from prove_web.review.models import Acceptance, Item, Notification, Queue
from prove_web.review.review_services import finish
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Dataset, Trajectory

from .api_operations import Program, program
from .examples import chain, dataset_of, examples
from .judged import queue_of as judged_queue
from .judged import review
from .reviewed import given, queue_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def pair(project: Project, alice: User, bob: User, mary: User) -> Queue:
    """A blind queue of three items that take two reviewers each."""
    return queue_of(project, mary, 3, reviewers=2)


@pytest.fixture
def maries(mary: User, organisation: Organisation, project: Project) -> Program:
    return program(mary, organisation)


@pytest.fixture
def bobs(bob: User, organisation: Organisation, project: Project) -> Program:
    return program(bob, organisation)


@pytest.fixture
def chained(project: Project) -> Trajectory:
    return dataset_of(project, [chain()]).trajectories.get()


def differ(queue: Queue, position: int, one: User, other: User) -> None:
    item = queue.items.get(position=position)
    finish(item, one, given(item, one, "reject", "Bad."))
    finish(item, other, given(item, other, "fix"))


class TestQueues:
    def test_a_queue_is_changed_and_what_is_left_out_stays(self, pair: Queue, maries: Program, bob: User) -> None:
        before = maries.get("/review/1")
        after = maries.post("/review/1/change", {"instructions": "Look twice.", "people": ["bob"]})
        assert after == before | {"instructions": "Look twice.", "pull": False}
        assert {*Item.assigned.through.objects.values_list("user__username", flat=True)} == {"bob"}
        strange = maries.post("/review/1/change", {"people": ["nobody"]}, 422)
        assert strange["where"] == "body.people" and maries.get("/review/1") == after

    def test_its_questions_change_until_somebody_has_answered(self, pair: Queue, maries: Program, bob: User) -> None:
        questions = PLAIN.model_dump(mode="json")["questions"][:1]
        assert len(maries.post("/review/1/change", {"questions": questions})["questions"]) == 1
        item = pair.items.get(position=1)
        item.queue.refresh_from_db()
        finish(item, bob, given(item, bob, "reject"))
        error = maries.post("/review/1/change", {"questions": questions}, 409)
        assert error["where"] == "body.questions" and error["do"]

    def test_a_closed_queue_takes_no_answer_until_it_is_opened(
        self, pair: Queue, maries: Program, bobs: Program
    ) -> None:
        assert maries.post("/review/1/close", {})["closed_at"]
        closed = maries.post("/review/1/close", {})["closed_at"]
        assert closed == maries.get("/review/1")["closed_at"], "closing twice is closing once"
        said = {"answers": {"verdict": "reject"}}
        assert "is closed" in bobs.put("/review/1/items/1/review", said, 409)["error"]
        assert maries.post("/review/1/close", {"closed": False})["closed_at"] is None
        bobs.put("/review/1/items/1/review", said)


class TestAdjudication:
    def test_conflicts_are_settled_one_after_another(
        self, pair: Queue, maries: Program, alice: User, bob: User, mary: User
    ) -> None:
        assert maries.get("/review/1/conflicts/next") == {"item": None, "conflicts": 0}
        differ(pair, 1, alice, bob)
        differ(pair, 3, alice, bob)
        first = maries.get("/review/1/conflicts/next")
        assert (first["item"]["position"], first["conflicts"]) == (1, 2)
        assert maries.get("/review/1/conflicts/next?after=1")["item"]["position"] == 3
        seen = maries.get("/review/1/items/1/adjudication")
        verdicts = [(one["by"], one["answers"]["verdict"]) for one in seen["reviews"]]
        assert verdicts == [("alice", "reject"), ("bob", "fix")]
        assert seen["mine"] is None and seen["calls"]
        draft = {"answers": {"verdict": "fix"}, "action": "draft"}
        saved = maries.put("/review/1/items/1/adjudication", draft)
        assert saved["state"] == "conflict"
        settled = {"answers": {"verdict": "reject"}, "revision": saved["review"]["revision"], "comment": "No."}
        assert maries.put("/review/1/items/1/adjudication", settled)["state"] == "settled"
        item = Item.objects.get(queue=pair, position=1)
        assert (item.verdict, item.settled_by) == ("reject", mary)
        assert maries.get("/review/1/conflicts/next?after=1")["conflicts"] == 1

    def test_what_is_not_settled_says_why(self, pair: Queue, maries: Program, alice: User, bob: User) -> None:
        for method in ("get", "put"):
            body = {"answers": {"verdict": "fix"}} if method == "put" else None
            error = maries.ask(method, "/review/1/items/1/adjudication", body, 409)
            assert "still in review" in error["error"]
        differ(pair, 1, alice, bob)
        assert maries.put("/review/1/items/1/adjudication", {}, 422)["faults"]
        maries.put("/review/1/items/1/adjudication", {"answers": {"verdict": "fix"}})
        stale = maries.put("/review/1/items/1/adjudication", {"answers": {"verdict": "reject"}}, 409)
        assert "Read the item again" in stale["do"]

    def test_a_conflict_of_a_deleted_data_set_is_passed_over(
        self, pair: Queue, maries: Program, alice: User, bob: User
    ) -> None:
        differ(pair, 1, alice, bob)
        Dataset.objects.update(deleted_at="2026-01-01T00:00:00Z")
        assert maries.get("/review/1/conflicts/next") == {"item": None, "conflicts": 0}


class TestAgreement:
    @pytest.fixture
    def judged(self, project: Project, alice: User, bob: User) -> Queue:
        held = dataset_of(project, examples()[:12])
        queue = judged_queue(project, list(held.trajectories.all()), blind=False)
        for place, item in enumerate(queue.items.all()):
            review(item, alice, "accept" if place % 2 else "reject")
            review(item, bob, "accept" if place else "fix")
        return queue

    def test_figures_are_those_of_the_page(self, judged: Queue, maries: Program) -> None:
        agreement = maries.get("/review/agreement?queue=1&by=day")
        verdict = agreement["questions"][0]
        assert (verdict["key"], agreement["chosen"], verdict["figures"]["units"]) == ("verdict", "verdict", 12)
        assert verdict["figures"]["percent"]["value"] == pytest.approx(0.5)
        assert [(one["one"], one["other"]) for one in agreement["pairs"]] == [("alice", "bob")]
        assert agreement["pairs"][0]["figures"]["ac1"] == verdict["figures"]["ac1"]
        assert [one["figures"]["units"] for one in agreement["periods"]] == [12]
        tag = next(one["figures"] for one in agreement["questions"] if one["key"] == "faults:wrong tool")
        assert tag["unmeasurable"] == "Not measurable: nobody ticked it."
        assert [tag[name] for name in ("percent", "kappa", "alpha", "ac1")] == [None] * 4
        assert maries.get("/review/agreement?question=colour", 404)["error"] == "No queue has this question."
        assert maries.get("/review/agreement?queue=9", 404)["error"]

    def test_without_answers_there_are_no_figures(self, maries: Program) -> None:
        assert maries.get("/review/agreement") == {"questions": [], "chosen": "", "pairs": [], "periods": []}

    def test_the_reward_is_held_against_people_and_what_differs_is_queued(self, judged: Queue, maries: Program) -> None:
        Trajectory.objects.update(reward=0.2)
        found = {one["part"]: one for one in maries.get("/review/reward?basis=reviews")}
        assert (found["reward"]["units"], found["reward"]["accepted"]) == (24, 17)
        made = maries.post("/review/disagreements", {"basis": "reviews", "threshold": 0.5, "side": "low"}, 201)
        assert (made["name"], made["open"]) == ("Reviewers vs. reward", 11)
        none = maries.post("/review/disagreements", {"basis": "reviews", "threshold": 0.5, "side": "high"}, 409)
        assert "agree on all of these" in none["error"]


class TestComments:
    def test_comments_are_said_changed_removed_and_restored(
        self, chained: Trajectory, bobs: Program, maries: Program
    ) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/comments"
        said = bobs.post(here, {"text": "Why, @mary?", "place": "call-1"}, 201)
        assert (said["place"], said["by"], said["mine"], said["mentions"]) == ("call-1", "bob", True, ["mary"])
        assert Notification.objects.get().user.username == "mary"
        edited = bobs.put(f"{here}/{said['id']}", {"text": "Why?"})
        assert edited["text"] == "Why?" and edited["edited_at"]
        maries.post(here, {"text": "Since."}, 201)
        assert [one["mine"] for one in maries.get(here)["items"]] == [False, True]
        assert [one["text"] for one in maries.get(f"{here}?place=call-1")["items"]] == ["Why?"]
        bobs.delete(f"{here}/{said['id']}")
        bobs.put(f"{here}/{said['id']}", {"text": "Gone"}, 404)
        assert [one["text"] for one in maries.get(here)["items"]] == ["Since."]
        assert bobs.post(f"{here}/{said['id']}/restore")["text"] == "Why?"

    def test_a_thread_is_resolved_and_opened(self, chained: Trajectory, bobs: Program, maries: Program) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/comments"
        bobs.post(here, {"text": "Why?", "place": "turn-1"}, 201)
        for resolved in (True, False):
            maries.post(f"{here}/resolve", {"place": "turn-1", "resolved": resolved})
            assert bool(maries.get(here)["items"][0]["resolved_at"]) is resolved

    def test_only_who_said_it_may_change_it(self, chained: Trajectory, bobs: Program, maries: Program) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/comments"
        said = bobs.post(here, {"text": "Mine."}, 201)
        for method, path, body in (
            ("put", "", {"text": "Yours."}),
            ("delete", "", None),
            ("post", "/restore", None),
        ):
            assert "Only the author" in maries.ask(method, f"{here}/{said['id']}{path}", body, 403)["error"]
        assert maries.get(here)["items"][0]["text"] == "Mine."

    @pytest.mark.parametrize(
        ("body", "where"),
        [
            ({"text": " "}, "body.text"),
            ({"text": "x" * 5_001}, "body.text"),
            ({"text": "Odd.", "place": "call-99"}, "body.place"),
            ({"text": "Odd.", "place": "the end"}, "body.place"),
        ],
    )
    def test_what_cannot_be_said_is_refused(
        self, body: dict[str, str], where: str, chained: Trajectory, bobs: Program
    ) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/comments"
        assert bobs.post(here, body, 422)["where"] == where and bobs.get(here)["items"] == []

    def test_a_blind_reviewer_sees_their_own_alone(self, pair: Queue, bobs: Program, maries: Program) -> None:
        example = pair.items.get(position=1).trajectory.example
        here = f"/datasets/1/trajectories/{example}"
        maries.post(f"{here}/comments", {"text": "I know."}, 201)
        bobs.post(f"{here}/comments", {"text": "I wonder."}, 201)
        assert [one["text"] for one in bobs.get(f"{here}/comments")["items"]] == ["I wonder."]
        bobs.get(f"{here}/acceptances", 409)
        bobs.post(f"{here}/accept", {}, 409)

    def test_a_list_costs_as_few_questions_for_many_as_for_one(
        self, chained: Trajectory, bobs: Program, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/comments"
        for number in range(20):
            bobs.post(here, {"text": f"{number} @mary"}, 201)
        with django_assert_max_num_queries(14):
            assert len(bobs.get(here)["items"]) == 20

    def test_accepting_replays_and_drift_takes_a_reason(self, chained: Trajectory, bobs: Program) -> None:
        here = f"/datasets/1/trajectories/{chained.example}"
        first = bobs.post(f"{here}/accept", {}, 201)
        assert (first["by"], first["drift"], first["same"]) == ("bob", [], True)
        bobs.post(f"{here}/accept", {}, 201)
        assert bobs.get(f"{here}/acceptances") == [first] and Acceptance.objects.count() == 1
        chained.record["digests"][-1] = "0" * len(chained.record["digests"][-1])
        chained.save()
        error = bobs.post(f"{here}/accept", {}, 422)
        assert error["where"] == "body.reason" and "differs" in error["error"]
        assert bobs.post(f"{here}/accept", {"reason": "It is fine."}, 201)["reason"] == "It is fine."


class TestFixing:
    def test_a_trajectory_is_read_tried_and_stored_beside_the_old_one(self, chained: Trajectory, bobs: Program) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/fix"
        wanted = bobs.get(here)
        assert bobs.post(f"{here}/try", wanted)["same"] is True
        wanted["turns"][0] += " Please."
        tried = bobs.post(f"{here}/try", wanted)
        assert tried["same"] is False and tried["held"]["problem"] == "" and tried["before"]["reward"]
        assert len(tried["results"]) == len(wanted["calls"]) and Trajectory.objects.count() == 1
        stored = bobs.post(here, wanted, 201)
        assert stored["query"].endswith("Please.") and stored["dataset"] == 2
        listed = bobs.get("/corrections")["items"]
        assert [(one["example"], one["of_dataset"], one["of_example"]) for one in listed] == [
            (stored["example"], 1, chained.example)
        ]

    def test_what_does_not_hold_is_refused_where_it_is_wrong(self, chained: Trajectory, bobs: Program) -> None:
        here = f"/datasets/1/trajectories/{chained.example}/fix"
        start = bobs.get(here)

        def refused(**changes: Any) -> str:
            for address in (here, f"{here}/try"):
                error = bobs.post(address, start | changes, 422)
            return f"{error['where']}: {error['error']}"

        call = start["calls"][0]
        assert refused(turns=[*start["turns"], "More."]).startswith("body.turns: The number of turns has changed")
        assert refused(calls=[call | {"turn": 99}]).startswith("body.calls.0.turn: The conversation has")
        assert refused(calls=[call | {"tool": "no_such_tool"}]).startswith("body: ")
        assert refused(turns=["", *start["turns"][1:]]).startswith("body: ")
        assert refused(calls=[call | {"arguments": {"text": "x" * 30_000}}]).startswith("body.calls.0.arguments: ")
        assert Trajectory.objects.count() == 1

    def test_one_that_cannot_be_read_is_not_mended(self, chained: Trajectory, bobs: Program) -> None:
        Trajectory.objects.filter(pk=chained.pk).update(record={"id": chained.example})
        error = bobs.get(f"/datasets/1/trajectories/{chained.example}/fix", 409)
        assert "another version" in error["error"]


class TestViews:
    def test_a_view_is_saved_renamed_replaced_and_removed(self, bobs: Program) -> None:
        asks = {"q": "tool:pay reward<0.5", "sort": "-errors"}
        made = bobs.post("/views", {"page": "trajectories", "name": " Failing ", "asks": asks}, 201)
        assert (made["name"], made["asks"], made["by"]) == ("Failing", asks, "bob")
        bobs.post("/views", {"page": "runs", "name": "Mine", "asks": {"q": "state:done", "group": "kind"}}, 201)
        again = bobs.post("/views", {"page": "trajectories", "name": "Failing", "asks": {"q": "x"}}, 201)
        assert again["id"] == made["id"] and [one["name"] for one in bobs.get("/views")["items"]] == ["Mine", "Failing"]
        assert [one["page"] for one in bobs.get("/views?page=runs")["items"]] == ["runs"]
        assert bobs.post(f"/views/{made['id']}/rename", {"name": "Broken"})["name"] == "Broken"
        assert bobs.delete(f"/views/{made['id']}") == {"removed": made["id"]}
        assert SavedView.objects.get().page == "runs"

    def test_a_name_of_another_view_or_none_is_refused(self, bobs: Program) -> None:
        for name in ("One", "Two"):
            made = bobs.post("/views", {"page": "runs", "name": name}, 201)
        for name in ("", "One", "x" * 81):
            assert bobs.post(f"/views/{made['id']}/rename", {"name": name}, 422)["where"] == "body.name"
        assert bobs.post("/views", {"page": "runs", "name": " "}, 422)["where"] == "body.name"
