"""What the parameters of the social network's tools take, described once for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..kit import Minute, Seen
from ..people import EmailAddress
from .phrases import TAGS
from .state import Audience, CommentsFrom, PostCommentId, Reason, SocialPostId

POSTS = [
    "Fresh bread and an early start #baking", "New bike lane on my way to work #cycling",
    "Who else is up before the birds #morning", "Three chapters left, no spoilers please #books",
    "Rain again, soup again #cooking", "My tomatoes are finally red #garden",
    "Slides are done, coffee is next #work", "Old film, new favourite #cinema",
    "Found a quiet table by the window", "First swim of the year #outdoors",
    "Looking for a good podcast on history", "The choir sounds better every week #music",
    "Packed too much, as always #travel", "Half marathon in ten weeks #running",
    "Learned to say no today", "A museum almost to myself #art", "Board games until midnight #games",
    "The cat has taken my chair again", "Lost a glove, found a pound #luck", "Sunday plans: none at all #weekend",
]  # fmt: skip
COMMENTS = [
    "Congratulations", "Could not agree more", "Count me in", "Good luck with it", "How did you do that",
    "I was there too", "Love this", "More of this please", "Not sure about that", "Thanks for sharing",
    "That made my day", "What a view", "When is the next one", "Where was this", "You are too kind",
]  # fmt: skip

ProfileRef = Annotated[EmailAddress, Field(description="Id of a person's profile, an e-mail address")]
PostRef = Annotated[SocialPostId, Field(description="Id of a post")]
OwnPostRef = Annotated[SocialPostId, Field(description="Id of one of your own posts")]
ReplyTo = Annotated[PostCommentId | None, Field(description="Id of the comment below that post to reply to")]

Text = Annotated[
    str, Field(max_length=280, pattern=r"\S", description="Text, with #hashtags and @handles", examples=POSTS)
]
CommentText = Annotated[str, Field(max_length=200, pattern=r"\S", description="Text of the comment", examples=COMMENTS)]
PublishAt = Annotated[
    Minute | None, Field(description="When to publish it, to the minute, such as 2026-03-05T10:00:00Z; now by default")
]
AskedAudience = Annotated[Audience | None, Field(description="Who sees the post, public by default")]
AskedComments = Annotated[CommentsFrom | None, Field(description="Who may comment, everyone by default")]
NewComments = Annotated[CommentsFrom | None, Field(description="Who may comment from now on")]
ReasonGiven = Annotated[Reason, Field(description="What is wrong with the post")]

FollowAction = Annotated[Literal["follow", "unfollow"], Field(description="What to do; unfollow withdraws requests")]
BlockAction = Annotated[Literal["block", "unblock"], Field(description="What to do")]
LikeAction = Annotated[Literal["like", "unlike"], Field(description="What to do")]

AskedName = Annotated[
    str | None,
    Field(max_length=60, pattern=r"\S", description="Name or handle, or a part of it"),
    Seen("name"),
]
AskedRelation = Annotated[
    Literal["following", "requested", "blocked", "followers"] | None,
    Field(description="Only people you follow, asked, blocked, or who follow you"),
]
AskedFeed = Annotated[
    Literal["following", "mentions", "own", "scheduled"] | None,
    Field(description="Which posts: of those you follow (default), mentioning you, your own, or still to come"),
]
Hashtag = Annotated[
    str, Field(max_length=40, pattern=r"^#?[A-Za-z0-9_]+$", description="A hashtag", examples=list(TAGS))
]
AskedAuthor = Annotated[EmailAddress | None, Field(description="Only posts of this person")]
Limit = Annotated[
    int | None,
    Field(ge=1, le=50, description="Most rows to return, 5 by default", examples=[1, 2, 3, 4, 6, 8, 10, 15, 20]),
]

ROWS = 5
