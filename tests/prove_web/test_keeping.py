"""What users add to a run: tags, pin, archive, name, baseline, and notes that are never lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments import run_metadata
from prove_web.experiments.models import Run
from prove_web.experiments.run_metadata import MOST_TAGS, InvalidMetadata, NotesDiffer, normalise_tags, revision_of

from .trained import run_of

SignIn = Callable[[User], Client]


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


def post(client: Client, run: Run, page: str, **fields: str) -> int:
    return client.post(reverse(page, args=[*run.project.path, run.number]), fields).status_code


def again(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


@given(st.lists(st.text("abcAB \t", max_size=6), max_size=MOST_TAGS))
def test_tags_are_tidy_and_stay_so(tags: list[str]) -> None:
    found = normalise_tags(tags)
    assert found == sorted({*found}) and normalise_tags(found) == found == normalise_tags(reversed(tags))
    assert all(tag == tag.strip().lower() != "" for tag in found)


@pytest.mark.parametrize("tag", ["a,b", 'say "so"', "x" * 41, "a\0b"])
def test_what_is_no_tag_is_refused_and_changes_nothing(tag: str, project: Project) -> None:
    run = run_of(project)
    run_metadata.set_tags(run, ["kept"])
    with pytest.raises(InvalidMetadata, match="Nothing was changed"):
        run_metadata.change_tags(run, add=[tag])
    assert again(run).tags == ["kept"]


def test_two_people_tag_one_run_and_both_tags_stay(project: Project) -> None:
    run = run_of(project)
    one, other = again(run), again(run)
    assert run_metadata.change_tags(one, add=["good"]) and run_metadata.change_tags(
        other, add=["Seed 1"], remove=["none"]
    )
    assert again(run).tags == ["good", "seed 1"]
    assert not run_metadata.change_tags(one, add=["good"])


def test_annotators_mark_and_only_those_who_launch_rename_and_archive(
    project: Project, bob: User, mary: User, as_user: SignIn
) -> None:
    run = run_of(project)
    bobs, marys = as_user(bob), as_user(mary)
    assert post(bobs, run, "run-mark", add="baseline, seed 0") == post(bobs, run, "run-mark", pin="yes") == 302
    assert (again(run).tags, again(run).pinned) == (["baseline", "seed 0"], True)
    assert post(bobs, run, "run-keep", name="Mine") == 403
    assert post(marys, run, "run-keep", name=" The  first\n") == post(marys, run, "run-keep", archived="yes") == 302
    assert again(run).name == again(run).job.title == "The first" and again(run).archived_at
    post(marys, run, "run-keep", archived="no")
    post(bobs, run, "run-mark", tags="one", pin="no")
    assert (again(run).archived_at, again(run).tags, again(run).pinned) == (None, ["one"], False)


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_a_run_keeps_its_name_where_the_new_one_is_invalid(
    name: str, project: Project, mary: User, as_user: SignIn
) -> None:
    run = run_of(project, name="First")
    client = as_user(mary)
    post(client, run, "run-keep", name=name)
    assert again(run).name == "First"
    assert "The name was not changed" in client.get(reverse("runs", args=project.path)).content.decode()


def test_a_baseline_is_another_run_of_the_same_project(
    project: Project, organisation: Organisation, mary: User, as_user: SignIn
) -> None:
    run, base = run_of(project), run_of(project)
    second = Project.objects.create(organisation=organisation, slug="second", name="Second")
    for _ in range(3):
        theirs = run_of(second)
    client = as_user(mary)
    post(client, run, "run-keep", base=str(base.number))
    assert again(run).base == base
    for other in (run.number, theirs.number, "9" * 30, "x"):
        post(client, run, "run-keep", base=str(other))
        assert again(run).base == base
    with pytest.raises(InvalidMetadata):
        run_metadata.set_base(run, theirs)
    post(client, run, "run-keep", base="")
    assert again(run).base is None


def test_the_later_of_two_writers_of_notes_is_warned_and_neither_text_is_lost(
    project: Project, bob: User, as_user: SignIn
) -> None:
    run = run_of(project)
    begun = revision_of("")
    run_metadata.write_notes(again(run), "Words of Mary", begun)
    run_metadata.write_notes(again(run), "Words of Mary", begun)  # the same notes again change nothing
    with pytest.raises(NotesDiffer) as differ:
        run_metadata.write_notes(again(run), "Words of Bob", begun)
    assert (differ.value.theirs, again(run).notes) == ("Words of Mary", "Words of Mary")
    url = reverse("run-notes", args=[*project.path, run.number])
    page = as_user(bob).post(url, {"notes": "Words of Bob", "revision": begun})
    text = page.content.decode()
    assert page.status_code == 422 and "Words of Mary" in text and "Words of Bob</textarea>" in text
    assert f'name="revision" value="{revision_of("Words of Mary")}"' in text
    run_metadata.write_notes(again(run), "Both", revision_of("Words of Mary"))
    assert again(run).notes == "Both"


def test_notes_are_markdown_and_never_markup(project: Project, bob: User, as_user: SignIn) -> None:
    run = run_of(project)
    url = reverse("run-notes", args=[*project.path, run.number])
    said = "# Why\n\n**because** <script>alert(1)</script> [x](javascript:alert(1)) ![p](http://a/b.png)"
    page = as_user(bob).post(url, {"notes": said, "revision": revision_of("")}, headers={"hx-request": "true"})
    text = page.content.decode()
    assert page.status_code == 200 and "<h3>Why</h3>" in text and "<strong>because</strong>" in text
    assert "<script>" not in text and 'href="javascript' not in text and "<img" not in text


def test_notes_that_are_too_long_stay_in_the_box(project: Project, bob: User, as_user: SignIn) -> None:
    run = run_of(project)
    url = reverse("run-notes", args=[*project.path, run.number])
    page = as_user(bob).post(url, {"notes": "x" * 20_001, "revision": revision_of("")})
    assert page.status_code == 422 and "x" * 20_001 in page.content.decode() and "Shorten them" in page.content.decode()
    assert again(run).notes == ""


def test_htmx_gets_what_was_changed_in_its_place(project: Project, mary: User, as_user: SignIn) -> None:
    run = run_of(project)
    url = reverse("run-mark", args=[*project.path, run.number])
    text = as_user(mary).post(url, {"add": "<b>"}, headers={"hx-request": "true"}).content.decode()
    assert 'id="run-marks"' in text and "&lt;b&gt;" in text and "<b>" not in text and "Archive" in text


def test_a_deleted_run_is_not_there(project: Project, mary: User, as_user: SignIn) -> None:
    run = run_of(project)
    Run.objects.update(deleted_at=run.created_at)
    assert post(as_user(mary), run, "run-mark", add="x") == 404
