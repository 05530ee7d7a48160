"""The command palette: what it finds, for whom, and with how few queries."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.servers.models import LiveSession

from .examples import dataset_of, examples

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(victor: User, as_user: Callable[[User], Client], project: Project) -> Callable[[str], str]:
    client = as_user(victor)

    def ask(text: str) -> str:
        answer = client.get(reverse("find", args=project.path), {"q": text}, headers={"HX-Request": "true"})
        assert "<html" not in answer.content.decode()
        return answer.content.decode()

    return ask


def test_it_finds_tools_by_a_word_of_their_description_the_best_name_first(found: Callable[[str], str]) -> None:
    text = found("transfer mon")
    assert text.index("transfer_money") >= 0
    assert "Move money between" in text or "transfer_money" in text
    assert found("create_ev").index(">create_event<") < len(found("create_ev"))


def test_it_finds_every_kind_of_thing_and_leads_there(
    found: Callable[[str], str], project: Project, mary: User
) -> None:
    data = dataset_of(project, examples()[:3], name="Winter data", by=mary)
    session = LiveSession.objects.create(
        project=project, title="Winter tale", servers=["banking"], seed=1, fingerprint="", created_by=mary
    )
    text = found("winter")
    assert data.get_absolute_url() in text and session.get_absolute_url() in text
    trajectory = data.trajectories.first()
    assert trajectory is not None
    assert trajectory.get_absolute_url() in found(trajectory.example)
    assert trajectory.get_absolute_url() in found(" ".join(trajectory.query.split()[:6]))
    assert data.get_absolute_url() in found(f"#{data.number}")
    assert reverse("graph", args=project.path) in found("graph")


def test_without_words_the_newest_things_come(found: Callable[[str], str], project: Project, mary: User) -> None:
    made = [
        LiveSession.objects.create(
            project=project, title=f"Session {n:02}", servers=["maps"], seed=n, fingerprint="", created_by=mary
        )
        for n in range(12)
    ]
    text = found("")
    assert made[-1].get_absolute_url() in text and made[0].get_absolute_url() not in text
    assert text.index("Session 11") < text.index("Session 10")


def test_it_offers_only_what_the_role_may_begin(
    found: Callable[[str], str], mary: User, as_user: Callable[[User], Client], project: Project
) -> None:
    assert "New run" not in found("new")
    assert "New run" in as_user(mary).get(reverse("find", args=project.path), {"q": "new"}).content.decode()


def test_it_finds_nothing_of_another_project(
    found: Callable[[str], str], organisation: Organisation, project: Project, mary: User
) -> None:
    other = Project.objects.create(organisation=organisation, slug="second", name="Second")
    theirs = dataset_of(other, examples()[:2], name="Secret data", by=mary)
    LiveSession.objects.create(project=other, title="Secret session", servers=["maps"], seed=1, fingerprint="")
    assert "Secret" not in found("secret") and "No results" in found("secret")
    assert theirs.get_absolute_url() not in found(examples()[0].id)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "%", "\0", "x" * 5_000, "#", "9" * 30, "\u0661"])
def test_nonsense_finds_nothing_and_is_rendered_as_text(found: Callable[[str], str], text: str) -> None:
    assert "<script" not in found(text)


def test_it_makes_few_queries_for_each_kind(
    found: Callable[[str], str], project: Project, mary: User, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    dataset_of(project, examples()[:20], name="a", by=mary)
    found("a")
    with django_assert_max_num_queries(14):
        found("a")


def test_every_page_of_a_project_has_it_and_a_page_without_one_has_not(
    alice: User, as_user: Callable[[User], Client], project: Project
) -> None:
    client = as_user(alice)
    assert 'id="palette"' in client.get(reverse("servers", args=project.path)).content.decode()
    assert 'id="palette"' not in Client().get(reverse("sign-in")).content.decode()


def test_it_is_a_page_of_its_own_without_a_script(
    victor: User, as_user: Callable[[User], Client], project: Project
) -> None:
    text = as_user(victor).get(reverse("find", args=project.path), {"q": "transfer"}).content.decode()
    assert "<html" in text and "transfer_money" in text
