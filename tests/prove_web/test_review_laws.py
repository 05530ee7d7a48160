"""Laws of reviewing on random walks: three people take, complete, skip and undo reviews, and holds expire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from prove_web.accounts.models import Organisation, Project, User
from prove_web.review import assignment, review_services
from prove_web.review.models import Hold, Item, Review

from .reviewed import given, queue_of

PLACES = 2
WHO = st.sampled_from(["alice", "mary", "bob"])
VERDICT = st.sampled_from(["reject", "fix", "accept"])


def reviewing_machine(project: Project, people: dict[str, User]) -> type[RuleBasedStateMachine]:
    class Reviewing(RuleBasedStateMachine):
        """Three people in one queue whose items take two each."""

        def __init__(self) -> None:
            super().__init__()
            self.undone = transaction.atomic()
            self.undone.__enter__()
            self.queue = queue_of(project, people["alice"], 3, reviewers=PLACES)
            self.at: dict[str, Item] = {}
            self.typed: dict[tuple[str, int], str] = {}
            self.late = 0

        @rule(who=WHO)
        def goes_on(self, who: str) -> None:
            item = assignment.next_item(self.queue, people[who], self.at[who].position if who in self.at else 0)
            self.at.pop(who, None)
            if item is not None:
                self.at[who] = item
                assert item.state == Item.State.OPEN
                assert not item.reviews.filter(reviewer=people[who], state__in=assignment.FINISHED).exists()

        def here(self, who: str) -> Item | None:
            """Return the item that someone works on; assign the next one first if there is none."""
            if who not in self.at:
                self.goes_on(who)
            return self.at.get(who)

        @rule(who=WHO, text=st.text(max_size=5).map(str.strip))
        def types(self, who: str, text: str) -> None:
            if item := self.here(who):
                sent = given(item, people[who], comment=text)
                review_services.save_draft(item, people[who], sent)
                self.typed[who, item.position] = sent.read.comment

        @rule(who=WHO, verdict=VERDICT)
        def completes(self, who: str, verdict: str) -> None:
            if item := self.here(who):
                del self.at[who]
                comment = self.typed.get((who, item.position), "")
                saved = review_services.finish(item, people[who], given(item, people[who], verdict, comment))
                self.late += saved.extra

        @rule(who=WHO)
        def skips(self, who: str) -> None:
            if item := self.here(who):
                del self.at[who]
                comment = self.typed.get((who, item.position), "")
                review_services.skip(item, people[who], given(item, people[who], comment=comment))

        @rule(who=WHO)
        def takes_back(self, who: str) -> None:
            if item := review_services.last_of(self.queue, people[who]):
                review_services.undo(item, people[who])
                self.at[who] = item

        @rule(who=WHO)
        def is_away_too_long(self, who: str) -> None:
            past = timezone.now() - timedelta(seconds=1)
            Hold.objects.filter(item__queue=self.queue, reviewer=people[who]).update(until=past)

        @invariant()
        def no_more_than_it_takes_but_those_that_came_late(self) -> None:
            done = Review.objects.filter(item__queue=self.queue, state=Review.State.DONE).values("item")
            over = [row["n"] - PLACES for row in done.annotate(n=Count("pk")) if row["n"] > PLACES]
            assert sum(over) <= self.late

        @invariant()
        def nothing_typed_is_lost(self) -> None:
            stored = Review.objects.filter(item__queue=self.queue).values_list(
                "reviewer__username", "item__position", "comment"
            )
            assert {(who, at): text for who, at, text in stored if (who, at) in self.typed} == self.typed

        @invariant()
        def an_item_is_open_exactly_while_it_needs_reviews(self) -> None:
            for item in self.queue.items.all():
                done = list(item.reviews.filter(state=Review.State.DONE).order_by("done_at", "pk")[:PLACES])
                verdicts = {review.answers["verdict"] for review in done}
                if len(done) < PLACES:
                    assert (item.state, item.verdict) == (Item.State.OPEN, "")
                elif len(verdicts) == 1:
                    assert (item.state, item.verdict) == (Item.State.SETTLED, verdicts.pop())
                else:
                    assert (item.state, item.verdict) == (Item.State.CONFLICT, "")
                assert item.acceptances.count() == (item.verdict == "accept")

        def teardown(self) -> None:
            try:
                self.goes_to_its_end()
            finally:
                transaction.set_rollback(True)
                self.undone.__exit__(None, None, None)

        def goes_to_its_end(self) -> None:
            """Let everybody finish: every item ends settled or in conflict."""
            Hold.objects.filter(item__queue=self.queue).delete()
            for user in people.values():
                for item in self.queue.items.filter(reviews__reviewer=user, reviews__state=Review.State.SKIPPED):
                    review_services.undo(item, user)
                while item := assignment.next_item(self.queue, user):
                    review_services.finish(item, user, given(item, user, "reject"))
            assert not self.queue.items.filter(state=Item.State.OPEN).exists()

    return Reviewing


def test_however_people_work_in_a_queue_its_laws_hold(
    project: Project, organisation: Organisation, alice: User, mary: User, bob: User
) -> None:
    people = {"alice": alice, "mary": mary, "bob": bob}
    quiet: Any = settings(
        max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(reviewing_machine(project, people), settings=quiet)
