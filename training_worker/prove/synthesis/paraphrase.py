"""The paraphrasing teacher: a conversation's skeleton is programmatic, its user's words are a language model's.

Nothing but `turns` changes, and a rewritten turn is kept only when it still says every value, says no new one, names no
tool or parameter, and all arguments keep their provenance. What a check cannot see is whether it asks for the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path

from ..provenance import says, single, spoken, ways_to_say
from ..trajectory import Example, Message, Split, write_lines
from . import folder
from .dataset import Progress
from .endpoint import Endpoint
from .endpoint.asking import TRIES, ask
from .language import leaks, long_day
from .manifest import Drawn
from .validate import Rejected, provenance

EXACT = re.compile(r"(?<![\w@.+/:-])(?:[^\W\d]|[.+/:-])*+[\d@][\w@.+/:-]*+")  # an id, a number, a date, an address
LONGEST, LETTERS_MORE = 3, 200
REPORT = "paraphrase.json"

RULES = """You rewrite what a user says to an assistant, so that it sounds as a person would say it.
Ask for the same things in the same order. Keep every value that is listed, letter by letter. Add no value, no name and
no request. Do not answer it. Write no name of a tool or a field, such as account_id.
Answer with JSON only: {"text": "the rewritten message"}"""


@dataclass(frozen=True)
class Wording:
    """What the model is asked to write."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Paraphrased:
    """Of how many user turns the words are the model's; why the others kept those of their skeleton."""

    model: str
    turns: int
    reworded: int
    kept: dict[str, int]


def paraphrase(example: Example, endpoint: Endpoint, tries: int = TRIES) -> tuple[Example, list[str]]:
    """The example in the model's words, and for each turn that kept those of its skeleton the reason.

    One that others made keeps its words. Raises EndpointFailed, which is no fault of the example.
    """
    if example.source:
        return example, ["imported"] * len(example.turns)
    kept: list[str] = []
    for turn in range(len(example.turns)):
        answer = ask(endpoint, request(example, turn), Wording, Check(example, turn).fault, tries)
        if answer.value:
            example = reworded(example, turn, answer.value.text)
        else:
            kept.append(answer.why)
    return example, kept


def request(example: Example, turn: int) -> tuple[Message, ...]:
    """What the model is shown of a turn: the manner, what was said before, the values to keep, the words."""
    parts = [f"Manner of the user: {example.persona}"] if example.persona else []
    for before, answer in zip(example.turns[:turn], example.answers, strict=False):
        parts += [f"The user said before: {before}", f"The assistant answered: {answer}"]
    keep = json.dumps(values_said(example, turn), ensure_ascii=False)
    parts += [f"Values to keep: {keep}", f"Message to rewrite: {example.turns[turn]}"]
    return Message("system", RULES), Message("user", "\n".join(parts))


def reworded(example: Example, turn: int, text: str) -> Example:
    return replace(example, turns=(*example.turns[:turn], text.strip(), *example.turns[turn + 1 :]))


class Check:
    """What is wrong with new words for one turn of an example: a reason with details after a colon, or ""."""

    def __init__(self, example: Example, turn: int):
        self.example, self.turn, self.old = example, turn, example.turns[turn]
        self.values = values_said(example, turn)
        self.known = set(exact(" ".join(example.turns[: turn + 1])))

    def fault(self, wording: Wording) -> str:
        new = wording.text.strip()
        if not new.replace("\n", "").isprintable() or not new:
            return "empty, or with letters that cannot be printed"
        if len(new) > LONGEST * len(self.old) + LETTERS_MORE:
            return f"too long: {len(new)} letters"
        if lost := [value for value in self.values if not says(new, value)]:
            return f"a value is lost: {', '.join(lost)}"
        if invented := [value for value in exact(new) if value not in self.known]:
            return f"a value is new: {', '.join(invented)}"
        if leaked := leaks(new, said=self.old):
            return f"the name of a tool or a field: {', '.join(sorted(leaked))}"
        try:
            provenance(reworded(self.example, self.turn, new))
        except Rejected as reason:
            return f"without provenance: {reason}"
        return ""


def values_said(example: Example, turn: int) -> list[str]:
    """What a turn says and new words must say too: values of calls and of what tools show, ids, numbers, addresses."""
    text = example.turns[turn]
    found = dict.fromkeys([*values(example), *exact(text)])
    return sorted((value for value in found if value in text and says(text, value)), key=lambda it: (text.find(it), it))


def values(example: Example) -> Iterator[str]:
    """The reference date, every value of an argument in each way a user may say it, and every text that tools show."""
    if example.today:
        yield long_day(date.fromisoformat(example.today))
    steps = ((call, step.observations) for step in example.steps for call in step.calls)
    for call, observations in (*steps, *((failure.call, ()) for failure in example.failures)):
        for value in single(call.arguments or {}):
            yield from (spoken(value), *ways_to_say(value, example.today))
        for text in observations:
            yield from (value for value in single(json.loads(text)) if isinstance(value, str) and value)


def exact(text: str) -> list[str]:
    return [found.rstrip(".:/-+") for found in EXACT.findall(text)]


def paraphrase_all(
    examples: Sequence[Example],
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    tries: int = TRIES,
) -> tuple[list[Example], Paraphrased]:
    """The examples in their order, each in the model's words. Raises EndpointFailed; answers so far stay on disk."""
    told: list[Example] = []
    kept: Counter[str] = Counter()
    pool = ThreadPoolExecutor(endpoint.settings.parallel)
    try:
        for example, reasons in pool.map(lambda one: paraphrase(one, endpoint, tries), examples):
            told.append(example)
            kept.update(reason.split(":")[0] for reason in reasons)
            progress(len(told), len(examples))
    finally:
        pool.shutdown(cancel_futures=True)
    turns = sum(len(example.turns) for example in told)
    return told, Paraphrased(
        model=endpoint.settings.model,
        turns=turns,
        reworded=turns - kept.total(),
        kept=dict(sorted(kept.items())),
    )


def paraphrase_folder(
    source: Path,
    out: Path,
    endpoint: Endpoint,
    progress: Progress = lambda done, total: None,
    *,
    replacing: bool = False,
) -> Paraphrased:
    """A data set with the same conversations in the model's words. Its files appear whole, the manifest last.

    Raises EndpointFailed, Taken unless `replacing`, and what `folder.read` and `folder.check` do.
    """
    known = folder.read(source)
    folder.free(out, replacing)
    by_split = {split: list(folder.examples(source, split)) for split in folder.SPLITS}
    told, report = paraphrase_all([one for split in by_split.values() for one in split], endpoint, progress)
    rest = iter(told)

    def split_of(split: Split) -> tuple[list[Example], Drawn]:
        before = known.splits[split]
        counts = {field.name: getattr(before, field.name) for field in fields(Drawn)}
        return [next(rest) for _ in by_split[split]], Drawn(**counts)

    settings = {**known.settings, "paraphrased": known.content}
    teacher = f"paraphrase by {endpoint.settings.model}"
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / REPORT, [report])
    folder.write(out, known.recipe, settings, known.seed, known.servers, split_of, teacher)
    return report
