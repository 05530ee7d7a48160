"""Validation of event data, in particular of events that another machine sends.

The types name fields and units as `events.Event` describes them. A `Value` is null for a mean over no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from pydantic import BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError, with_config
from typing_extensions import TypedDict

from ..core.events import KINDS, Kind
from ..core.json_numbers import ODD, WORDS
from ..core.trajectory import adapter
from ..environment.outcomes import OUTCOMES
from ..store.cache import is_digest
from ..store.folder import step_of
from .metrics import TOOLS

MOST_STEPS = (1 << 31) - 1
DEEPEST = 16  # levels of nested objects and lists
LONGEST_TEXT = 100_000  # characters of one text
LONGEST_NAME = 200  # characters of a property's name
MOST_METRICS = 1_000  # of one step

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Step = Annotated[int, Field(ge=0, le=MOST_STEPS)]
Amount = Annotated[FiniteFloat, Field(ge=0, le=1e15)]  # of work, in units of the job's own, or seconds
Value = FiniteFloat | None
Ends = Annotated[list[Value], Field(min_length=3, max_length=3)]  # difference, and its 95 % interval
Pair = Annotated[list[Value], Field(min_length=2, max_length=2)]  # before, after
as_tuple = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)  # JSON has no tuples
Bare = tuple[str, str, Count, Value, Value]  # cut, name, examples, reward, success
Slice = Annotated[Bare | tuple[str, str, Count, Value, Value, Value], as_tuple]  # the last is goal success
ActRow = Annotated[list[Count], Field(min_length=3, max_length=3)]  # of the policy's acts: call, ask, text
Acts = Annotated[list[ActRow], Field(min_length=3, max_length=3)]  # by the right act
Calls = Annotated[tuple[Count, Count], as_tuple]  # calls, failures
more = with_config(ConfigDict(extra="allow"))


class InvalidEvent(ValueError):
    """An event with invalid data; the message names the event, the field and the fault."""


@more
class JobStart(TypedDict):
    host: NotRequired[str]
    pid: NotRequired[int]
    device: NotRequired[str]
    environment: NotRequired[dict[str, str | FiniteFloat | bool | None]]


@more
class Progress(TypedDict):
    done: Amount
    total: Amount
    line: str
    seconds_left: Amount | None


class AtStep(TypedDict):
    step: Step


class Checkpoint(TypedDict):
    step: Step
    bytes: NotRequired[Count]


class Storage(TypedDict):
    waiting: Count
    error: str


class Group(TypedDict):
    """Lists with one entry per rollout."""

    number: Step
    first: Step
    example: str
    reward: list[Value]
    advantage: list[Value]
    end: list[str]
    failed_calls: list[Count]
    model_tokens: list[Count]
    tools: list[list[str]]
    outcomes: NotRequired[list[list[str]]]


class Rollouts(TypedDict):
    step: Step
    file: str
    digest: str
    bytes: Count
    tokens: str
    tokens_digest: str
    groups: list[Group]


class Identity(TypedDict):
    """The identity of an evaluation: benchmark, version, settings and model."""

    benchmark: str
    version: str
    settings: dict[str, Any]
    model: str


class Item(TypedDict):
    """A finished item of an evaluation; `value` is from 0 to 1."""

    item: str
    category: str
    passed: bool
    value: Annotated[FiniteFloat, Field(ge=0, le=1)]
    failure: str
    steps: Step
    tokens: Step
    seconds: Amount
    calls: Step
    line: Step
    goal_success: NotRequired[bool]


class Items(TypedDict):
    identity: Identity
    folder: str
    items: list[Item]


class JobEnd(TypedDict):
    state: str
    error: str
    result: dict[str, Any]


@more
class EvalComparison(TypedDict):
    before: Value
    after: Value
    difference: Value
    low: Value
    high: Value
    examples: Count
    state: NotRequired[Pair]
    acts: NotRequired[Annotated[list[Acts], Field(min_length=2, max_length=2)]]


@more
class Means(TypedDict):
    reward: Value
    validity: Value
    coverage: Value
    efficiency: Value
    name: Value
    arguments: Value


@more
class Line(TypedDict):
    steps: str
    examples: Count
    means: Means


@more
class PolicyComparison(TypedDict):
    """A comparison of two policies; `before` and `after` start with the reward and end with the success rate."""

    before: Annotated[list[Value], Field(min_length=2)]
    after: Annotated[list[Value], Field(min_length=2)]
    reward: Ends
    success: Ends
    pass_1: NotRequired[Pair]
    pass_2: NotRequired[Pair]
    pass_4: NotRequired[Pair]
    goal_success: NotRequired[Pair]
    act_accuracy: NotRequired[Pair]


@more
class ComparedSlice(TypedDict):
    by: str
    name: str
    examples: Count
    sampled: PolicyComparison
    greedy: PolicyComparison


@more
class Trial(TypedDict):
    """The result of a dry run; `groups` holds the mean and the range of the rewards of each scored group."""

    groups: list[Pair]
    dead: Count
    rollouts: Count
    tokens: Amount
    bytes: Amount
    seconds: Amount


DATA: Mapping[Kind, Any] = {
    "started": JobStart,
    "progress": Progress,
    "rollouts": Rollouts,
    "rewound": AtStep,
    "checkpoint": Checkpoint,
    "storage": Storage,
    "items": Items,
    "ended": JobEnd,
}
RESULT: Mapping[str, Any] = {  # the parts of a training run's result that pages show
    "before": list[Line],
    "after": list[Line],
    "sampled": EvalComparison,
    "greedy": EvalComparison,
    "slices": list[ComparedSlice],
}
OTHER_METRICS: Mapping[str, Any] = {TOOLS: dict[str, Calls], "slices": list[Slice], ODD: dict[str, str]}


def check_event(number: Any, kind: Any, data: Any) -> None:
    """Check the data of an event of this kind. Raises InvalidEvent."""
    if kind not in KINDS:
        raise InvalidEvent(f"Event {quote_value(number)}: unknown event kind {quote_value(kind)!r}.")
    about = f"Event {quote_value(number)} ({kind})"
    if not isinstance(data, dict):
        raise InvalidEvent(f"{about}: data must be an object.")
    check_text(about, "", data)
    if kind in ("step", "held_out"):
        check_metrics(about, data)
    else:
        check(about, "", DATA[kind], data)
    if kind == "rollouts":
        check_rollouts(about, data)


def check_result(about: str, result: Mapping[str, Any]) -> None:
    """Check the parts of a training run's result that pages show. Raises InvalidEvent."""
    for name in RESULT.keys() & result.keys():
        check(about, f"result.{name}", RESULT[name], result[name])


def check_trial(about: str, result: Mapping[str, Any]) -> None:
    """Check the result of a dry run. Raises InvalidEvent."""
    check(about, "result", Trial, result)


def readable(result: Any) -> dict[str, Any]:
    """Return the valid parts of a stored result; results stored before this check existed may have invalid parts."""
    if not isinstance(result, Mapping):
        return {}
    return {name: result[name] for name in RESULT if name in result and has_form(RESULT[name], result[name])}


def without_malformed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without the invalid parts among those that pages show, such as those of an external run."""
    return {name: value for name, value in result.items() if name not in RESULT} | readable(result)


def readable_metric(name: str, value: Any) -> Any:
    """Return a metric that is not a number, such as the slices of an evaluation, if it is valid; else None."""
    return value if has_form(OTHER_METRICS[name], value) else None


def has_form(form: Any, value: Any) -> bool:
    try:
        adapter(form).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def check(about: str, where: str, form: Any, value: Any) -> None:
    try:
        adapter(form).validate_python(value, strict=True)
    except ValidationError as why:
        first = why.errors()[0]
        place = ".".join(str(part) for part in (where, *first["loc"]) if part != "")
        raise InvalidEvent(f"{about}, field {quote_value(place) or 'data'}: {first['msg']}.") from None


def check_metrics(about: str, data: dict[str, Any]) -> None:
    """Check that the data is a step with numbers or nulls by metric name; NaN and Infinity count as numbers."""
    check(about, "", AtStep, {"step": data.get("step")})
    if len(data) > MOST_METRICS:
        raise InvalidEvent(f"{about}: {len(data)} metrics, but a step has at most {MOST_METRICS}.")
    for name, value in data.items():
        if name in OTHER_METRICS:
            check(about, name, OTHER_METRICS[name], value)
        elif value is not None and not isinstance(value, int | float):
            raise InvalidEvent(f"{about}, field {quote_value(name)}: a metric must be a number or null.")
    if odd := [word for word in data.get(ODD, {}).values() if word not in WORDS]:
        raise InvalidEvent(f"{about}, field {ODD}: {quote_value(odd[0])!r} is not one of {', '.join(WORDS)}.")


def check_rollouts(about: str, data: dict[str, Any]) -> None:
    """Check that files are named after their step and that every list of a group has one entry per rollout."""
    for file, digest in (("file", "digest"), ("tokens", "tokens_digest")):
        if (data[file] or file == "file") and step_of(data[file]) != data["step"]:
            raise InvalidEvent(f"{about}, field {file}: not a file of step {data['step']}.")
        if data[digest] and not is_digest(data[digest]):
            raise InvalidEvent(f"{about}, field {digest}: not a SHA-256 digest.")
    for place, group in enumerate(data["groups"]):
        sizes = {len(value) for value in group.values() if isinstance(value, list)}
        if len(sizes) > 1:
            raise InvalidEvent(f"{about}, field groups.{place}: every list must have one entry per rollout.")
        for tools, words in zip(group["tools"], group.get("outcomes", ()), strict=False):
            if words and len(words) != len(tools):
                raise InvalidEvent(f"{about}, field groups.{place}.outcomes: must have one entry per call.")
            if unknown := [word for word in words if word not in OUTCOMES]:
                raise InvalidEvent(
                    f"{about}, field groups.{place}.outcomes: unknown outcome {quote_value(unknown[0])!r}."
                )


def check_text(about: str, where: str, value: Any, depth: int = 0) -> None:
    """Check that a value can be stored and shown: nesting, text length and encoding, and the size of numbers."""
    if depth > DEEPEST:
        raise InvalidEvent(f"{about}, field {quote_value(where)}: nested more than {DEEPEST} levels deep.")
    match value:
        case str() if "\0" in value or len(value) > LONGEST_TEXT or not encodable(value):
            raise InvalidEvent(
                f"{about}, field {quote_value(where)}: text must have at most {LONGEST_TEXT:,} characters and no null "
                "bytes or lone surrogates."
            )
        case int():
            try:
                float(value)
            except OverflowError:
                raise InvalidEvent(f"{about}, field {quote_value(where)}: the number is too large.") from None
        case dict():
            for name, inner in value.items():
                if not isinstance(name, str) or len(name) > LONGEST_NAME:
                    raise InvalidEvent(
                        f"{about}, field {quote_value(where)}: a name must have at most {LONGEST_NAME} characters."
                    )
                check_text(about, f"{where}, a name in it", name)
                check_text(about, f"{where}.{name}".lstrip("."), inner, depth + 1)
        case list() | tuple():
            for place, inner in enumerate(value):
                check_text(about, f"{where}.{place}".lstrip("."), inner, depth + 1)


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def quote_value(value: Any) -> str:
    """Return an external value as an error message quotes it: short and in ASCII."""
    return str(value)[:80].encode("ascii", "backslashreplace").decode()
