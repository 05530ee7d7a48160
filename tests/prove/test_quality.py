"""The measure of a data set: every row on conversations small enough to count by hand, and its laws."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import (
    Alternative,
    Example,
    ForeignTool,
    Json,
    Step,
    ToolCall,
    WorldRef,
    dumps,
    loads,
    read_lines,
    write_lines,
)
from training_worker.dataflow.quality import ROWS, Quality, fed_edges, measure
from training_worker.dataflow.text_statistics import (
    begins_sentence,
    mask,
    measure_ngrams,
    measure_openings,
    measure_variety,
    tokenize,
)
from training_worker.datasets.shortcuts import SHORTCUT_ROWS
from training_worker.graph.edges import longest_path

EMPTY = Example(
    id="one",
    kind="chain",
    split="train",
    world=WorldRef(seed=0, servers=()),
    turns=("Please do it.",),
    steps=(),
    edges=(),
    candidates=(),
    answers=(),
    digests=(),
    fingerprint="",
)
ACCOUNT, CARD, BOTH = "ACC-0750", "CRD-4653", ("Which card?", "Show ACC-0750.")


def step(*calls: tuple[str, dict[str, Json]], shows: Json = None, turn: int = 0) -> Step:
    """Return a step whose calls all show the same JSON value."""
    made = tuple(ToolCall(name, arguments) for name, arguments in calls)
    return Step(made, turn, tuple(json.dumps(shows) for _ in made))


def chain(*steps: Step, turns: tuple[str, ...] = EMPTY.turns, **fields: Json) -> Example:
    return replace(EMPTY, steps=steps, turns=turns, **fields)


def line_of(count: int) -> Example:
    """Return a chain in which each step takes a value that the one before shows."""
    return chain(*(step(("look", {"key": f"key {at}"} if at else {}), shows=[f"key {at + 1}"]) for at in range(count)))


def looked_up(value: Json, *, said: str = "Please do it.", **fields: Json) -> Example:
    """Return a chain of two steps, the second of which takes a value that the first shows."""
    return chain(
        step(("look", {}), shows={"rows": [{"it": value}]}), step(("use", {"it": value})), turns=(said,), **fields
    )


@pytest.mark.parametrize("value", [ACCOUNT, "10", 10, 2.5, "true", " ", [ACCOUNT, True], {"deep": [ACCOUNT]}])
def test_a_step_is_fed_by_a_value_that_only_an_observation_shows(value: Json) -> None:
    assert fed_edges(looked_up(value)) == ((0, 1),)
    found = measure([looked_up(value)])
    assert (found.fed_steps, found.dependent_steps, found.dependent_chains) == (1, 1, 1)


@pytest.mark.parametrize("value", [True, False, None, "", 0, 9, -40, [], {}])
def test_a_trivial_value_feeds_no_step(value: Json) -> None:
    assert fed_edges(looked_up(value)) == ()


@pytest.mark.parametrize(
    ("value", "said", "today"),
    [
        (ACCOUNT, "Show ACC-0750, please.", ""),
        (25, "Show 25 of them.", ""),
        ("2026-03-05", "Book it for 5 March 2026.", ""),
        ("2026-03-05", "It is 4 March 2026. Book it for tomorrow.", "2026-03-04"),
    ],
)
def test_a_value_that_the_user_says_feeds_no_step(value: Json, said: str, today: str) -> None:
    assert fed_edges(looked_up(value, said=said, today=today)) == ()


def test_a_part_of_a_word_does_not_say_a_value() -> None:
    assert fed_edges(looked_up(465, said="Show CRD-4653.")) == ((0, 1),)


def test_a_value_that_the_user_says_only_later_feeds() -> None:
    later = chain(step(("look", {}), shows=ACCOUNT), step(("use", {"it": ACCOUNT})), turns=BOTH)
    assert fed_edges(later) == ((0, 1),)
    now = replace(later, steps=(later.steps[0], replace(later.steps[1], turn=1)))
    assert fed_edges(now) == ()


def test_a_value_of_an_earlier_call_feeds_no_step() -> None:
    first, use = step(("look", {}), shows=ACCOUNT), step(("use", {"it": ACCOUNT}))
    assert fed_edges(chain(first, use, use)) == ((0, 1),)
    assert measure([chain(first, use, use)]).fed_steps == 0.5
    assert fed_edges(chain(step(("look", {"at": [ACCOUNT]}), shows=ACCOUNT), use)) == ()


def test_types_of_json_are_distinguished() -> None:
    assert fed_edges(chain(step(("look", {}), shows=["25"]), step(("use", {"it": 25})))) == ()
    assert fed_edges(chain(step(("look", {}), shows=[25.0]), step(("use", {"it": 25})))) == ((0, 1),)


def test_a_part_of_an_observed_text_is_no_value_and_a_plain_text_is_one() -> None:
    assert fed_edges(chain(step(("look", {}), shows="It is ACC-0750."), step(("use", {"it": ACCOUNT})))) == ()
    plain = Step((ToolCall("look", {}),), 0, (ACCOUNT,))
    assert fed_edges(chain(plain, step(("use", {"it": ACCOUNT})))) == ((0, 1),)


@pytest.mark.parametrize("keyword", ["enum", "examples", "default", "const"])
def test_a_value_that_the_schema_of_the_tool_shows_feeds_no_step(keyword: str) -> None:
    schema = {"properties": {"it": {"anyOf": [{keyword: [ACCOUNT] if keyword[:2] in ("en", "ex") else ACCOUNT}]}}}
    assert fed_edges(looked_up(ACCOUNT, tools=(ForeignTool("use", "Use it.", schema),))) == ()
    assert fed_edges(looked_up(ACCOUNT, tools=(ForeignTool("other", "Use it.", schema),))) == ((0, 1),)


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"enum": {"description": ACCOUNT}}}
    assert fed_edges(looked_up(ACCOUNT, tools=(ForeignTool("use", "Use it.", schema),))) == ((0, 1),)


def test_a_schema_of_our_own_servers_counts() -> None:
    transfer = step(("transfer_money", {"memo": "groceries", "amount": 23_117}))
    assert fed_edges(chain(step(("look", {}), shows="groceries"), transfer)) == ()
    assert fed_edges(chain(step(("look", {}), shows=23_117), transfer)) == ((0, 1),)


def test_the_first_step_that_shows_a_value_feeds_it() -> None:
    shows = [step(("look", {}), shows=one) for one in ([ACCOUNT], [ACCOUNT, CARD], [CARD])]
    example = chain(*shows, step(("use", {"account": ACCOUNT, "card": CARD})))
    assert fed_edges(example) == ((0, 3), (1, 3))


def test_a_step_is_fed_when_every_call_in_it_is() -> None:
    first = step(("look", {}), shows=[ACCOUNT, CARD])
    both = step(("use", {"it": ACCOUNT}), ("use", {"it": CARD}))
    one = step(("use", {"it": ACCOUNT}), ("use", {"it": "said"}))
    assert measure([chain(first, both)]).fed_steps == 1
    assert measure([chain(first, one)]).fed_steps == 0
    assert fed_edges(chain(first, one)) == ((0, 1),)


def test_calls_of_one_step_may_take_the_same_value() -> None:
    both = step(("use", {"it": ACCOUNT}), ("show", {"it": ACCOUNT}))
    assert measure([chain(step(("look", {}), shows=ACCOUNT), both)]).fed_steps == 1


def test_a_step_that_is_enabled_depends_without_being_fed() -> None:
    steps = [step((name, {})) for name in ("start", "drive", "stop")]
    found = measure([chain(*steps, enabled=((0, 1),), edges=((0, 1), (1, 2)))])
    assert (found.dependent_steps, found.fed_steps, found.dependent_chains) == (0.5, 0, 0)


def test_a_chain_of_one_step_is_no_chain_in_which_every_later_step_depends() -> None:
    single = chain(step(("look", {})))
    assert measure([single]).dependent_chains == 0
    assert measure([single, line_of(2)]).dependent_chains == 1
    assert measure([single, line_of(2), chain(step(("look", {})), step(("look", {})))]).dependent_chains == 0.5


def test_the_longest_path_counts_steps_on_proven_edges() -> None:
    assert [longest_path(5, edges) for edges in ((), ((0, 1),), ((0, 1), (0, 2), (2, 4)))] == [1, 2, 3]
    assert longest_path(0, ()) == 0
    found = measure([line_of(2), line_of(3), line_of(4), line_of(5)])
    assert (found.path_of_3, found.path_of_4) == (0.75, 0.5)
    mixed = replace(line_of(3), steps=(*line_of(3).steps, step(("drive", {}))), enabled=((2, 3),))
    assert measure([mixed]).path_of_4 == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("get_account", {"account": ACCOUNT}, (1, 1)),
        ("get_account", {"account": "ACC-9999"}, (0, 0)),
        ("send_email", {"to": "ann@acme.example"}, (0, 0)),
        ("read_file_head", {"file": "/home/ann/a.txt"}, (0, 0)),
        ("get_distance_matrix", {"origins": [ACCOUNT, "PLC-0001"]}, (0.5, 1)),
        ("transfer_money", {"source": ACCOUNT, "target": None, "amount": 12}, (1, 1)),
        ("unheard_of", {"account": ACCOUNT}, (0, 0)),
    ],
)
def test_ids_are_counted_that_the_user_spells_out(
    tool: str, arguments: dict[str, Json], expected: tuple[float, float]
) -> None:
    said = "Show ACC-0750, mail ann@acme.example and read /home/ann/a.txt, 12 times."
    found = measure([chain(step((tool, arguments)), turns=(said,))])
    assert (found.spelled_ids, found.raw_id_chains) == expected


def test_an_id_that_the_user_says_after_the_call_is_a_raw_id_but_not_spelled_out() -> None:
    found = measure([chain(step(("get_account", {"account": ACCOUNT})), turns=BOTH)])
    assert (found.spelled_ids, found.raw_id_chains) == (0, 1)


def test_an_imported_tool_that_is_called_like_one_of_ours_has_no_ids() -> None:
    own = (ForeignTool("get_account", "Get it.", {}),)
    example = chain(step(("get_account", {"account": ACCOUNT})), turns=("Show ACC-0750.",), tools=own)
    assert measure([example]).spelled_ids == 0


def test_tools_are_counted_once_and_calls_each_time() -> None:
    twice = chain(step(("look", {})), step(("look", {}), ("use", {})), candidates=("look", "use", "a", "b", "b"))
    once = chain(step(("look", {})), candidates=("look", "use"))
    found = measure([twice, once])
    assert (found.conversations, found.calls, found.tools_shown, found.tools_called) == (2, 2, 3, 0.5)
    assert (found.repeated_tool, found.parallel_steps) == (0.5, pytest.approx(1 / 3))


def test_only_chains_count_except_for_texts_and_features() -> None:
    other = replace(line_of(2), kind="missing_function", answers=("No.", ""), features=("missing_function",))
    found = measure([other, chain(answers=("Yes.",), features=("parallel", "missing_function"))])
    assert (found.conversations, found.calls, found.dependent_steps) == (1, 0, 0)
    assert found.distinct_answers == 1
    assert found.features == {"missing_function": 2, "parallel": 1}


def test_chains_with_alternatives_are_counted_once_each() -> None:
    others = (Alternative(0, 0, ToolCall("look", {})), Alternative(0, 0, ToolCall("see", {})))
    assert measure([chain(alternatives=others), chain(), chain(), chain()]).alternatives == 0.25


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Account ACC-0750 holds $1,250.50.", "Account <id> holds <number>."),
        ("Done: Ann Lee now has 3 of them. Bob has none.", "Done: <name> now has <number> of them. Bob has none."),
        ("The meeting with Zoë is on 5 March 2026.", "The meeting with <name> is on <date>."),
        ("It starts on Thursday, March 5, 2026 at 14:30.", "It starts on <date> at <number>."),
        ("It starts at 2026-03-05T14:30:00Z.", "It starts at <date>."),
        ('I renamed "Old plan" to “New plan”.', "I renamed <quotation> to <quotation>."),
        ("I've moved it, and I'm done.", "I've moved it, and I'm done."),
        ("I sent notes.md to ann.lee@acme.example.", "I sent <id> to <id>."),
        ("The file is /home/ann/notes-1.txt. It is empty.", "The file is <id>. It is empty."),
        ("Here they are:\n- Ann\n- 4 others", "Here they are:\n- Ann\n- <number> others"),
        ("", ""),
    ],
)
def test_values_are_masked_in_assistant_texts(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_sentences_begin_after_an_end_of_one_or_at_a_line() -> None:
    text = 'One. "Two", Three'
    assert [begins_sentence(text, text.index(word)) for word in ("One", "Two", "Three")] == [True, True, False]


def test_texts_that_differ_in_values_alone_have_one_masked_form() -> None:
    found = measure_variety(Counter(["Card CRD-1 is frozen.", "Card CRD-2 is frozen.", "No.", "No."]))
    assert (found.distinct, found.masked, found.commonest) == (0.75, 0.5, 0.5)
    assert set(asdict(measure_variety(Counter())).values()) == {0.0}


def test_tokens_are_words_placeholders_and_punctuation() -> None:
    text = "Don't pay INV-0042 of 1,200 cents by 2026-03-05, see /home/ann/a.txt!"
    assert " ".join(tokenize(text)) == "don't pay <id> of <number> cents by <number> , see <id> !"


def test_distinct_n_is_counted_over_no_more_tokens_than_the_limit() -> None:
    assert measure_ngrams(["a b a b a"]).shares == {2: 0.5, 4: 1.0}
    assert measure_ngrams(["a b a b a"]).tokens == 5
    few = measure_ngrams(["a b c"] * 10, limit=7)
    assert (few.tokens, few.shares[2]) == (7, 0.5)
    assert measure_ngrams([]).shares == {2: 0, 4: 0}


def test_openings_are_three_words_whatever_their_case_and_values() -> None:
    same = ["Please show card 12", "please show Card 14.", "OK."]
    rare = [f"{one}{other} it now" for one in "abcdef" for other in "ghijk"]
    assert measure_openings(same) == 1
    assert measure_openings([*same, *rare]) == pytest.approx((2 + 19) / 33)
    assert measure_openings([]) == 0


WORD = st.sampled_from(["ACC-0750", "CRD-4653", "Ann", "open", "it", "25", "now."])
CALL = st.tuples(
    st.sampled_from(["get_account", "look", "use"]),
    st.dictionaries(st.sampled_from(["account", "it"]), WORD | st.integers(0, 30) | st.none(), max_size=2),
)


@st.composite
def chains(draw: st.DrawFn) -> Example:
    turns = draw(st.lists(st.lists(WORD, max_size=4).map(" ".join), min_size=1, max_size=3))
    calls = draw(st.lists(st.lists(CALL, min_size=1, max_size=2), max_size=4))
    observed = st.lists(WORD | st.integers(0, 30), max_size=3)
    last = st.integers(0, len(turns) - 1)
    steps = [step(*some, shows=draw(observed), turn=draw(last)) for some in calls]
    pairs = [(j, g) for g in range(len(steps)) for j in range(g)]
    return chain(
        *steps,
        turns=tuple(turns),
        kind=draw(st.sampled_from(["chain", "irrelevance"])),
        answers=tuple(turns),
        candidates=tuple(draw(st.lists(st.sampled_from(["get_account", "look", "use", "other"]), max_size=4))),
        enabled=tuple(draw(st.lists(st.sampled_from(pairs), max_size=2)) if pairs else ()),
    )


EXAMPLES = st.lists(chains(), max_size=6)


@given(EXAMPLES)
def test_shares_lie_between_0_and_1_and_dependence_includes_being_fed(examples: list[Example]) -> None:
    found = measure(examples)
    assert all(0 <= found.value(row) <= 1 for row in ROWS if row.unit in ("share", "ratio"))
    assert all(found.value(row) >= 0 for row in ROWS)
    assert found.fed_steps <= found.dependent_steps
    assert found.path_of_4 <= found.path_of_3
    assert found.distinct_masked <= found.distinct_answers
    assert loads(Quality, dumps(found)) == found


@given(EXAMPLES, st.randoms())
def test_the_order_of_examples_does_not_matter(examples: list[Example], random: Json) -> None:
    before = measure(examples)
    random.shuffle(examples)
    after = measure(iter(examples))
    assert [after.value(row) for row in ROWS] == pytest.approx([before.value(row) for row in ROWS])
    assert (after.tokens, after.features) == (before.tokens, before.features)


@given(chains())
def test_edges_lead_forward_and_no_path_is_longer_than_the_steps(example: Example) -> None:
    edges = fed_edges(example)
    assert all(0 <= j < g < len(example.steps) for j, g in edges)
    assert longest_path(len(example.steps), edges) <= len(example.steps)
    assert fed_edges(replace(example, turns=(" ".join(map(dumps, example.steps)),))) == ()


@given(st.text(alphabet="aA1.,'\"“”-_/@<> \n", max_size=40))
def test_masks_and_tokens_take_any_text(text: str) -> None:
    assert not any(character.isdigit() for character in mask(text) + "".join(tokenize(text)) if character != "_")


def test_each_row_is_a_field_with_a_target_that_is_met_or_not() -> None:
    assert [row.name for row in ROWS] == [name for name in asdict(Quality()) if name not in ("tokens", "features")]
    rows = {row.name: row for row in ROWS}
    some = Quality(calls=4.5, spelled_ids=0.21)
    assert (some.meets_row_target(rows["calls"]), some.meets_row_target(rows["spelled_ids"])) == (True, False)
    assert some.meets_row_target(rows["conversations"]) is None


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a data set of two small splits and no manifest."""
    write_lines(tmp_path / "train.jsonl", [line_of(4), chain(step(("look", {})), features=("parallel",))])
    write_lines(tmp_path / "held_out.jsonl", [line_of(2)])
    return tmp_path


def run(*arguments: object) -> str:
    out = StringIO()
    call_command("quality", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_command_prints_a_table_for_each_split(data: Path) -> None:
    words = [line.split() for line in run(data).splitlines()]
    assert "Dependent path of 4 steps or more 50.0% ≥ 12.0% yes".split() in words
    assert "Dependent path of 4 steps or more 0.0% ≥ 12.0% no".split() in words
    assert "Calls per conversation 2.5 ≥ 4.5 no 5.7".split() in words
    assert "Examples with parallel 1".split() in words
    assert {"train", "held-out"} < {line[0] for line in words if line}


def test_the_command_prints_the_same_as_json(data: Path) -> None:
    found = json.loads(run(data, "--split", "train", "--json"))
    assert [*found] == ["train"]
    assert found["train"]["features"] == {"parallel": 1}
    rows = {row["name"]: row for row in found["train"]["rows"]}
    assert [*rows] == [row.name for row in ROWS]
    assert rows["calls"] | {"definition": ""} == {
        **{"name": "calls", "label": "Calls per conversation", "definition": "", "unit": "mean"},
        **{"target": [">=", 4.5], "bfcl": 5.71, "value": 2.5, "met": False},
    }


def test_a_folder_without_data_and_a_bad_line_are_named(data: Path) -> None:
    with pytest.raises(CommandError, match=r"nothing/train\.jsonl is not there"):
        run(data / "nothing")
    (data / "held_out.jsonl").write_text("{}\n")
    with pytest.raises(CommandError, match=r"held_out\.jsonl, line 1: not a valid Example"):
        run(data)


def test_the_command_runs_policies_that_read_no_observation(data_set: Path) -> None:
    words = [line.split() for line in run(data_set, "--split", "held_out", "--shortcuts").splitlines()]
    assert "held-out: shortcuts value target met".split() in words
    assert "Call everything: passes 0.0% ≤ 3.0% yes".split() in words
    assert "Call nothing: passes 0.0%".split() in words
    assert "shortcuts" not in run(data_set, "--split", "held_out")


def test_the_command_has_shortcuts_in_json(data_set: Path) -> None:
    found = json.loads(run(data_set, "--split", "held_out", "--shortcuts", "--json"))["held_out"]
    chains = {one.id for one in read_lines(Example, data_set / "held_out.jsonl") if one.kind == "chain"}
    assert found["shortcuts"]["chains"] == len(chains)
    assert {id for ids in found["shortcuts"]["passed"].values() for id in ids} <= chains
    rows = {row["name"]: row for row in found["shortcuts"]["rows"]}
    assert [*rows] == [row.name for row in SHORTCUT_ROWS]
    assert (rows["open_loop"]["target"], rows["call_nothing"]["met"]) == (["<=", 0.10], None)
    assert "shortcuts" not in json.loads(run(data_set, "--split", "held_out", "--json"))["held_out"]


def test_shortcuts_of_examples_that_the_servers_answer_otherwise_are_refused(data: Path) -> None:
    with pytest.raises(CommandError, match="behave"):
        run(data, "--shortcuts")
