"""Laws of names: the words of the field, functions named by verbs, modules and classes by nouns."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.sharing import checked

ROOT = Path(__file__).parents[1]
PACKAGES = ("mcp_servers", "training_worker", "prove_web")

RETIRED = {"told", "asked", "whole", "kept", "shown", "hearts", "telling", "asking"}  # words of a private dialect
STANDARD = {"ready_made", "the_quota_is_kept", "links_are_told_once", "money_is_kept"}
STORED = {  # in databases and files that exist
    "training_worker/core/trajectory.py: told",
    "training_worker/datasets/importers/import_dataset.py: told",
    "training_worker/monitoring/alerts/patterns.py: shown",
    "training_worker/evaluation/report.py: asked",
    "prove_web/evaluations/reports.py: asked",
    "prove_web/evaluations/ranking.py: asked",
    "prove_web/api/routes/leaderboards.py: asked",
    "prove_web/environments/models.py: asked_at",
    "training_worker/evaluation/worlds/generalisation.py: kept_out",
    "training_worker/dataflow/quality.py: tools_shown",
}

FIXED = {  # by a database, a file format or a library
    "prove_web/alerts/models.py: Watched",
    "prove_web/trajectories/models.py: Opened",
    "prove_web/workers/models.py: Drained",
    "prove_web/query_language/parsing.py: negated",
    "prove_web/trajectories/models.py: Words",
    "mcp_servers/core/state.py: where",
    "training_worker/datasets/export/lines.py: tell",
    "training_worker/synthesis/validate.py: Rejected",
    "training_worker/audit/checks.py: rendering",
}

PARTICIPLES = {  # the irregular ones
    *("begun", "born", "bought", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "fed", "felt"),
    *("found", "given", "gone", "grown", "held", "hidden", "known", "laid", "left", "lost", "made", "meant", "met"),
    *("paid", "said", "seen", "sent", "sold", "spent", "spoken", "taken", "thought", "torn", "won", "worn", "written"),
}
VAGUE = {  # prepositions, adverbs, pronouns and verbs that need an object
    *("about", "above", "across", "after", "again", "against", "ahead", "alike", "along", "alone", "also", "among"),
    *("another", "any", "anyone", "apart", "around", "as", "ask", "asks", "at", "away", "back", "before", "behind"),
    *("below", "beside", "better", "between", "beyond", "both", "by", "down", "each", "earlier", "early", "either"),
    *("elsewhere", "even", "evenly", "ever", "few", "fewer", "first", "fresh", "from", "further", "hear", "heard"),
    *("here", "how", "in", "inside", "instead", "into", "just", "keep", "keeps", "last", "later", "least", "less"),
    *("like", "lines", "many", "me", "mine", "more", "most", "much", "near", "nearest", "next", "nobody", "none"),
    *("not", "now", "nowhere", "odd", "of", "off", "on", "once", "one", "only", "other", "others", "ours", "out"),
    *("outside", "over", "own", "past", "plain", "quietly", "rows", "same", "say", "says", "several", "since", "some"),
    *(
        "speak",
        "such",
        "tell",
        "tells",
        "texts",
        "that",
        "theirs",
        "then",
        "there",
        "these",
        "thing",
        "things",
        "those",
    ),
    *("through", "to", "together", "too", "toward", "under", "unlike", "until", "up", "upon", "usual", "very", "what"),
    *("when", "where", "which", "who", "whom", "whose", "why", "with", "within", "without", "words", "wrong"),
}
NOUNS = {  # that look like a participle or a gerund
    *("bed", "booking", "building", "embedding", "feed", "finding", "greeting", "heading", "holding", "indexed"),
    *("king", "listing", "logging", "meeting", "need", "nothing", "paging", "parsing", "ping", "pricing", "ranking"),
    *("rating", "recording", "routing", "seed", "setting", "sharing", "sibling", "speed", "streaming", "string"),
    *("thread", "timing", "training", "warning", "distributed", "offboarding", "blinding", "ordering", "sampling"),
    *("everything", "mapping", "thing", "bring"),
}


DEFINITIONS = {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef}
STORED_NAMES = {ast.Name: "id", ast.Attribute: "attr"}


@cache
def read_names(path: Path) -> tuple[list[str], list[str]]:
    """Return every name that a module defines, and its functions and classes but properties and template tags."""
    names, definitions = [path.stem], []
    nodes: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while nodes:  # two times as fast as ast.walk
        node = nodes.pop()
        kind = type(node)
        if kind in DEFINITIONS:
            names.append(node.name)  # type: ignore[attr-defined]
            decorators = " ".join(map(ast.unparse, node.decorator_list))  # type: ignore[attr-defined]
            definitions += [] if "property" in decorators or "register." in decorators else [names[-1]]
        elif kind is ast.arg or ((attribute := STORED_NAMES.get(kind)) and type(node.ctx) is ast.Store):
            names.append(getattr(node, "arg" if kind is ast.arg else attribute))
        elif kind is ast.ExceptHandler:
            names += [node.name] if node.name else []  # type: ignore[attr-defined]
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                nodes += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and field != "ctx":
                nodes.append(value)
    return names, definitions


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def test_names_use_the_words_of_the_field() -> None:
    with checked("names", (*PACKAGES, "tests")) as unchanged:
        assert unchanged or not find_retired_words(), "take a word that PyTorch, TRL, MCP, Django or W&B has for it"


def find_retired_words() -> list[str]:
    found = []
    for folder in (*PACKAGES, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in read_names(path)[0]:
                place = f"{path.relative_to(ROOT)}: {name}"
                if RETIRED.intersection(words_of(name)) and name not in STANDARD and place not in STORED:
                    found.append(place)
    return found


def is_vague(name: str) -> bool:
    """Return whether a name is nothing but a participle, a gerund or a vague word: `counted`, `making`, `within`."""
    word = name.lower()
    if len(words_of(name)) != 1 or not word.isalpha() or word in NOUNS:
        return False
    return word in PARTICIPLES | VAGUE or bool(re.search(r"[a-z]{2}(ed|ing)$", word))


def test_functions_are_verbs_and_modules_and_classes_nouns() -> None:
    with checked("definitions", (*PACKAGES, "tests/test_names.py")) as unchanged:
        assert unchanged or not find_vague_definitions(), "name a function by a verb and its object, a class by a noun"


def find_vague_definitions() -> list[str]:
    """Return the vague names. Properties and what a template registers may be adjectives, as in Python and Django."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.parent.name == "migrations":
                continue
            names = [*([path.stem] if path.stem not in VAGUE else []), *read_names(path)[1]]
            places = [f"{path.relative_to(ROOT)}: {name}" for name in names if is_vague(name)]
            found += [place for place in places if place not in FIXED]
    return found
