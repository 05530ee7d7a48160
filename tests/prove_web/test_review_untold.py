"""A trajectory that waits for a blind review is hidden until then in lists, searches, files, figures and the API."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Project, User
from prove_web.live.socket_permissions import get_permitted_users
from prove_web.review.blinding import SCORES, Blind
from prove_web.review.comments import post_comment
from prove_web.review.create_queue import make_queue
from prove_web.review.models import Item, Notification, Queue, Review
from prove_web.review.review_services import finish
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Trajectory

from .examples import abstention, dataset_of
from .reviewed import given, queue_of

REWARD = 0.8765
API = "/api/v1/acme/demo"
SECRETS = ("0.88", "0.876", "87.65", "label-accept", '"verdict": "accept"', "is odd", "accepted by", "Mary")
SEARCHES = ("reward>0.5", "-reward<0.5", "coverage>0.5", "component:coverage>0.5", "label:accept", "-label:reject")
SEARCHES += ("reviewer:mary", "-reviewer:bob", "has:comment", "has:label", "has:acceptance OR reward>0.5", "has:reward")


@pytest.fixture
def waiting(project: Project, mary: User, bob: User) -> Queue:
    """Make a blind queue: mary rejected its trajectory there and accepted it elsewhere; bob has not reviewed it yet."""
    before = queue_of(project, mary, items=1, reviewers=1, blind=False)
    row = before.items.get().trajectory
    finish(before.items.get(), mary, given(before.items.get(), mary, "accept"))
    Trajectory.objects.filter(pk=row.pk).update(**dict.fromkeys(SCORES, REWARD))
    queue = make_queue(project, mary, [row.pk], name="Blind", schema=PLAIN.model_dump(mode="json"), reviewers=2)
    finish(queue.items.get(), mary, given(queue.items.get(), mary, "reject"))
    post_comment(row, mary, "The second call is odd")
    return queue


def read(response: HttpResponse) -> str:
    """Return the full text of a response, and of the files in an archive."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    if body[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"".join(archive.read(name) for name in archive.namelist() if not name.endswith(".parquet"))
    return body.decode(errors="replace")


def pages(queue: Queue) -> dict[str, str]:
    """Return every address that shows a trajectory in lists, figures or files."""
    path, row = queue.project.path, queue.items.get().trajectory
    library, api = reverse("trajectories", args=path), f"/api/v1/{path[0]}/{path[1]}"
    found = {
        "the library": library,
        "the library by reward": f"{library}?sort=-reward",
        "the data set": row.dataset.get_absolute_url(),
        "a sample": reverse("dataset-sample", args=[*path, row.dataset.number]),
        "the trajectory": row.get_absolute_url(),
        "its comments": reverse("comments", args=[*path, row.dataset.number, row.example]),
        "its acceptance": reverse("acceptance", args=[*path, row.dataset.number, row.example]),
        "the blind queue": queue.get_absolute_url(),
        "the other queue": queue.project.queues.order_by("number")[0].get_absolute_url(),
        "its item there": queue.project.queues.order_by("number")[0].items.get().get_absolute_url(),
        "its item": queue.items.get().get_absolute_url(),
        "what if": f"{reverse('what-if', args=path)}?of=dataset-{row.dataset.number}",
        "the reward beside verdicts": f"{reverse('reward-annotator', args=path)}?at=0.99",
        "and beside reviews": f"{reverse('reward-annotator', args=path)}?at=0.99&basis=reviews",
        "the API's list": f"{api}/trajectories",
        "the API's list of items": f"{api}/review/1/items",
        "the API's item": f"{api}/review/1/items/1",
        "the API's trajectory": f"{api}/datasets/{row.dataset.number}/trajectories/{row.example}",
        "the API's data set": f"{api}/datasets/{row.dataset.number}",
        "the API's comments": f"{api}/datasets/{row.dataset.number}/trajectories/{row.example}/comments",
        "the API's reward beside verdicts": f"{api}/review/reward",
        "the API's what if": f"{api}/what-if?of=dataset-{row.dataset.number}",
        "the API's queue": f"{api}/review/2",
        "the API's agreement": f"{api}/review/agreement",
        "the API's reward beside people": f"{api}/review/reward?basis=reviews",
        "the API's corrections": f"{api}/corrections",
        "one's own data": reverse("account-data"),
    }
    files = {f"a file of {kind}": f"{reverse('export', args=path)}?format={kind}" for kind in ("jsonl", "csv")}
    return found | files | {"a folder": f"{reverse('export', args=path)}?format=huggingface"}


def test_no_page_shows_a_reward_or_a_label_before_ones_own_review(
    waiting: Queue, bob: User, as_user: Callable[[User], Client]
) -> None:
    bobs = as_user(bob)
    for name, address in pages(waiting).items():
        answer = bobs.get(address)
        assert answer.status_code == 200, (name, answer.status_code)
        text = read(answer)
        for secret in SECRETS:
            assert secret not in text, f"{name} tells {secret}"


def test_after_it_everything_is_visible(waiting: Queue, bob: User, as_user: Callable[[User], Client]) -> None:
    item = waiting.items.get()
    finish(item, bob, given(item, bob, "accept"))
    bobs, addresses = as_user(bob), pages(waiting)
    for name in ("the library", "the data set", "the API's list", "a file of csv", "what if"):
        assert "0.88" in (text := read(bobs.get(addresses[name]))) or "0.876" in text, name
    assert "label-accept" in read(bobs.get(addresses["the library"]))
    assert "is odd" in read(bobs.get(addresses["its comments"]))


@pytest.mark.parametrize("query", SEARCHES)
def test_no_search_finds_it_by_what_it_earned_or_what_others_say(
    query: str, waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    library = reverse("trajectories", args=waiting.project.path)
    page = as_user(bob).get(library, {"q": query})
    assert not page.context["lines"] and "your own review" in page.text
    assert not page.context["facets"] or all(facet.name != "label" for facet in page.context["facets"])
    assert as_user(bob).get(waiting.get_absolute_url(), {"q": query}).context["page"].paginator.count == 0
    assert as_user(bob).get(reverse("export", args=waiting.project.path), {"q": query}).context["count"] == 0
    assert len(as_user(mary).get(library, {"q": query}).context["lines"]) == 1


def test_what_a_search_asks_of_the_conversation_finds_it(
    waiting: Queue, bob: User, as_user: Callable[[User], Client]
) -> None:
    page = as_user(bob).get(reverse("trajectories", args=waiting.project.path), {"q": "steps>0 queue:2 errors:0"})
    (line,) = page.context["lines"]
    assert line.waits and line.trajectory.reward is None and "after your review" in page.text


def test_its_place_in_the_order_by_reward_is_that_of_no_reward(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    other = dataset_of(waiting.project, [abstention()]).trajectories.get()
    Trajectory.objects.filter(pk=other.pk).update(reward=0.1)
    waits = waiting.items.get().trajectory
    library = reverse("trajectories", args=waiting.project.path)

    def order(user: User, sort: str) -> list[int]:
        return [line.trajectory.pk for line in as_user(user).get(library, {"sort": sort}).context["lines"]]

    assert order(mary, "-reward") == [waits.pk, other.pk] and order(mary, "reward") == [other.pk, waits.pk]
    assert order(bob, "-reward") == order(bob, "reward") == [other.pk, waits.pk]
    (behind,) = as_user(bob).get(library, {"sort": "reward", "after": other.pk}).context["lines"]
    assert behind.trajectory.pk == waits.pk, "and it is found behind a row as well"


def test_a_verdict_that_one_may_not_know_narrows_no_list(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    other = waiting.project.queues.order_by("number")[0]
    query = {"verdict": "accept"}
    assert as_user(bob).get(other.get_absolute_url(), query).context["page"].paginator.count == 0
    assert as_user(mary).get(other.get_absolute_url(), query).context["page"].paginator.count == 1
    export = reverse("export", args=waiting.project.path)
    assert as_user(bob).get(export, {"queue": other.number, "verdict": "accept"}).context["count"] == 0


def test_the_labels_of_what_waits_for_a_maintainer_are_not_in_their_files(
    waiting: Queue, mary: User, alice: User, as_user: Callable[[User], Client]
) -> None:
    item = waiting.items.get()
    labels = reverse("queue-labels", args=[*waiting.project.path, waiting.number, "jsonl"])
    assert "mary" in read(as_user(alice).get(labels)), "who takes no part may see all"
    Review.objects.create(item=item, reviewer=alice)
    assert read(as_user(alice).get(labels)) == ""
    assert "are hidden and not exported" in as_user(alice).get(waiting.get_absolute_url()).text
    finish(item, alice, given(item, alice, "accept"))
    assert "mary" in read(as_user(alice).get(labels))


def test_the_socket_does_not_send_that_others_comment(waiting: Queue, bob: User, mary: User) -> None:
    topic = ("trajectory", str(waiting.items.get().trajectory_id))
    assert get_permitted_users(topic, [bob.pk, mary.pk]) == {mary.pk}
    finish(waiting.items.get(), bob, given(waiting.items.get(), bob, "accept"))
    assert get_permitted_users(topic, [bob.pk, mary.pk]) == {bob.pk, mary.pk}


def test_agreement_is_counted_without_what_waits(
    project: Project, mary: User, bob: User, alice: User, as_user: Callable[[User], Client]
) -> None:
    queue = queue_of(project, mary, items=1, reviewers=3)
    item = queue.items.get()
    for one in (mary, alice):
        finish(item, one, given(item, one, "reject"))
    page = reverse("agreement", args=project.path)
    assert as_user(bob).get(page).context["rows"] == []
    assert {figures.units for _, figures in as_user(mary).get(page).context["rows"]} == {1}
    assert as_user(bob).get(f"{API}/review/agreement").json()["questions"] == []
    questions = as_user(mary).get(f"{API}/review/agreement").json()["questions"]
    assert {each["figures"]["units"] for each in questions} == {1}


def test_the_reward_is_held_against_people_without_it(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    for basis in ("settled", "reviews"):
        address = f"{API}/review/reward?basis={basis}"
        assert {part["units"] for part in as_user(bob).get(address).json()} == {0}
        assert 1 in {part["units"] for part in as_user(mary).get(address).json()}


def test_a_preview_of_a_fix_shows_no_reward_even_unchanged(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    row = waiting.items.get().trajectory
    address = f"{API}/datasets/{row.dataset.number}/trajectories/{row.example}/fix"
    for user, known in ((bob, False), (mary, True)):
        client = as_user(user)
        answer = client.post(f"{address}/try", client.get(address).json(), content_type="application/json")
        preview = answer.json()
        assert preview["same"] and not preview["held"]["problem"], preview
        assert (bool(preview["held"]["reward"]), bool(preview["before"])) == (known, known), user


@pytest.mark.parametrize(
    ("source", "sampling", "secret"),
    [
        ({"query": "reward<0.4321", "dataset": None}, {"how": "all"}, "0.4321"),
        ({"query": "", "dataset": None}, {"how": "disagreements", "n": 1, "side": "low", "threshold": 0.4321}, "0.432"),
    ],
)
def test_the_sampling_of_its_queue_is_visible_after_ones_own_review(
    source: dict[str, object],
    sampling: dict[str, object],
    secret: str,
    waiting: Queue,
    bob: User,
    mary: User,
    as_user: Callable[[User], Client],
) -> None:
    Queue.objects.filter(pk=waiting.pk).update(source=source, sampling=sampling)
    addresses = (waiting.get_absolute_url(), f"{API}/review/{waiting.number}")
    for address in addresses:
        assert secret not in as_user(bob).get(address).text.replace("&lt;", "<"), address
    finish(waiting.items.get(), bob, given(waiting.items.get(), bob, "reject"))
    assert as_user(bob).get(addresses[1]).json()["sampling"] == sampling
    assert as_user(bob).get(addresses[1]).json()["source"] == source


def test_a_reviewer_with_another_pending_review_of_it_does_not_hear_of_being_overruled(
    waiting: Queue, project: Project, bob: User, mary: User, alice: User
) -> None:
    item = waiting.items.get()
    finish(item, bob, given(item, bob, "accept"))
    again = make_queue(project, mary, [item.trajectory_id], name="Again", schema=PLAIN.model_dump(mode="json"))
    finish(item, alice, given(item, alice, "fix"), adjudicates=True)
    overruled = Notification.objects.filter(text__contains="adjudicated item")
    assert {*overruled.values_list("user__username", flat=True)} == {"mary"}
    assert Blind(bob, project).find_hidden_ids([item.trajectory_id]) and again.blind


def test_a_hidden_comment_is_not_found_by_its_number(
    waiting: Queue, bob: User, as_user: Callable[[User], Client]
) -> None:
    row, client = waiting.items.get().trajectory, as_user(bob)
    said, names = row.comments.get(), [*waiting.project.path, row.dataset.number, row.example]
    known = f"{API}/datasets/{row.dataset.number}/trajectories/{row.example}/comments/{said.pk}"

    def answers() -> list[int]:
        edit, remove = (reverse(f"comment-{do}", args=[*names, said.pk]) for do in ("edit", "remove"))
        return [each.status_code for each in (client.get(edit), client.post(remove), client.delete(known))]

    assert answers() == [404, 404, 404]
    finish(waiting.items.get(), bob, given(waiting.items.get(), bob, "reject"))
    assert answers() == [422, 422, 403]


def test_the_list_of_comments_is_the_same_whether_others_say_something_or_not(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    row = waiting.items.get().trajectory
    address = f"{reverse('comments', args=[*waiting.project.path, row.dataset.number, row.example])}?part=list"
    before = as_user(bob).get(address, headers={"HX-Request": "true"}).text
    post_comment(row, mary, "And the third")
    assert as_user(bob).get(address, headers={"HX-Request": "true"}).text == before


def test_an_edit_of_it_does_not_name_its_original(
    waiting: Queue, bob: User, mary: User, as_user: Callable[[User], Client]
) -> None:
    row = waiting.items.get().trajectory
    edit = dataset_of(waiting.project, [abstention()]).trajectories.get()
    edit.parent, edit.origin = row, {"edited": [row.dataset.number, row.example]}
    edit.save()
    known = f"{API}/datasets/{edit.dataset.number}/trajectories/{edit.example}"
    for address in (known, f"{API}/corrections"):
        assert row.example in as_user(mary).get(address).text and row.example not in as_user(bob).get(address).text
    beside = reverse("trajectory-edited", args=[*waiting.project.path, edit.dataset.number, edit.example])
    assert as_user(mary).get(beside).status_code == 200
    assert as_user(bob).get(beside).status_code == 302
    assert row.example in as_user(mary).get(edit.get_absolute_url()).text
    assert row.example not in as_user(bob).get(edit.get_absolute_url()).text
    for query in (f"parent:{row.example}", "has:parent", "has:edit"):
        library = reverse("trajectories", args=waiting.project.path)
        assert not as_user(bob).get(library, {"q": query}).context["lines"], query
    edit.origin = {"edited": {}}
    edit.save()
    corrections = f"/api/v1/{waiting.project.path[0]}/{waiting.project.path[1]}/corrections"
    assert [one["of_example"] for one in as_user(mary).get(corrections).json()["items"]] == [row.example]
    assert as_user(bob).get(corrections).json()["items"] == []


def test_who_skipped_what_others_then_disagreed_about_may_see_it_once_the_queue_is_closed(
    project: Project, mary: User, bob: User
) -> None:
    queue = queue_of(project, mary, items=1)
    item = queue.items.get()
    Review.objects.create(item=item, reviewer=bob, state=Review.State.SKIPPED)
    Item.objects.update(state=Item.State.CONFLICT)
    assert Blind(bob, project).find_hidden_ids([item.trajectory_id])
    Queue.objects.update(closed_at="2026-01-01T00:00Z")
    assert not Blind(bob, project).any
