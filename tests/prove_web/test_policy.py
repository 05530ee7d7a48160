"""Every page has the content security policy, without unsafe sources, and the templates work under it."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client

from prove_web.accounts.models import Membership, Organisation, Project, User
from prove_web.accounts.roles import Role

from .furnished import furnish
from .test_permissions import PAGES, address

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
WRITTEN_BY_HAND = sorted((ROOT / "prove_web" / "static" / "prove").glob("*.js"))
HEADER = "Content-Security-Policy"


@pytest.fixture
def owner(db: None) -> Client:
    user = User.objects.create(username="alice", email="alice@example.com", password=make_password("x"))
    team = Organisation.objects.create(slug="acme", name="Acme")
    Membership.objects.create(organisation=team, user=user, role=Role.OWNER)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.long
def test_every_page_is_under_a_policy_with_nothing_unsafe(owner: Client, settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path
    team, alice = Organisation.objects.get(), User.objects.get()
    leaver = User.objects.create(username="leaver", email="leaver@example.com")
    member = Membership.objects.create(organisation=team, user=leaver)
    parts = {**furnish(Project.objects.create(organisation=team, slug="demo", name="Demo"), alice), "member": member.pk}
    seen = 0
    for page in PAGES:
        answer = owner.get(address(page, parts))
        answer.close()
        policy = answer.headers[HEADER]
        assert "unsafe" not in policy and "default-src 'self'" in policy and "*" not in policy, page.name
        seen += answer.status_code == 200
    assert seen > len(PAGES) / 3, "most are shown, and not only refused"


def test_what_is_written_into_a_page_is_marked_with_the_number_of_its_answer() -> None:
    for template in TEMPLATES:
        text = re.sub(r"\{[%{].*?[%}]\}", "", template.read_text())
        assert not re.search(r"<[^>]*\sstyle=", text), f"{template.name}: a class does it; see shares.css"
        assert not re.search(r"<[a-z][^>]*\son[a-z]+=", text), f"{template.name} has a script in an attribute"
        for tag in re.findall(r"<(?:style|script(?![^>]*\ssrc=))[^>]*>", text):
            assert "nonce" in tag or 'type="application/json"' in tag, f"{template.name}: {tag}"


def test_a_share_is_a_class_and_each_has_its_rule() -> None:
    rules = (ROOT / "prove_web" / "static" / "prove" / "shares.css").read_text()
    assert re.findall(r"^\.at-(\d+) { --share: (\d+)%; }$", rules, re.MULTILINE) == [
        (str(share), str(share)) for share in range(101)
    ]


def test_our_scripts_make_no_style_elements_and_evaluate_no_text() -> None:
    for script in WRITTEN_BY_HAND:
        assert not re.search(r"setAttribute\([\"']style|cssText|\beval\(|new Function", script.read_text()), script.name
