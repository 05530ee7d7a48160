"""Text statistics of a dataset: masked texts, distinct n-grams and common openings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from mcp_servers.core import Draw

Unit = Literal["count", "mean", "share", "ratio"]
Comparison = Literal[">=", "<="]
TOKENS, SEEDS = 18_000, 5
OPENINGS, OPENING_WORDS = 20, 3
MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
DATES = (
    re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?)?\b"),
    re.compile(rf"(?:\b{WEEKDAY},? )?\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? \d{{4}})?\b"),
    re.compile(rf"(?:\b{WEEKDAY},? )?\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"),
)
QUOTATIONS = (
    re.compile(r'"[^"\n]*+"'),
    re.compile(r"“[^“”\n]*+”"),
    re.compile(r"(?<!\w)\u2018[^\u2018\u2019\n]*+\u2019(?!\w)"),
    re.compile(r"(?<!\w)'[^'\n]*+'(?!\w)"),
    re.compile(r"`[^`\n]*+`"),
)
IDS = (
    re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"),  # an e-mail address
    re.compile(r"\bhttps?://\S++"),
    re.compile(r"(?<![\w/~])~?(?:/\.?[\w-]++(?:\.[\w-]++)*+)++"),  # a path from the root or a home
    re.compile(r"(?<![\w.-])[\w-]++\.[a-z][a-z0-9]{1,3}\b"),  # the name of a file
    re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[\w-]++"),  # digits and letters together
)
NUMBER = re.compile(r"[$€£]?\d++(?:[.,:/-]\d++)*+%?")
NAME = re.compile(r"(?<!\w)(?!I\b)[^\W\d_][\w'\u2019]*+(?:-\w++)*+")
NAMES = re.compile(r"<name>(?: <name>)++")
TOKEN = re.compile(r"<(?:id|number)>|\w++(?:['\u2019]\w++)*+|[^\w\s]")
WORD = re.compile(r"[^\W\d_]++(?:['\u2019][^\W\d_]++)*+")
BEFORE_SENTENCE = frozenset(" \t\"'“\u2018(*•-")


@dataclass(frozen=True)
class QualityRow:
    """One quality measure: `name` is its field in Quality, `bfcl` its value for BFCL multi-turn base.

    `manage.py quality --bfcl` measures that value; None where BFCL's data does not allow it. A share or ratio is in
    0..1; `target` is the bound for a good dataset.
    """

    name: str
    label: str
    definition: str
    unit: Unit
    target: tuple[Comparison, float] | None = None
    bfcl: float | None = None


TEXT_ROWS: tuple[QualityRow, ...] = (
    QualityRow(
        "distinct_answers",
        "Distinct assistant texts",
        "Number of distinct assistant texts of all examples, over the number of texts.",
        "share",
        (">=", 0.50),
    ),
    QualityRow(
        "distinct_masked",
        "Distinct masked assistant texts",
        "The same with a placeholder for each number, id, name, quotation and date.",
        "share",
        (">=", 0.20),
    ),
    QualityRow(
        "commonest_masked",
        "Commonest masked assistant text",
        "Share of the assistant texts of all examples that have the commonest masked form.",
        "share",
        ("<=", 0.01),
    ),
    QualityRow(
        "distinct_2",
        "distinct-2 of user turns",
        "Distinct over all pairs of tokens in 18,000 tokens of shuffled user turns, ids, paths and numbers masked.",
        "ratio",
        (">=", 0.45),
        0.5342,
    ),
    QualityRow(
        "distinct_4",
        "distinct-4 of user turns",
        "Distinct over all groups of four tokens in the same samples.",
        "ratio",
        (">=", 0.80),
        0.9278,
    ),
    QualityRow(
        "common_openings",
        "Turns with a common opening",
        "Share of user turns that begin with one of the 20 commonest openings of three words.",
        "share",
        ("<=", 0.25),
        0.094,
    ),
)


@dataclass(frozen=True)
class TextVariety:
    """Shares of distinct texts, of distinct masked texts, and of the most common masked text."""

    distinct: float
    masked: float
    commonest: float


@dataclass(frozen=True)
class NgramVariety:
    """Shares of distinct n-grams by n, over a sample of `tokens` tokens."""

    tokens: int
    shares: dict[int, float]


def mask(text: str) -> str:
    """Return a text with a placeholder for each quotation, date, id, number and name.

    A name is a capitalised word that does not begin a sentence; consecutive names count as one.
    """
    text = substitute(text, (QUOTATIONS, "<quotation>"), (DATES, "<date>"), (IDS, "<id>"), ((NUMBER,), "<number>"))
    return NAMES.sub("<name>", NAME.sub(replace_name, text))


def substitute(text: str, *replacements: tuple[Iterable[re.Pattern[str]], str]) -> str:
    """Return a text with the matches of each group of patterns replaced by its placeholder, in order."""
    for patterns, placeholder in replacements:
        for pattern in patterns:
            text = pattern.sub(placeholder, text)
    return text


def replace_name(word: re.Match[str]) -> str:
    """Return the replacement of a word in a masked text: a placeholder for a name, else the word."""
    is_name = word[0][0].isupper() and not begins_sentence(word.string, word.start())
    return "<name>" if is_name else word[0]


def begins_sentence(text: str, at: int) -> bool:
    """Return whether the word at a position is the first of a sentence or of a line."""
    while at > 0 and text[at - 1] in BEFORE_SENTENCE:
        at -= 1
    return at == 0 or text[at - 1] in ".!?\n"


def measure_variety(texts: Counter[str]) -> TextVariety:
    """Return the variety of texts, given with their counts; all 0 without texts."""
    total = texts.total()
    if not total:
        return TextVariety(0.0, 0.0, 0.0)
    forms: Counter[str] = Counter()
    for text, count in texts.items():
        forms[mask(text)] += count
    return TextVariety(len(texts) / total, len(forms) / total, max(forms.values()) / total)


def tokenize(text: str) -> list[str]:
    """Return the lower-case words, numbers and punctuation marks of a text; ids and numbers are placeholders."""
    masked = substitute(text, (DATES[:1], "<number>"), (IDS, "<id>"), ((NUMBER,), "<number>"))
    return TOKEN.findall(masked.lower())


def measure_ngrams(texts: Sequence[str], sizes: Sequence[int] = (2, 4), limit: int = TOKENS) -> NgramVariety:
    """Return distinct-n (Li and others 2016) over concatenated shuffled texts, up to `limit` tokens.

    The shares are means of five seeded shuffles, equal for any order of `texts`; 0 where there is no n-gram.
    """
    ordered = sorted(texts)
    samples = [sample(Draw("n-grams", seed).shuffle_items(ordered), limit) for seed in range(SEEDS)]
    shares = {size: fmean(measure_distinct(tokens, size) for tokens in samples) for size in sizes}
    return NgramVariety(len(samples[0]), shares)


def sample(texts: Sequence[str], limit: int) -> list[str]:
    """Return the first tokens of texts, at most `limit`."""
    tokens: list[str] = []
    for text in texts:
        if len(tokens) >= limit:
            break
        tokens += tokenize(text)
    return tokens[:limit]


def measure_distinct(tokens: Sequence[str], size: int) -> float:
    """Return the share of distinct n-grams of `size` tokens; 0 where there are none."""
    groups = list(zip(*(tokens[start:] for start in range(size)), strict=False))
    return len(set(groups)) / len(groups) if groups else 0.0


def measure_openings(texts: Sequence[str]) -> float:
    """Return the share of texts that begin with one of the 20 commonest openings; 0 without texts.

    An opening is the first three lower-case words, or all words of a shorter text.
    """
    openings = Counter(tuple(find_opening(text)) for text in texts)
    return sum(count for _, count in openings.most_common(OPENINGS)) / len(texts) if texts else 0.0


def find_opening(text: str) -> Iterator[str]:
    """Yield the first words of a text in lower case."""
    for _, match in zip(range(OPENING_WORDS), WORD.finditer(text), strict=False):
        yield match[0].lower()
