"""Phrases of the servers: every one fits its tool, and what does not is named with its file and place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from library.tools import server as library

from mcp_servers.catalogue import SERVERS
from mcp_servers.core.phrases import FILE, PhraseError, load, load_scenarios
from mcp_servers.testing.phrases import check, check_scenarios, measure_faults, request_faults, text_faults

FOLDER = Path(__file__).resolve().parents[2] / "mcp_servers"
BANKING = SERVERS["banking"]


@pytest.mark.parametrize("name", SERVERS)
def test_every_phrase_of_a_server_fits_its_tools(name: str) -> None:
    assert check(SERVERS[name]) == []


def test_every_phrase_of_the_library_fits_its_tools() -> None:
    assert [fault for fault in check(library) if "are needed" not in fault] == []


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


def test_a_fault_is_reported_with_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (FOLDER / "banking" / FILE).read_text("utf-8")
    wrong = text.replace('"call off {payment}"', '"Call off {payment}"')
    (tmp_path / FILE).write_text(wrong, "utf-8")
    monkeypatch.setattr(type(BANKING), "folder", tmp_path)
    line = wrong.splitlines().index('  "Call off {payment}",') + 1
    (fault,) = check(BANKING)
    assert fault.startswith(f"banking/{FILE}:{line}: [tools.cancel_scheduled_payment] clause 'Call off {{payment}}'")


def test_a_phrase_that_fits_has_no_fault() -> None:
    assert list(text_faults("pay {payee} {amount} from {source}[ with {memo}]")) == []


def test_every_scenario_fits_the_tools_of_two_servers() -> None:
    assert check_scenarios() == []
    assert len(load_scenarios()) >= 25


SAYS = 'says = ["Two things are on my mind.", "Something has to be settled at once."]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'tools = [\n"draft_invoice",\n"pay_nobody",\n]\n' + SAYS,
            "scenarios.toml:5: 'pay_nobody' is no tool of a server",
        ),
        ('tools = ["start_engine", "list_accounts"]\n' + SAYS, "scenarios.toml:2: no conversation reaches"),
        ('tools = ["list_accounts", "list_cards"]\n' + SAYS, "scenarios.toml:2: no conversation reaches"),
        ('tools = ["list_food_addresses", "search_places"]\nsays = ["One."]\n', "has 1 sayings, not 2"),
        ('tools = ["list_food_addresses"]\nsays = ["About {place}.", "Two."]\n', "must be a whole sentence"),
        ("tools = 3", "[scenarios.0.tools]: Input should be a valid"),
    ],
)
def test_a_scenario_that_does_not_fit_is_named_with_its_file_and_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "scenarios.toml"
    path.write_text(f"# a comment\n[[scenarios]]\n{text}", "utf-8")
    assert any(says in fault for fault in check_scenarios(path)), check_scenarios(path)


@pytest.mark.parametrize(
    ("tool", "field", "says"),
    [
        ("get_account", "money", "the result has no such whole number; it has"),
        ("get_account", "iban", "the result has no such whole number"),
        ("list_accounts", "balance", "only a tool that shows one entity by its id"),
        ("freeze_card", "monthly_limit", "only a tool that shows one entity by its id"),
    ],
)
def test_entities_are_compared_by_a_number_that_a_tool_shows_of_one(tool: str, field: str, says: str) -> None:
    said = SimpleNamespace(measures={field: None})
    faults = list(measure_faults(BANKING.tools[tool], said))  # type: ignore[arg-type]
    assert any(says in fault for fault in faults), faults
    assert list(measure_faults(BANKING.tools["get_account"], load(FOLDER / "banking").tools["get_account"])) == []
