"""Review pages: queues are made and changed, two people answer items, a third adjudicates, and bad input is refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Membership, Project, User
from prove_web.accounts.roles import Role
from prove_web.review import assignment
from prove_web.review.models import Acceptance, Hold, Item, Queue, Review
from prove_web.review.schema import PLAIN
from training_worker.core.trajectory import WorldRef

from .examples import chain, dataset_of, examples
from .reviewed import queue_of

SignIn = Callable[[User], Client]
JSON = {"Accept": "application/json"}
GOOD = {"name": "Ours", "reviewers": "2", "hold_minutes": "15", "blind": "on", "how": "all"}


def at(name: str, queue: Queue, *rest: Any) -> str:
    return reverse(name, args=[*queue.project.path, queue.number, *rest])


def send(client: Client, queue: Queue, position: int = 1, page: str = "review", **fields: str) -> Any:
    """Post the form of an item; its revision is the newest unless one is given."""
    posted = {name.replace("_", "-"): value for name, value in fields.items()}
    return client.post(at(page, queue, position), {"action": "complete", "revision": "0", **posted}, headers=JSON)


@pytest.fixture
def pair(project: Project, alice: User, bob: User, mary: User) -> Queue:
    """Make a blind queue of three items that take two reviewers each."""
    return queue_of(project, mary, 3, reviewers=2)


def test_two_who_agree_settle_an_item_and_an_accepted_one_is_replayed(
    pair: Queue, alice: User, bob: User, as_user: SignIn
) -> None:
    first = send(as_user(alice), pair, a_verdict="accept")
    assert first.json()["next"] == at("review", pair, 2)
    assert pair.items.get(position=1).state == Item.State.OPEN
    send(as_user(bob), pair, a_verdict="accept", comment="Fine.")
    item = pair.items.get(position=1)
    assert (item.state, item.verdict, item.settled_by) == (Item.State.SETTLED, "accept", None)
    accepted = Acceptance.objects.get()
    assert (accepted.item, accepted.trajectory, accepted.drift) == (item, item.trajectory, [])


def test_two_who_differ_are_adjudicated_side_by_side(
    pair: Queue, alice: User, bob: User, mary: User, as_user: SignIn
) -> None:
    send(as_user(alice), pair, a_verdict="accept", a_quality="5", comment="Good")
    send(as_user(bob), pair, a_verdict="reject", a_quality="5", c_1_right="no")
    assert pair.items.get(position=1).state == Item.State.CONFLICT
    client = as_user(mary)
    assert client.get(at("adjudicate-next", pair)).url == at("review-adjudicate", pair, 1)
    page = client.get(at("review-adjudicate", pair, 1))
    rows = {(row.place, row.title): (row.cells, row.differs) for row in page.context["answers"]}
    assert rows["", "Verdict"] == (("accept", "reject"), True)
    assert rows["", "How good an example"] == (("5", "5"), False)
    assert rows["Call 1", "Is this call right?"] == (("", "no"), True)
    assert page.context["sheet"].overall[2].given == ("5",), "what all agree on is filled in"
    answer = send(client, pair, page="review-adjudicate", a_verdict="fix")
    item = pair.items.get(position=1)
    assert answer.json()["next"] == pair.get_absolute_url()
    assert (item.state, item.verdict, item.settled_by) == (Item.State.SETTLED, "fix", mary)
    undone = as_user(bob).post(at("review-undo", pair), {"position": "1"}, follow=True)
    assert "An adjudicator has decided this item" in undone.text


def test_an_item_that_is_still_reviewed_cannot_be_adjudicated(pair: Queue, mary: User, as_user: SignIn) -> None:
    client = as_user(mary)
    page = at("review-adjudicate", pair, 1)
    for answer in (client.get(page), client.post(page, {"action": "complete", "a-verdict": "accept"})):
        assert answer.url == pair.get_absolute_url()
    response = send(client, pair, page="review-adjudicate")
    assert response.status_code == 409 and "still being reviewed" in response.json()["fault"]
    assert not Review.objects.exists()


def test_blind_hides_answers_comments_and_reward_until_ones_own_is_complete(
    pair: Queue, alice: User, bob: User, as_user: SignIn
) -> None:
    send(as_user(alice), pair, a_verdict="reject", comment="Never in my life")
    client = as_user(bob)
    before = client.get(at("review", pair, 1)).text
    assert "Never in my life" not in before and "alice" not in before and "Demonstration reward" not in before
    assert "Never in my life" not in send(client, pair, action="draft", comment="Hm").text
    send(client, pair, a_verdict="accept", comment="Hm", revision="1")
    after = client.get(at("review", pair, 1)).text
    assert "Never in my life" in after and "alice" in after and "Demonstration reward" in after


def test_a_draft_is_stored_as_typed_and_found_again(pair: Queue, bob: User, as_user: SignIn) -> None:
    client = as_user(bob)
    saved = send(client, pair, action="draft", a_verdict="fix", comment="Half a thou", x_1="{not JSON yet").json()
    assert saved["revision"] == 1 and not saved["extra"]
    sheet = client.get(at("review", pair, 1)).context["sheet"]
    assert (sheet.overall[0].given, sheet.comment, sheet.calls[0].arguments) == (
        ("fix",),
        "Half a thou",
        "{not JSON yet",
    )
    refused = send(client, pair, a_verdict="fix", x_1="{not JSON yet", revision="1")
    assert refused.status_code == 422 and "JSON object" in refused.json()["faults"]["x-1"]


def test_corrected_arguments_are_stored_where_they_differ(pair: Queue, bob: User, as_user: SignIn) -> None:
    recorded = chain().steps[0].calls[0].arguments
    send(as_user(bob), pair, a_verdict="fix", x_1=json.dumps({**recorded, "also": "2221"}), x_2=json.dumps(recorded))
    corrected = Review.objects.get().answers["corrected"]
    assert corrected["1"] == {**recorded, "also": "2221"}


def test_a_save_over_another_tab_is_a_conflict_and_both_texts_are_there(
    pair: Queue, bob: User, as_user: SignIn
) -> None:
    client = as_user(bob)
    send(client, pair, action="draft", comment="From the first tab")
    other = send(client, pair, action="draft", comment="From the second tab")
    assert other.status_code == 409 and other.json()["fields"] == {"comment": ["From the first tab"]}
    assert Review.objects.get().comment == "From the first tab"
    page = client.post(at("review", pair, 1), {"action": "complete", "revision": "0", "comment": "From the second tab"})
    assert page.status_code in (409, 422) and "From the second tab" in page.text
    assert send(client, pair, action="draft", comment="From the second tab", revision="1").json()["revision"] == 2


def test_a_form_that_is_sent_twice_counts_once(pair: Queue, bob: User, as_user: SignIn) -> None:
    client = as_user(bob)
    for _ in range(2):
        assert "next" in send(client, pair, a_verdict="reject").json()
    assert Review.objects.get().revision == 2


def test_a_skipped_item_goes_to_others_and_its_draft_stays(
    pair: Queue, alice: User, bob: User, as_user: SignIn
) -> None:
    client = as_user(bob)
    assert send(client, pair, action="skip", comment="Not mine").json()["next"] == at("review", pair, 2)
    assert client.get(at("review-next", pair)).url == at("review", pair, 2)
    assert as_user(alice).get(at("review-next", pair)).url == at("review", pair, 1)
    assert client.post(at("review-undo", pair)).url == at("review", pair, 1)
    assert client.get(at("review", pair, 1)).context["sheet"].comment == "Not mine"


def test_undo_opens_a_settled_item_again_and_withdraws_what_it_accepted(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary, 2)
    client = as_user(bob)
    send(client, queue, a_verdict="accept")
    assert Acceptance.objects.count() == 1
    assert client.post(at("review-undo", queue)).url == at("review", queue, 1)
    item = queue.items.get(position=1)
    assert (item.state, item.verdict, Acceptance.objects.count()) == (Item.State.OPEN, "", 0)
    assert "Undo <kbd" not in client.get(at("review", queue, 1)).text


def test_the_last_place_is_one_persons_until_their_hold_is_over(
    project: Project, mary: User, alice: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary, 2)
    ours, theirs = as_user(bob), as_user(alice)
    assert ours.get(at("review-next", queue)).url == at("review", queue, 1)
    assert theirs.get(at("review-next", queue)).url == at("review", queue, 2)
    Hold.objects.filter(reviewer=bob).update(until=timezone.now())
    assert theirs.get(at("review-next", queue) + "?after=2").url == at("review", queue, 1)
    assert send(ours, queue, action="draft", comment="Late").json()["extra"]
    send(theirs, queue, 1, a_verdict="reject")
    send(ours, queue, 1, a_verdict="accept", comment="Late", revision="1")
    assert queue.items.get(position=1).verdict == "reject", "who came late decides nothing"
    [extra] = [json.loads(line) for line in labels(as_user(mary), queue, "jsonl").splitlines() if "bob" in line]
    assert extra["extra"] and extra["comment"] == "Late"


def test_what_is_assigned_to_someone_who_leaves_goes_back_to_the_pool_and_their_draft_stays(
    project: Project, mary: User, alice: User, bob: User, as_user: SignIn
) -> None:
    queue = queue_of(project, mary, 2, people=[bob])
    client = as_user(bob)
    send(client, queue, action="draft", comment="Mine")
    assert assignment.next_item(queue, alice) is None
    Membership.objects.get(user=bob).delete()
    assert client.get(at("review", queue, 1)).status_code == 404
    assert send(client, queue, action="draft", comment="Still here").status_code == 404
    assert assignment.next_item(queue, alice) == queue.items.get(position=1)
    assert Review.objects.get(reviewer=bob).comment == "Mine"


def test_a_closed_queue_keeps_drafts_and_completes_nothing(pair: Queue, bob: User, mary: User, as_user: SignIn) -> None:
    as_user(mary).post(at("queue-close", pair))
    client = as_user(bob)
    assert send(client, pair, action="draft", a_verdict="fix").status_code == 200
    refused = send(client, pair, a_verdict="fix", revision="1")
    assert refused.status_code == 409 and "is closed" in refused.json()["fault"]
    assert "is closed" in client.get(at("review-next", pair), follow=True).text
    as_user(mary).post(at("queue-close", pair))
    assert "next" in send(client, pair, a_verdict="fix", revision="1").json()


@pytest.mark.parametrize(
    "fields",
    [
        {"a_verdict": "perhaps"},
        {"a_verdict": "accept", "a_quality": "99"},
        {"a_verdict": "accept", "a_quality": "4.5"},
        {"a_verdict": "accept", "a_faults": "invented"},
        {"a_verdict": "accept", "a_nobody_asked": "1"},
        {"a_verdict": "accept", "c_99_right": "yes"},
        {"a_verdict": "accept", "x_99": "{}"},
        {"a_verdict": "accept", "comment": "x" * 20_001},
    ],
)
def test_answers_that_fit_no_question_are_refused_with_a_reason(
    pair: Queue, bob: User, as_user: SignIn, fields: dict[str, str]
) -> None:
    client = as_user(bob)
    for action in ("draft", "complete"):
        refused = send(client, pair, action=action, **fields)
        assert refused.status_code == 422 and refused.json()["fault"]
    assert not Review.objects.exists()
    page = client.post(at("review", pair, 1), {"action": "complete", "comment": "Typed", **plain(fields)})
    assert page.status_code == 422 and page.context["sheet"].comment


def plain(fields: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in fields.items()}


def test_a_megabyte_of_comment_is_refused_before_it_is_read(pair: Queue, bob: User, as_user: SignIn) -> None:
    assert send(as_user(bob), pair, action="draft", comment="x" * 1_100_000).status_code == 413


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "<script>alert(1)</script>", "‮ right to left", "'; DROP TABLE"])
def test_any_text_may_be_said(pair: Queue, bob: User, alice: User, as_user: SignIn, text: str) -> None:
    client = as_user(bob)
    sent = text.encode("utf-8", "replace").decode()
    assert send(client, pair, a_verdict="reject", comment=sent).status_code == 200
    assert "<script>alert" not in client.get(at("review", pair, 1)).text


def test_a_trajectory_whose_servers_are_gone_is_reviewed_as_recorded_and_accepted_with_a_reason(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    gone = replace(chain(), world=WorldRef(chain().world.seed, ("steam_engine",)))
    queue = queue_of(project, mary, dataset=dataset_of(project, [gone]))
    client = as_user(bob)
    assert "steam_engine" in client.get(at("review", queue, 1)).text
    drifted = client.post(
        at("review", queue, 1), {"action": "complete", "a-verdict": "accept", "comment": "Still good"}
    )
    assert drifted.status_code == 422 and drifted.context["refused"].checked.drift
    assert "Still good" in drifted.text and not Acceptance.objects.exists()
    assert send(client, queue, a_verdict="accept", comment="Still good", reason="As recorded").json()["next"]
    assert Acceptance.objects.get().reason == "As recorded"


def test_a_record_of_another_version_can_still_be_judged(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    dataset = dataset_of(project, examples()[:1])
    dataset.trajectories.update(record={"from": "long ago"})
    queue = queue_of(project, mary, dataset=dataset)
    assert "long ago" in as_user(bob).get(at("review", queue, 1)).text
    assert "next" in send(as_user(bob), queue, a_verdict="reject").json()


def labels(client: Client, queue: Queue, format: str, **query: str) -> str:
    return client.get(at("queue-labels", queue, format), query).getvalue().decode()


def test_labels_leave_as_filtered_and_no_cell_is_a_formula(
    pair: Queue, alice: User, bob: User, mary: User, as_user: SignIn
) -> None:
    for position, verdicts in ((1, ("reject", "reject")), (2, ("accept", "fix"))):
        for user, verdict in zip((alice, bob), verdicts, strict=True):
            send(as_user(user), pair, position, a_verdict=verdict, comment="=HYPERLINK(1)", seconds="30")
    client = as_user(mary)
    rows = list(csv.DictReader(io.StringIO(labels(client, pair, "csv"))))
    assert [(row["position"], row["reviewer"], row["verdict"]) for row in rows] == [
        ("1", "alice", "reject"),
        ("1", "bob", "reject"),
        ("2", "alice", "accept"),
        ("2", "bob", "fix"),
    ]
    assert {row["comment"] for row in rows} == {"'=HYPERLINK(1)"}
    conflicts = labels(client, pair, "jsonl", state="conflict").splitlines()
    assert [json.loads(line)["position"] for line in conflicts] == [2, 2]
    assert json.loads(conflicts[0])["comment"] == "=HYPERLINK(1)"
    assert client.get(at("queue-labels", pair, "xlsx")).status_code == 404


def test_progress_lists_what_each_reviewer_did_and_how_fast(
    pair: Queue, alice: User, bob: User, victor: User, as_user: SignIn
) -> None:
    for position in (1, 2):
        send(as_user(bob), pair, position, a_verdict="reject", seconds=str(30 * position))
    send(as_user(alice), pair, 1, a_verdict="fix", seconds="60")
    send(as_user(alice), pair, 2, action="skip")
    page = as_user(victor).get(pair.get_absolute_url())
    people = {person.user.username: person for person in page.context["people"]}
    rows = {name: (one.done, one.skipped, one.conflict, one.median, one.rate) for name, one in people.items()}
    assert rows == {"bob": (2, 0, 1, 45.0, 80.0), "alice": (1, 1, 1, 60.0, 60.0)}
    standing = page.context["standing"]
    assert (standing.open, standing.conflict, standing.settled) == (2, 1, 0)


def test_time_is_never_more_than_has_passed_since_the_last_save(pair: Queue, bob: User, as_user: SignIn) -> None:
    client = as_user(bob)
    send(client, pair, action="draft", comment="a", seconds="20")
    send(client, pair, action="draft", comment="ab", seconds="9000", revision="1")
    assert 20 <= Review.objects.get().seconds < 60


def test_a_queue_is_made_of_a_search_and_says_how_many_it_finds(project: Project, mary: User, as_user: SignIn) -> None:
    dataset_of(project, examples())
    client, new = as_user(mary), reverse("queue-new", args=project.path)
    sent = {**GOOD, "query": "the", "how": "random", "n": "5", "seed": "3", **questions()}
    looked = client.post(new, {**sent, "look": "1"})
    count = looked.context["found"]["count"]
    assert looked.context["found"]["drawn"] == 5 < count and not Queue.objects.exists()
    client.post(new, sent)
    client.post(new, sent)
    one, other = Queue.objects.order_by("number")
    assert list(one.items.values_list("trajectory")) == list(other.items.values_list("trajectory"))
    assert one.source == {"query": "the", "dataset": None} and one.sampling == {"how": "random", "n": 5, "seed": 3}
    assert [question["name"] for question in one.schema["questions"]] == ["verdict", "tone"]


def questions(**changed: str) -> dict[str, str]:
    line = {"title": "Tone", "kind": "choice", "scope": "turn", "choices": "dry, warm", **changed}
    return {f"q-0-{part}": value for part, value in line.items()}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", "required"),
        ("reviewers", "0", "1 to 20"),
        ("hold_minutes", "soon", "1 to 1,440"),
        ("how", "failing", "Choose the run"),
        ("query", "zzzzzz", "Nothing was found"),
        ("people", "9999", "no longer in the team"),
        ("q-0-choices", "one", "needs distinct options"),
        ("q-0-title", "", "String should have at least 1 character"),
        ("q-0-name", "verdict", "question names must be unique"),
        ("questions", "[1", "This is not JSON"),
    ],
)
def test_a_queue_with_nonsense_is_refused_and_nothing_typed_is_lost(
    project: Project, mary: User, as_user: SignIn, field: str, value: str, said: str
) -> None:
    dataset_of(project, examples()[:3])
    sent = {**GOOD, "instructions": "All of this stays", **questions(), field: value}
    page = as_user(mary).post(reverse("queue-new", args=project.path), sent)
    assert page.status_code == 422 and not Queue.objects.exists()
    assert said in page.text and "All of this stays" in page.text


def test_questions_are_edited_as_lines_and_as_json(project: Project, mary: User, as_user: SignIn) -> None:
    client, new = as_user(mary), reverse("queue-new", args=project.path)
    added = client.post(new, {**GOOD, **questions(), "add": "1"}).context["editor"]
    assert [line.title for line in added.lines] == ["Tone", ""]
    as_json = client.post(new, {**GOOD, **questions(), "switch": "1"}).context["editor"]
    assert as_json.as_json and json.loads(as_json.text)[1]["choices"] == ["dry", "warm"]
    back = client.post(new, {**GOOD, "questions": as_json.text, "switch": "1"}).context["editor"]
    assert not back.as_json and back.lines[0].choices == "dry, warm"


def test_a_queue_can_be_changed_but_not_its_questions_once_someone_answered(
    pair: Queue, bob: User, alice: User, mary: User, as_user: SignIn
) -> None:
    client = as_user(mary)
    send(as_user(bob), pair, a_verdict="reject")
    changed = {**GOOD, "name": "Renamed", "reviewers": "1", **questions(), "people": [str(alice.pk)]}
    assert client.post(at("queue-edit", pair), changed).status_code == 302
    pair.refresh_from_db()
    assert (pair.name, pair.schema) == ("Renamed", PLAIN.model_dump(mode="json"))
    assert pair.items.get(position=1).state == Item.State.SETTLED, "one reviewer is enough now"
    assert {*pair.items.filter(assigned=alice).values_list("position", flat=True)} == {2, 3}
    Hold.objects.all().delete()
    assert assignment.next_item(pair, bob) is None


def test_instructions_are_markdown_without_anything_that_runs(
    project: Project, mary: User, bob: User, as_user: SignIn
) -> None:
    attack = "**Read** <script>alert(1)</script> [x](javascript:alert(1)) ![p](http://e.x/p.png)\n\n# Head"
    page = as_user(bob).get(at("review", queue_of(project, mary, instructions=attack), 1)).text
    assert "<strong>Read</strong>" in page and "<h3>Head</h3>" in page
    assert "<script>alert" not in page and 'href="javascript' not in page and "<img" not in page.split("Read")[1]


def test_a_viewer_sees_how_far_it_is_and_is_offered_nothing_else(pair: Queue, victor: User, as_user: SignIn) -> None:
    client = as_user(victor)
    page = client.get(pair.get_absolute_url()).text
    assert at("review-next", pair) not in page and at("queue-edit", pair) not in page and "JSONL" not in page
    assert client.get(at("review-next", pair)).status_code == 403


def test_ones_own_items_come_first_in_the_list(project: Project, mary: User, bob: User, as_user: SignIn) -> None:
    queue = queue_of(project, mary, 3, people=[bob])
    send(as_user(bob), queue, 2, action="draft", comment="Begun")
    page = as_user(bob).get(reverse("queues", args=project.path))
    assert [(item.position, item.begun) for item in page.context["mine"]] == [(2, True), (1, False), (3, False)]


def test_people_without_the_right_to_annotate_take_no_place(
    project: Project, mary: User, alice: User, bob: User, organisation: Any
) -> None:
    queue = queue_of(project, mary, 1)
    assert assignment.next_item(queue, bob) and assignment.next_item(queue, alice) is None
    Membership.objects.filter(user=bob).update(role=Role.VIEWER)
    assert assignment.next_item(queue, alice) is not None
