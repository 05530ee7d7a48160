"""What the mailbox does and refuses, checked through its own tools."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from calling import do, refused

from mcp_servers.core import Session
from mcp_servers.email import server
from mcp_servers.email.seed import SIZES
from mcp_servers.email.state import MOST_ATTACHED_KB, Mail
from mcp_servers.shared.records import bookings, invoices

TEXT = "See you on Monday at ten"
WORLDS = [*range(8), *range(1_000_000_000, 1_000_000_002)]


def somebody(mail: Mail, blocked: bool = False) -> str:
    return next(row.id for row in mail.contacts if row.blocked == blocked)


def answerable(mail: Mail) -> Any:
    """A received message that may be answered, or None."""
    for row in mail.messages.where(folder="inbox"):
        if row.address and not mail.threads[row.thread].locked and not mail.contacts[row.address].blocked:
            return row
    return None


def world(fits: Any = lambda mail: True, size: str = "small") -> Session[Mail]:
    """The first world in which something is the case."""
    return next(session for session in (server.open(seed, size) for seed in WORLDS) if fits(session.state))


@pytest.fixture
def session() -> Session[Mail]:
    return world(answerable)


@pytest.mark.parametrize("size", SIZES)
def test_a_subject_names_one_message_of_the_inbox_one_thread_or_one_draft(size):
    for seed in WORLDS[:3] if size == "large" else WORLDS:
        mail = server.opening(seed, size)
        for rows in (mail.threads, mail.drafts):
            subjects = [row.subject for row in rows]
            assert len(set(subjects)) == len(subjects)
        assert not {row.subject for row in mail.threads} & {row.subject for row in mail.drafts}


def test_a_conversation_is_read_answered_and_archived(session):
    subject = answerable(session.state).subject
    rows = do(session, "search_messages", query=subject)
    message = next(row["id"] for row in rows if row["subject"] == subject)
    details = do(session, "get_message", message=message)
    before = do(session, "get_thread", thread=details["thread"])["messages"]
    reply = do(session, "reply_to_message", message=message, body=TEXT)
    assert do(session, "archive_message", message=message)["folder"] == "archive"
    after = do(session, "get_thread", thread=reply["thread"])["messages"]
    assert [row["id"] for row in after] == [*(row["id"] for row in before), reply["id"]]
    assert do(session, "get_message", message=message)["unread"] is False


def test_a_draft_is_written_rewritten_sent_and_labelled():
    session = world()
    contact = session.state.contacts[somebody(session.state)]
    found = do(session, "look_up_address", name=contact.name)
    assert found == [{"id": contact.id, "name": contact.name, "company": contact.company, "blocked": False}]
    draft = do(session, "create_draft", to=found[0]["id"], subject="desk booking", body="soon")["id"]
    assert refused(session, "send_draft", draft=draft) == "body_too_short"
    do(session, "update_draft", draft=draft, body=TEXT)
    sent = do(session, "send_draft", draft=draft)
    label = do(session, "create_label", name="to read")["id"]
    assert do(session, "label_message", message=sent["id"], label=label)["labels"] == ["to read"]
    listed = do(session, "list_messages", folder="sent", label=label)
    assert [row["id"] for row in listed] == [sent["id"]]
    assert do(session, "search_messages", query='label:"to read"') == listed
    for tool, more in (("send_draft", {}), ("update_draft", {"body": "Another text"}), ("delete_draft", {})):
        assert refused(session, tool, draft=draft, **more) == "draft_already_sent"
    assert draft not in [row["id"] for row in do(session, "list_drafts", limit=50)]


def test_a_draft_without_recipient_is_sent_once_it_has_one():
    session = world(lambda mail: any(row.to is None for row in mail.drafts))
    draft = next(row.id for row in session.state.drafts if row.to is None)
    assert refused(session, "send_draft", draft=draft) == "no_recipient"
    do(session, "update_draft", draft=draft, body=TEXT, to=somebody(session.state))
    assert do(session, "send_draft", draft=draft)["id"] in session.state.messages


def test_a_deleted_draft_is_gone():
    session = world()
    draft = do(session, "list_drafts")[0]["id"]
    do(session, "delete_draft", draft=draft)
    assert refused(session, "send_draft", draft=draft) == "not_found"


def test_mail_goes_only_to_known_people_who_are_not_blocked():
    session = world(lambda mail: any(row.blocked for row in mail.contacts))
    for to, code in (
        (somebody(session.state, blocked=True), "recipient_blocked"),
        (session.state.owner.id, "own_address"),
        ("nobody.here@acme.example", "not_found"),
        ("someone@elsewhere.example", "unknown_domain"),
        ("no address", "unknown_domain"),
    ):
        assert refused(session, "send_email", to=to, subject="fire drill", body=TEXT) == code
        assert refused(session, "create_draft", to=to, subject="fire drill", body=TEXT) == code


def test_an_automatic_message_takes_no_reply():
    session = world()
    message = next(row.id for row in session.state.messages if row.address is None)
    assert refused(session, "reply_to_message", message=message, body=TEXT) == "no_reply"


def test_a_locked_thread_takes_no_reply_but_its_messages_can_be_forwarded():
    session = world(lambda mail: any(row.locked for row in mail.threads))
    mail = session.state
    message = next(row for row in mail.messages if mail.threads[row.thread].locked)
    assert refused(session, "reply_to_message", message=message.id, body=TEXT) == "thread_locked"
    other = next(row.id for row in mail.contacts if not row.blocked and row.id != message.address)
    small = (message.attachment_kb or 0) <= MOST_ATTACHED_KB
    assert session.call("forward_message", {"message": message.id, "to": other}).ok == small


def test_a_forwarded_message_keeps_its_text_and_attachment_in_a_thread_of_its_own():
    session = world(lambda mail: any(0 < (row.attachment_kb or 0) <= MOST_ATTACHED_KB for row in mail.messages))
    mail = session.state
    source = next(row for row in mail.messages if 0 < (row.attachment_kb or 0) <= MOST_ATTACHED_KB)
    other = next(row.id for row in mail.contacts if not row.blocked and row.id != source.address)
    sent = session.state.messages.get(do(session, "forward_message", message=source.id, to=other)["id"])
    copy = session.state.messages[next(id for id in session.state.messages.changes)]
    assert sent is None and copy.subject == f"fwd: {source.subject}" and copy.thread != source.thread
    assert (copy.body, copy.attachment, copy.attachment_kb) == (source.body, source.attachment, source.attachment_kb)


def test_an_attachment_may_be_too_large_to_forward():
    session = world(lambda mail: any((row.attachment_kb or 0) > MOST_ATTACHED_KB for row in mail.messages))
    message = next(row for row in session.state.messages if (row.attachment_kb or 0) > MOST_ATTACHED_KB)
    other = next(row.id for row in session.state.contacts if not row.blocked and row.id != message.address)
    assert refused(session, "forward_message", message=message.id, to=other) == "attachment_too_large"


def test_what_somebody_sent_is_not_forwarded_to_them(session):
    message = answerable(session.state)
    assert refused(session, "forward_message", message=message.id, to=message.address) == "already_has_it"


def test_the_hourly_limit_holds_for_every_way_to_send_and_ends_with_the_hour():
    session = world(answerable)
    mail, to = session.state, somebody(session.state)
    for number in range(mail.owner.hourly_limit):
        do(session, "send_email", to=to, subject=f"fire drill {number}", body=TEXT)
    draft = do(session, "create_draft", to=to, subject="spare keys", body=TEXT)["id"]
    assert refused(session, "send_email", to=to, subject="spare keys", body=TEXT) == "sending_limit"
    assert refused(session, "send_draft", draft=draft) == "sending_limit"
    assert refused(session, "reply_to_message", message=answerable(mail).id, body=TEXT) == "sending_limit"
    later = session.state.now + timedelta(hours=1)
    assert session.call("send_draft", {"draft": draft}, now=later).ok
    assert server.find_broken_invariants(session.state) == []


def test_labels_have_different_names_and_a_limit():
    session = world()
    free = session.state.owner.label_limit - len(session.state.labels.where(kind="user"))
    for number in range(free):
        do(session, "create_label", name=f"hobby {number}")
    assert refused(session, "create_label", name="hobby 0") == "label_exists"
    assert refused(session, "create_label", name="one more") == "label_limit"


def test_a_label_is_put_on_once_and_never_a_system_label(session):
    message = answerable(session.state).id
    system, own = (session.state.labels.where(kind=kind)[0].id for kind in ("system", "user"))
    assert refused(session, "label_message", message=message, label=system) == "system_label"
    if own not in session.state.messages[message].labels:
        do(session, "label_message", message=message, label=own)
    assert refused(session, "label_message", message=message, label=own) == "already_labelled"


def test_only_a_message_of_the_inbox_is_archived_and_only_once(session):
    message = answerable(session.state).id
    do(session, "archive_message", message=message)
    assert refused(session, "archive_message", message=message) == "already_archived"
    sent = do(session, "send_email", to=somebody(session.state), subject="lost umbrella", body=TEXT)
    assert refused(session, "archive_message", message=sent["id"]) == "not_in_inbox"


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        ("is:unread", lambda row, mail: row.unread),
        ("is:read plan", lambda row, mail: not row.unread and "plan" in f"{row.subject} {row.body}"),
        ("from:me", lambda row, mail: row.folder == "sent"),
        ("to:acme", lambda row, mail: "acme" in (row.address if row.folder == "sent" else mail.owner.id)),
        ("subject:report", lambda row, mail: "report" in row.subject),
        ("subject:re:", lambda row, mail: row.subject.startswith("re:")),
        ("Re: open", lambda row, mail: row.subject.startswith("re: ") and "open" in row.body),
    ],
)
def test_a_search_finds_what_its_filters_say_newest_first(query, passes):
    found = 0
    for seed in range(4):
        session = server.open(seed)
        expected = [row.id for row in session.state.messages if passes(row, session.state)][::-1]
        assert [row["id"] for row in do(session, "search_messages", query=query, limit=50)] == expected[:50]
        found += len(expected)
    assert found


def test_before_and_after_part_the_messages_at_a_day():
    session = server.open(1)
    day = session.state.messages[do(session, "list_messages", limit=20)[-1]["id"]].at.date()
    for query, passes in ((f"before:{day}", day.__gt__), (f"after:{day}", day.__lt__)):
        expected = {row.id for row in session.state.messages if passes(row.at.date())}
        found = {row["id"] for row in do(session, "search_messages", query=query, limit=50)}
        assert found and found <= expected and len(found) == min(50, len(expected))


def test_every_message_is_found_by_its_subject():
    for seed in WORLDS:
        session = server.open(seed, "small")
        for row in session.state.messages:
            assert row.id in [hit["id"] for hit in do(session, "search_messages", query=row.subject)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("from: somebody", "bad_filter"),
        ('subject:" "', "bad_filter"),
        ("before:tomorrow", "bad_filter"),
        ("after:2026-02-30", "bad_filter"),
        ("is:important", "bad_filter"),
        ("label:nonsense", "no_such_label"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(query, code):
    assert refused(world(), "search_messages", query=query) == code


def test_people_are_found_by_part_of_a_name_or_by_company_and_the_exact_name_comes_first():
    session = server.open(2)
    for contact in session.state.contacts:
        assert do(session, "look_up_address", name=contact.name.upper())[0]["id"] == contact.id
        last = contact.name.split()[-1]
        assert contact.id in [row["id"] for row in do(session, "look_up_address", name=last, limit=50)]
        assert contact.id in [row["id"] for row in do(session, "look_up_address", name=contact.company, limit=50)]
    assert do(session, "look_up_address", name="nobody at all") == []


def test_the_exact_name_comes_before_an_older_contact_whose_name_holds_it():
    mail = server.open(2).state.draft()
    first, *_, last = mail.contacts
    mail.contacts.change(first.id, name=f"{last.name} Junior")
    found = do(Session.start(server, mail), "look_up_address", name=last.name)
    assert [row["id"] for row in found] == [last.id, first.id]


def test_a_lost_or_rewritten_message_breaks_a_law():
    session = world(answerable)
    message = answerable(session.state).id
    lost, rewritten, labelled = (session.state.draft() for _ in range(3))
    lost.messages.remove(message)
    rewritten.messages.change(message, body="I never said that")
    labelled.messages.change(message, labels=("LBL-none",))
    assert "no_message_is_lost_or_rewritten" in server.find_broken_invariants(lost)
    assert server.find_broken_invariants(rewritten) == ["no_message_is_lost_or_rewritten"]
    assert server.find_broken_invariants(labelled) == ["labels_in_use_exist"]


def test_automatic_mail_names_bookings_and_invoices_that_the_other_servers_of_the_world_know() -> None:
    for seed in range(6):
        session = server.open(seed, "default")
        messages = [
            session.call("get_message", {"message": row.id}).data for row in session.state.messages if not row.address
        ]
        assert {one["booking"] for one in messages if "booking" in one} <= {one.code for one in bookings(seed)}
        assert {one["invoice"] for one in messages if "invoice" in one} <= {one.id for one in invoices(seed)}
        assert len([one for one in messages if "booking" in one or "invoice" in one]) == len(messages) >= 5
