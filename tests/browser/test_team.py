"""Who comes to a team, and how they sign in, clicked in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.prove_web.authenticator import code
from tests.site.running import Site
from tests.waiting import PATIENCE

WORDS = "staple battery horse"


@pytest.fixture
def stranger(site: Site, chromium: Browser) -> Iterator[Page]:
    """Open a page in another browser context without a signed-in user."""
    context = chromium.new_context(base_url=site.url)
    context.set_default_timeout(1000 * PATIENCE)
    yield context.new_page()
    context.close()


def join(owner: Page, stranger: Page, name: str, here: str = "") -> None:
    """Invite a stranger as an annotator and let them join by the link; `here` is another address of the site."""
    owner.goto("/my-team/")
    invite = owner.locator("#invitations")
    invite.get_by_label("Role").select_option("annotator")
    invite.get_by_role("button", name="Create link").click()
    link = owner.locator("#invitation-link").inner_text()
    stranger.goto(here + urlsplit(link).path if here else link)
    expect(stranger.get_by_text("as annotator")).to_be_visible()
    first = name.split()[0].lower()
    for label, text in (("Your name", name), ("E-mail address", f"{first}@example.com"), ("Password", WORDS)):
        stranger.get_by_label(label).fill(text)
    stranger.get_by_role("button", name="Create account and join").click()
    stranger.wait_for_url("**/my-team/demo/")


def sign_out_and_in(page: Page, name: str) -> None:
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(WORDS)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.long
def test_a_stranger_joins_by_a_link_and_then_sets_up_a_second_factor(page: Page, stranger: Page) -> None:
    join(page, stranger, "Nina Novak")
    expect(stranger.get_by_text("You joined My team as annotator.")).to_be_visible()
    stranger.goto("/my-team/demo/runs/")
    expect(stranger.get_by_role("link", name="New run")).to_have_count(0)

    stranger.goto("/account/")
    stranger.get_by_role("link", name="Set up an app").click()
    stranger.get_by_label("Password").fill(WORDS)
    stranger.get_by_role("button", name="Confirm").click()
    stranger.get_by_text("Enter the secret manually").click()
    secret = stranger.locator("#totp-secret").inner_text()
    stranger.get_by_label("Code").fill(code(secret))
    stranger.get_by_role("button", name="Turn on").click()
    recovery = stranger.locator("#recovery-codes").inner_text().split()
    sign_out_and_in(stranger, "nina@example.com")
    stranger.get_by_label("Code").fill(recovery[0])
    stranger.get_by_role("button", name="Sign in").click()
    stranger.wait_for_url("**/my-team/demo/")

    page.goto("/my-team/audit/")
    expect(page.get_by_text("Nina Novak joined the team")).to_be_visible()
    expect(page.get_by_text("Nina Novak set up a second factor of")).to_be_visible()


@pytest.mark.long
def test_a_passkey_signs_in_after_the_password_and_alone(site: Site, page: Page, stranger: Page) -> None:
    key = stranger.context.new_cdp_session(stranger)
    key.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}
    kind["hasResidentKey"] = True
    key.send("WebAuthn.addVirtualAuthenticator", {"options": {**kind, "automaticPresenceSimulation": True}})
    here = site.url.replace("127.0.0.1", "localhost")  # no browser makes passkeys for a number
    join(page, stranger, "Pia Passmore", here)
    stranger.goto(f"{here}/account/passkeys/add/")
    stranger.get_by_label("Password").fill(WORDS)
    stranger.get_by_role("button", name="Confirm").click()
    stranger.get_by_label("Name").fill("The laptop")
    stranger.get_by_role("button", name="Add passkey").click()
    expect(stranger.locator("#recovery-codes")).to_be_visible()
    sign_out_and_in(stranger, "pia@example.com")
    stranger.wait_for_url("**/sign-in/code/")
    stranger.get_by_role("button", name="Use a passkey").click()
    stranger.wait_for_url("**/my-team/demo/")
    stranger.get_by_role("button", name="Signed in as").click()
    stranger.get_by_role("button", name="Sign out").click()
    stranger.wait_for_url("**/sign-in/")
    stranger.goto(f"{here}/sign-in/?next=/my-team/")
    stranger.get_by_role("button", name="Use a passkey").click()
    expect(stranger.get_by_role("heading", name="Members of My team")).to_be_visible()
