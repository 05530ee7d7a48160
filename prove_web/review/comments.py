"""Comments on a trajectory: threads by place, their visibility, and notifications."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

from prove_web.accounts.models import Membership, User
from prove_web.live import message_broker
from prove_web.trajectories.models import Trajectory

from .blinding import blind_since
from .comment_anchors import TRAJECTORY, Place
from .markdown import safe
from .models import Comment, Notification
from .notifications import notify

# Comment texts: Markdown, with names after an @.

MENTION = re.compile(r"(?<![\w@./+-])@([\w](?:[\w.@+-]*[\w])?)")
READER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"]).disable("image")


def render(text: str, people: Iterable[str] = ()) -> SafeString:
    """Render a text as HTML; names of `people` after an @ are marked."""
    names = {name.lower() for name in people}
    return safe(READER.render(text, {"people": names}))


def find_mentions(text: str) -> list[str]:
    """Return the names after an @, in lower case and with repetitions, except those in code."""
    inline = (child for token in READER.parse(text) for child in token.children or () if child.type == "text")
    return [name.lower() for child in inline for name in MENTION.findall(child.content)]


def text_with_mentions(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """Render a text token as HTML; this is a markdown-it rule."""
    found, end = "", 0
    content = tokens[at].content
    for match in MENTION.finditer(content):
        if match[1].lower() in env.get("people", ()):
            found += f'{escape(content[end : match.start()])}<span class="mention">{escape(match[0])}</span>'
            end = match.end()
    return found + escape(content[end:])


READER.add_render_rule("text", text_with_mentions)


LONGEST = 5_000  # characters
UNDO = timedelta(minutes=15)  # for which a removal can be undone


class NotSaid(Exception):
    """Rejection of a comment; the message says why."""


@dataclass(frozen=True)
class VisibleComment:
    """A comment for one user; if `mine`, the user may edit and remove it."""

    comment: Comment
    html: SafeString
    mine: bool


@dataclass(frozen=True)
class Thread:
    """The comments at one place; `count` excludes removed ones."""

    place: Place
    said: tuple[VisibleComment, ...]

    @property
    def count(self) -> int:
        return sum(not one.comment.removed_at for one in self.said)

    @property
    def resolved(self) -> bool:
        present = [one.comment for one in self.said if not one.comment.removed_at]
        return bool(present) and all(one.resolved_at for one in present)


def known_comments(trajectory: Trajectory, user: User) -> QuerySet[Comment]:
    """Return the comments that this user may know of, including removed ones; oldest first.

    While an item of a blind queue waits for the user's answers, these are the user's own and those from before the
    queue.
    """
    rows, since = trajectory.comments.select_related("author"), blind_since(trajectory, user)
    return rows.filter(Q(author=user) | Q(made_at__lt=since)) if since else rows


def visible_comments(trajectory: Trajectory, user: User) -> QuerySet[Comment]:
    """Return the comments that this user sees now."""
    return known_comments(trajectory, user).filter(removed_at=None)


def threads(trajectory: Trajectory, user: User) -> list[Thread]:
    """Return the visible comments by place, and those that the user removed a moment ago, to undo that."""
    names = people(trajectory)
    undone = trajectory.comments.filter(author=user, removed_at__gt=timezone.now() - UNDO).select_related("author")
    seen = sorted([*visible_comments(trajectory, user), *undone], key=lambda one: (place_of(one).order, one.pk))
    return [
        Thread(place, tuple(VisibleComment(one, render(one.text, names), one.author_id == user.pk) for one in group))
        for place, group in groupby(seen, key=place_of)
    ]


def place_of(comment: Comment) -> Place:
    return Place(comment.turn, comment.call)


def people(trajectory: Trajectory) -> list[str]:
    """Return the names of team members, whom a comment may mention."""
    members = Membership.objects.filter(organisation=trajectory.dataset.project.organisation_id, user__is_active=True)
    return list(members.order_by("user__username").values_list("user__username", flat=True))


@transaction.atomic
def post_comment(trajectory: Trajectory, user: User, text: str, place: Place = TRAJECTORY) -> Comment:
    """Save a comment, and notify mentioned people and the thread's earlier authors. Raises NotSaid."""
    comment = Comment(
        trajectory=trajectory, author=user, text=clean_comment_text(text), turn=place.turn, call=place.call
    )
    comment.save()
    send_comment_notifications(comment)
    return comment


@transaction.atomic
def rewrite(comment: Comment, text: str) -> None:
    """Replace the text of a comment; people who were notified of it are not notified again. Raises NotSaid."""
    comment.text, comment.edited_at = clean_comment_text(text), timezone.now()
    comment.save(update_fields=["text", "edited_at"])
    send_comment_notifications(comment)


def clean_comment_text(text: str) -> str:
    text = text.replace("\0", "").replace("\r\n", "\n").strip()
    if not text:
        raise NotSaid("The comment is empty. Enter some text.")
    if len(text) > LONGEST:
        raise NotSaid(f"The comment has {len(text):,} characters; the limit is {LONGEST:,}. Split it into two.")
    return text


def send_comment_notifications(comment: Comment) -> None:
    """Notify mentioned people and the thread's earlier authors: each once, and without the comment's text.

    Blind reviewers are not notified of replies, since that would reveal that others had something to say.
    """
    trajectory, author = comment.trajectory, comment.author
    project, url = trajectory.dataset.project, address(comment)
    where = f"{trajectory.example}, {place_of(comment).title.lower()}"
    team = User.objects.filter(memberships__organisation=project.organisation_id, is_active=True).exclude(pk=author.pk)
    names = {*find_mentions(comment.text)}
    meant = [one for one in team if one.username.lower() in names]
    comment.mentions.set(meant)
    notified = {*Notification.objects.filter(url=url).values_list("user_id", flat=True), *(one.pk for one in meant)}
    notify(select_unnotified_users(meant, url), project, f"{author} mentioned you in {where}", url)
    earlier = trajectory.comments.filter(turn=comment.turn, call=comment.call, removed_at=None, pk__lt=comment.pk)
    spoke = team.filter(pk__in=earlier.values("author")).exclude(pk__in=notified)
    hearing = [one for one in spoke if visible_comments(trajectory, one).filter(pk=comment.pk).exists()]
    notify(hearing, project, f"{author} replied to you in {where}", url)
    message_broker.hint_trajectory(trajectory.pk)


def select_unnotified_users(people: list[User], url: str) -> list[User]:
    """Return the people who were never notified of this URL."""
    notified = set(Notification.objects.filter(url=url, user__in=people).values_list("user_id", flat=True))
    return [one for one in people if one.pk not in notified]


def address(comment: Comment) -> str:
    """Return the permalink of a comment."""
    return f"{comment.trajectory.get_absolute_url()}#comment-{comment.pk}"


@transaction.atomic
def remove(comment: Comment) -> None:
    """Remove a comment, and its unread notifications."""
    comment.removed_at = timezone.now()
    comment.save(update_fields=["removed_at"])
    Notification.objects.filter(url=address(comment), read_at=None).delete()
    message_broker.hint_trajectory(comment.trajectory_id)


@transaction.atomic
def put_back(comment: Comment) -> None:
    """Undo a removal."""
    comment.removed_at = None
    comment.save(update_fields=["removed_at"])
    send_comment_notifications(comment)


def resolve(trajectory: Trajectory, user: User, place: Place, undo: bool = False) -> None:
    """Resolve a thread as far as this user sees it, or reopen it; a new comment reopens it too."""
    keys = visible_comments(trajectory, user).filter(turn=place.turn, call=place.call).values_list("pk", flat=True)
    rows = Comment.objects.filter(pk__in=list(keys), resolved_at__isnull=not undo)
    rows.update(resolved_at=None if undo else timezone.now())
    message_broker.hint_trajectory(trajectory.pk)
