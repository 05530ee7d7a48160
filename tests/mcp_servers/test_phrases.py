"""Phrases of the servers: every one fits its tool, and what does not is named with its file and place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_servers.catalogue import SERVERS
from mcp_servers.kit.phrases import FILE, PhraseError, load
from mcp_servers.testing.phrases import check, request_faults, text_faults

FOLDER = Path(__file__).resolve().parents[2] / "mcp_servers"
BANKING = SERVERS["banking"]


@pytest.mark.parametrize("name", SERVERS)
def test_every_phrase_of_a_server_fits_its_tools(name: str) -> None:
    assert check(SERVERS[name]) == []


def test_a_request_is_read_with_its_registers_and_a_superlative_by_its_field() -> None:
    phrases = load(FOLDER / "banking")
    assert {*phrases.tools} == {*BANKING.tools}
    assert phrases.entities["AccountId"].most["balance"] and phrases.values["amount"].money
    assert all("{payee}" in clause for clause in phrases.tools["pay_payee"].clauses)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tools", "Expected"),
        ("[colours]", "[colours]: Unexpected keyword argument"),
        ("[tools.pay_payee]\nask = []", "[tools.pay_payee.clauses]: Field required"),
        ("[entities.AccountId]\nnoun = ['account', 'accounts']", "[entities.AccountId.names]: Field required"),
        ("[entities.AccountId]\nnoun = ['account']\nnames = []", "[entities.AccountId.noun.1]: Field required"),
        ("[values.status]\nopen = 'open'", "[values.status.words.open]: Input should be a valid tuple"),
        ("[values.status]\nopen = [3]", "[values.status.words.open.0]: Input should be a valid string"),
        ("[[situations]]\ntools = ['pay_payee']", "[situations.0.says]: Field required"),
        ("tools = 3", "[tools]: Input should be a valid"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_place(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(PhraseError) as raised:
        load(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / FILE}: ") and says in str(raised.value)


def test_a_server_without_phrases_is_named(tmp_path: Path) -> None:
    with pytest.raises(PhraseError, match="there is no such file"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("phrase", "says"),
    [
        ("pay {payee} {amount} from {source} on {day}", "'day' is no parameter"),
        ("pay {payee} from {source}", "the required 'amount' stands 0 times"),
        ("pay {payee} {amount}, {amount} from {source}", "the required 'amount' stands 2 times"),
        ("pay {payee} {amount} from {source} with {memo}", "the optional 'memo' must stand in brackets"),
        ("pay {payee} {amount}[ from {source}]", "the required 'source' must not stand in brackets"),
        ("pay {payee} {amount} from {source}[ now]", "brackets without a slot"),
        ("pay {payee} {amount} from {source}[ as {memo}", "brackets within brackets, or one that is not closed"),
        ("pay {payee} {amount} from the account {source}", "{source} brings its own article"),
        ("pay {payee} {amount} from {source} with pay_payee", "a name that only a program would use"),
        ("pay {payee} {amount} from {source} by 5", "a number of its own"),
        ("Pay {payee} {amount} from {source}", "must begin with a verb in lower case"),
        ("pay {payee} {amount} from {source", "expected '}'"),
    ],
)
def test_a_phrase_that_does_not_fit_is_named_with_what_is_wrong(phrase: str, says: str) -> None:
    phrases = load(FOLDER / "banking")
    said = SimpleNamespace(clauses=(phrase,), sentences=())
    found = list(request_faults(BANKING.tools["pay_payee"], said, phrases))  # type: ignore[arg-type]
    assert any(says in fault and phrase in fault for fault in found), found


def test_a_phrase_that_fits_has_no_fault() -> None:
    assert list(text_faults("pay {payee} {amount} from {source}[ with {memo}]")) == []
