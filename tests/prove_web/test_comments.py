"""Comments: written, edited, removed, resolved; the team sees them, a blind queue hides them until the review."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from prove_web.accounts.models import Membership, Project, User
from prove_web.review.comment_anchors import Place, places
from prove_web.review.comments import (
    LONGEST,
    find_mentions,
    post_comment,
    put_back,
    remove,
    render,
    resolve,
    rewrite,
    threads,
    visible_comments,
)
from prove_web.review.live_hooks import read_stamp
from prove_web.review.markdown import TAGS
from prove_web.review.models import Comment, Hold, Item, Notification, Queue, Review
from prove_web.review.notifications import list_notifications
from prove_web.review.schema import PLAIN
from prove_web.trajectories.models import Trajectory

from .examples import chain, dataset_of

SignIn = Callable[[User], Client]
HTMX = {"HX-Request": "true"}
ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1) 'x')",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "<javascript:alert(1)>",
    '[a]("onmouseover=alert(1)//)',
    "![x](https://example.com/seen.png)",
    "`<svg onload=alert(1)>`",
    "@bob<img src=x onerror=alert(1)>",
    '<a href="https://example.com" style="position:fixed" onclick=alert(1)>x</a>',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "</textarea><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "[x]: javascript:alert(1)\n\n[x]",
    "| a |\n|---|\n| <iframe src=//example.com> |",
)


@pytest.fixture
def trajectory(project: Project) -> Trajectory:
    return dataset_of(project, [chain(2)]).trajectories.select_related("dataset__project__organisation").get()


def seen(trajectory: Trajectory, user: User) -> list[str]:
    return [one.text for one in visible_comments(trajectory, user)]


def notification_texts(user: User) -> list[str]:
    return [one.text for one in list_notifications(user)]


def tags(html: str) -> list[str]:
    return re.findall(r"<\s*/?\s*([\w-]+)", html)


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_is_written_runs(attack: str) -> None:
    html = render(attack, ["bob"])
    assert set(tags(html)) <= TAGS
    assert not re.search(r"<[^>]*\s(on\w+|style|src|id)\s*=", html)
    schemes = {urlsplit(unescape(url)).scheme for url in re.findall(r'href="([^"]*)"', html)}
    assert schemes <= {"", "http", "https", "mailto"}


@given(st.text(st.sampled_from("<>\"'&`[]()!@:/ab jscript\n|-*_\\;=x"), max_size=60))
def test_whatever_is_written_only_tags_that_are_known_come_out(text: str) -> None:
    html = render(text, ["ab"])
    assert set(tags(html)) <= TAGS
    assert "javascript" not in {urlsplit(unescape(url)).scheme for url in re.findall(r'href="([^"]*)"', html)}


def test_markdown_is_read_and_people_are_marked() -> None:
    html = render("**So** `it` is, @Bob and @carol:\n\n- one\nwith [a link](https://example.com)", ["bob"])
    assert "<strong>So</strong>" in html and "<code>it</code>" in html and "<li>" in html
    assert '<span class="mention">@Bob</span>' in html and "@carol" in html and html.count("mention") == 1
    assert 'rel="noopener noreferrer nofollow ugc"' in html


def test_names_are_read_where_people_mention_them_and_nowhere_else() -> None:
    text = "@bob, @Ann. and (@c.d) but not me@example.com, `@code`, a/@path or @@twice\n\n    @block"
    assert find_mentions(text) == ["bob", "ann", "c.d"]


@pytest.mark.django_db
def test_comments_stand_at_the_trajectory_at_turns_and_at_calls(trajectory: Trajectory, bob: User) -> None:
    found = places(trajectory)
    calls = [one.call for one in found if one.call]
    assert found[0] == Place() and [one.turn for one in found if one.turn] == list(range(1, len(chain(2).turns) + 1))
    assert calls == list(range(1, len(chain(2).steps) + 1))
    post_comment(trajectory, bob, "Of call 2", Place(call=2))
    post_comment(trajectory, bob, "Of turn 1", Place(turn=1))
    post_comment(trajectory, bob, "Of all")
    assert [one.place.key for one in threads(trajectory, bob)] == ["", "turn-1", "call-2"]


@pytest.mark.django_db
def test_a_comment_about_nothing_that_is_there_or_too_long_is_not_stored(
    trajectory: Trajectory, bob: User, as_user: SignIn
) -> None:
    url, bobs = f"{trajectory.get_absolute_url()}comments/add/", as_user(bob)
    long = "x" * (LONGEST + 1)
    wrong = ({"text": "Hm", "place": "call-99"}, {"text": " \0 "}, {"text": long}, {"text": "Hm", "place": "turn-0"})
    for posted in wrong[:3]:
        answer = bobs.post(url, posted)
        assert answer.status_code == 422 and 'role="alert"' in answer.text
    assert long in bobs.post(url, wrong[2]).text, "what was typed is kept"
    assert bobs.post(url, wrong[1], headers=HTMX).status_code == 200, "htmx shows what is wrong"
    assert not Comment.objects.exists()


@pytest.mark.django_db
def test_only_who_said_it_changes_it_and_everyone_who_annotates_resolves_it(
    trajectory: Trajectory, bob: User, alice: User, victor: User, as_user: SignIn
) -> None:
    url = f"{trajectory.get_absolute_url()}comments/"
    said = post_comment(trajectory, bob, "As it was", Place(call=1))
    alices, bobs = as_user(alice), as_user(bob)
    for path in (f"{said.pk}/edit/", f"{said.pk}/remove/"):
        assert "Only the author" in alices.post(url + path, {"text": "Mine now"}, headers=HTMX).text
    assert bobs.post(f"{url}{said.pk}/edit/", {"text": "As it **is**"}).status_code == 302
    assert "As it <strong>is</strong>" in bobs.get(url).text and "edited" in bobs.get(url).text
    assert bobs.post(f"{url}{said.pk}/edit/", {"text": ""}).status_code == 422
    refused = bobs.post(f"{url}{said.pk}/edit/", {"text": ""}, headers=HTMX)
    assert refused["HX-Retarget"] == f"#comment-{said.pk}"
    assert "resolved" in alices.post(f"{url}resolve/", {"place": "call-1"}, headers=HTMX).text
    [thread] = threads(trajectory, victor)
    assert thread.resolved
    post_comment(trajectory, victor, "Not quite", Place(call=1))
    [thread] = threads(trajectory, victor)
    assert not thread.resolved, "a new word opens it"
    resolve(trajectory, bob, Place(call=1))
    resolve(trajectory, bob, Place(call=1), undo=True)
    assert not threads(trajectory, victor)[0].resolved


@pytest.mark.django_db
def test_what_is_removed_is_seen_by_nobody_and_can_be_put_back(
    trajectory: Trajectory, bob: User, alice: User, as_user: SignIn
) -> None:
    said = post_comment(trajectory, bob, "Too hasty, @alice")
    assert notification_texts(alice) == [f"bob mentioned you in {trajectory.example}, whole trajectory"]
    remove(said)
    assert seen(trajectory, alice) == seen(trajectory, bob) == [] and notification_texts(alice) == []
    url = f"{trajectory.get_absolute_url()}comments/"
    assert "hasty" not in as_user(alice).get(url).text and "Undo" in as_user(bob).get(url).text
    as_user(bob).post(f"{url}{said.pk}/remove/", {"undo": "1"})
    assert seen(trajectory, alice) == ["Too hasty, @alice"] and len(notification_texts(alice)) == 1
    Comment.objects.update(removed_at=timezone.now() - timedelta(hours=1))
    assert "Undo" not in as_user(bob).get(url).text


@pytest.mark.django_db
def test_who_is_mentioned_or_answered_hears_of_it_once(
    trajectory: Trajectory, alice: User, bob: User, mary: User, charlie: User
) -> None:
    post_comment(trajectory, bob, "Is this right?", Place(call=1))
    said = post_comment(trajectory, alice, "Ask @mary, @charlie, @alice or `@victor`", Place(call=1))
    rewrite(said, "Ask @mary again, and @bob")
    remove(said)
    put_back(said)
    here = f"{trajectory.example}, call 1"
    assert (notification_texts(mary), notification_texts(bob)) == (
        [f"alice mentioned you in {here}"],
        [f"alice mentioned you in {here}"],
    )
    assert notification_texts(alice) == [] and not Notification.objects.filter(user=charlie).exists()
    post_comment(trajectory, mary, "Yes.", Place(call=1))
    post_comment(trajectory, mary, "Elsewhere.", Place(call=2))
    assert notification_texts(alice) == [f"mary replied to you in {here}"]
    assert all("right" not in text for text in Notification.objects.values_list("text", flat=True)), "no words of it"


@pytest.mark.django_db
def test_a_restored_comment_that_was_read_notifies_nobody_again(trajectory: Trajectory, bob: User, mary: User) -> None:
    said = post_comment(trajectory, bob, "@mary?")
    Notification.objects.update(read_at=timezone.now())
    remove(said)
    put_back(said)
    assert Notification.objects.count() == 1


def blind_item(trajectory: Trajectory, **rest: Any) -> Item:
    project = trajectory.dataset.project
    schema = PLAIN.model_dump()
    queue = Queue.objects.create(project=project, number=1, name="Blind", schema=schema, reviewers=2, **rest)
    return Item.objects.create(queue=queue, position=1, trajectory=trajectory)


@pytest.mark.django_db
def test_in_a_blind_queue_a_reviewer_sees_no_comment_of_others_before_theirs_is_complete(
    trajectory: Trajectory, alice: User, bob: User, victor: User, organisation: Any
) -> None:
    ann = User.objects.create_user("ann", "ann@example.com")
    Membership.objects.create(organisation=organisation, user=ann, role="annotator")
    post_comment(trajectory, ann, "Before")
    item = blind_item(trajectory)
    post_comment(trajectory, bob, "It should be rejected, @ann")
    post_comment(trajectory, ann, "I think it is fine")
    assert seen(trajectory, bob) == ["Before", "It should be rejected, @ann"]
    assert seen(trajectory, ann) == ["Before", "I think it is fine"]
    assert notification_texts(ann) == [f"bob mentioned you in {trajectory.example}, whole trajectory"]
    assert notification_texts(bob) == [], "that somebody answered would tell that they had something to say"
    assert len(seen(trajectory, alice)) == len(seen(trajectory, victor)) == 3, "who adjudicates or looks is not blind"
    review = Review.objects.create(item=item, reviewer=bob)
    for state in (Review.State.DRAFT, Review.State.SKIPPED):
        review.state = state
        review.save()
        assert len(seen(trajectory, bob)) == 2
    review.state = Review.State.DONE
    review.save()
    assert len(seen(trajectory, bob)) == 3 and len(seen(trajectory, ann)) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["assigned", "held", "begun", "skipped"])
def test_every_participant_of_a_blind_queue_is_blind_whatever_their_role(
    how: str, trajectory: Trajectory, alice: User, bob: User
) -> None:
    item = blind_item(trajectory, pull=False)
    post_comment(trajectory, bob, "Mine")
    assert seen(trajectory, alice) == ["Mine"]
    if how == "assigned":
        item.assigned.add(alice)
    elif how == "held":
        Hold.objects.create(item=item, reviewer=alice, until=timezone.now() + timedelta(minutes=1))
    else:
        Review.objects.create(item=item, reviewer=alice, state="draft" if how == "begun" else "skipped")
    assert seen(trajectory, alice) == []
    item.state = Item.State.CONFLICT
    item.save()
    assert seen(trajectory, alice) == ["Mine"], "nothing waits for them any more"


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["open eyes", "closed"])
def test_a_queue_that_is_not_blind_or_is_closed_hides_nothing(
    how: str, trajectory: Trajectory, bob: User, mary: User
) -> None:
    blind_item(trajectory, **({"blind": False} if how == "open eyes" else {"closed_at": timezone.now()}))
    post_comment(trajectory, mary, "Look")
    assert seen(trajectory, bob) == ["Look"]


@pytest.mark.django_db
def test_the_page_of_a_blind_reviewer_has_no_word_of_others(
    trajectory: Trajectory, bob: User, mary: User, as_user: SignIn
) -> None:
    blind_item(trajectory)
    post_comment(trajectory, mary, "Surely wrong", Place(call=1))
    for path in ("", "comments/", "comments/?part=list"):
        page = as_user(bob).get(trajectory.get_absolute_url() + path, headers=HTMX if path else {}).text
        assert "Surely wrong" not in page and "thread-call-1" not in page
    assert "blind queue" in page
    as_user(bob).post(f"{trajectory.get_absolute_url()}comments/resolve/", {"place": "call-1"})
    assert Comment.objects.get().resolved_at is None, "what one does not see one does not resolve"


@pytest.mark.django_db
def test_whatever_is_done_with_a_comment_changes_what_sockets_compare(trajectory: Trajectory, bob: User) -> None:
    stamps = [read_stamp(str(trajectory.pk))["stamp"]]
    said = post_comment(trajectory, bob, "One")
    for act in (
        lambda: None,
        lambda: rewrite(said, "Two"),
        lambda: resolve(trajectory, bob, Place()),
        lambda: resolve(trajectory, bob, Place(), undo=True),
        lambda: remove(said),
        lambda: put_back(said),
        lambda: post_comment(trajectory, bob, "Three"),
    ):
        act()
        stamps.append(read_stamp(str(trajectory.pk))["stamp"])
    assert all(before != after for before, after in pairwise(stamps))
