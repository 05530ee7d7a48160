"""A filter or sort by the columns of a step gives the same result as one rollout by rollout."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from training_worker.core.trajectory import ExecutedCall, Reward, Rollout, ToolCall
from training_worker.environment.outcomes import OUTCOMES
from training_worker.store.query import ORDERS, RolloutFilter, StepTable
from training_worker.store.record import COMPONENTS, RolloutRecord, Summary, Tokens
from training_worker.store.steps import SHORT, read_outcomes, read_span, read_summaries, write_step

NUMBERS = st.sampled_from([0.0, 0.3, 0.7, 1.3])
NAMES = st.sampled_from(["pay", "look", ""])


@st.composite
def summaries(draw: st.DrawFn) -> list[Summary]:
    found = []
    for index in range(1, draw(st.integers(0, 9)) + 1):
        calls = draw(st.lists(st.tuples(NAMES, st.integers(0, 3), st.sampled_from(OUTCOMES[:-1])), max_size=4))
        scored = draw(st.booleans())
        found.append(
            Summary(
                index=index,
                group=(index + 2) // 3,
                place=(index + 2) % 3 + 1,
                example=draw(st.sampled_from("ef")),
                reward=draw(NUMBERS) if scored else None,
                components={name: draw(NUMBERS) if scored else None for name in COMPONENTS},
                abstention=False,
                advantage=draw(st.none() | NUMBERS),
                end=draw(st.sampled_from(["answered", "tokens"])),
                failed_at=None,
                tools=tuple(name for name, _, _ in calls),
                levels=tuple(level for _, level, _ in calls),
                model_tokens=draw(st.none() | st.integers(0, 9)),
                outcomes=tuple(word for _, _, word in calls) if scored else (),
            )
        )
    return found


FILTERS = st.builds(
    RolloutFilter,
    low=st.none() | NUMBERS,
    high=st.none() | NUMBERS,
    component=st.sampled_from(["", *COMPONENTS]),
    below=st.none() | NUMBERS,
    tool=NAMES,
    outcome=st.sampled_from(["", *OUTCOMES]),
    end=st.sampled_from(["", "answered"]),
    example=st.sampled_from(["", "e"]),
)


def holds(one: Summary, query: RolloutFilter) -> bool:
    """Return whether one rollout matches the query."""
    reward, part = one.reward, one.components.get(query.component)
    calls = list(zip(one.tools, one.outcomes or (), strict=True)) if one.outcomes else [(t, "") for t in one.tools]
    wanted = [tool for tool, word in calls if query.tool in ("", tool) and query.outcome in ("", word)]
    return (
        (query.low is None or (reward is not None and reward >= query.low))
        and (query.high is None or (reward is not None and reward <= query.high))
        and (not query.component or query.below is None or (part is not None and part < query.below))
        and (not (query.tool or query.outcome) or bool(wanted))
        and query.end in ("", one.end)
        and query.example in ("", one.example)
    )


@given(summaries(), FILTERS)
def test_a_filter_finds_exactly_the_rollouts_that_match(all_: list[Summary], query: RolloutFilter) -> None:
    found = StepTable.from_summaries(all_).filter_rollouts(query).list_summaries()
    assert [one.index for one in found] == [one.index for one in all_ if holds(one, query)]
    assert found == [one for one in all_ if holds(one, query)]


@given(summaries(), st.sampled_from(ORDERS), st.booleans())
def test_what_has_no_value_comes_last_and_equals_stay_in_order(all_: list[Summary], by: str, falling: bool) -> None:
    found = StepTable.from_summaries(all_).sort_rows(by, falling)
    values = list(zip(found.column(by), found.column("index"), strict=True))
    known = [(value, index) for value, index in values if value is not None]
    assert values[: len(known)] == known and len(values) == len(all_)
    assert known == sorted(known, key=lambda each: (-each[0] if falling else each[0], each[1]))


@given(summaries())
def test_the_pages_together_are_the_full_table(all_: list[Summary]) -> None:
    table = StepTable.from_summaries(all_)
    assert [one for start in range(0, len(table), 2) for one in table.list_summaries(start, 2)] == all_
    assert table.of_groups([2]).list_summaries() == [one for one in all_ if one.group == 2]


def test_a_rollout_without_calls_a_step_without_rollouts_and_a_column_of_later(tmp_path: Path) -> None:
    assert (
        StepTable.from_summaries([]).filter_rollouts(RolloutFilter(tool="pay", outcome="state")).list_summaries() == []
    )
    old = StepTable(StepTable.from_summaries([]).table.drop_columns(["outcomes"]))
    assert (
        len(old.filter_rollouts(RolloutFilter(outcome="state"))) == 0 and not RolloutFilter() and RolloutFilter(low=0.0)
    )
    assert old.sort_rows("outcomes") is old


def rollout(calls: int) -> Rollout:
    made = tuple(ExecutedCall(ToolCall("pay", {"n": at}), 3, "{}") for at in range(calls))
    return Rollout(example="e", transcript=(), calls=made, end="answered", reward=Reward(total=1.0))


def test_a_span_is_read_across_row_groups_and_outcomes_are_read_or_computed_again(tmp_path: Path) -> None:
    tokens = Tokens(prompt_ids=[], completion_ids=[], env_mask=[], logprobs=[])
    made = [rollout(at % 3) for at in range(150)]
    file = tmp_path / "step-000001.parquet"
    write_step(file, [RolloutRecord(rollout=one, group=1, advantage=0.0, tokens=tokens) for one in made])
    for first, count in ((1, 3), (60, 10), (128, 99), (151, 4), (1, 150)):
        assert read_span(file, first, count) == made[first - 1 : first - 1 + count]
    assert read_outcomes(file) == [("succeeded",) * len(one.calls) for one in made]
    assert read_summaries(file) == StepTable.read(file).list_summaries()
    assert set(StepTable.read(file).table.column_names) == set(SHORT.names)
