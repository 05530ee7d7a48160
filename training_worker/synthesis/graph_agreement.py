"""Agreement of a language model's classification of tool pairs with the edges proven by running them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import networkx as nx

from .llm_graph import Dependency, Pair

KINDS: tuple[Dependency, ...] = get_args(Dependency)


@dataclass(frozen=True)
class OfKind:
    """Counts of the pairs of one kind: proven, said by the model, and both.

    `precision` is the share of the proven that the model also says; `recall` is the share of the said that are proven.
    With the proven edges as reference, the two change places. None where the denominator is zero.
    """

    proven: int
    said: int
    both: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Difference:
    """An ordered pair of tools on which the graph and the model differ."""

    first: str
    then: str
    proven: Dependency
    said: Dependency


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The comparison over all ordered pairs that the model classified.

    `confusion` has a row for each proven kind with a count for each said kind, both in the order of `kinds`.
    `kappa` is Cohen's; None where both use only one and the same kind.
    """

    model: str
    servers: tuple[str, ...]
    pairs: int
    unanswered: int
    kappa: float | None
    kinds: dict[Dependency, OfKind]
    confusion: tuple[tuple[int, ...], ...]
    differences: tuple[Difference, ...]


def proven(graph: nx.DiGraph, pair: Pair) -> Dependency:
    kind: Dependency = graph.edges[pair]["kind"] if graph.has_edge(*pair) else "none"
    return kind


def compare(
    graph: nx.DiGraph, said: Mapping[Pair, Dependency | None], model: str, servers: tuple[str, ...]
) -> Agreement:
    """Compare a model's classification of pairs with the graph."""
    from sklearn.metrics import confusion_matrix  # takes a second, so only this report imports it

    answered = {pair: kind for pair, kind in said.items() if kind}
    ours, theirs = [proven(graph, pair) for pair in answered], list(answered.values())
    return Agreement(
        model=model,
        servers=servers,
        pairs=len(said),
        unanswered=len(said) - len(answered),
        kappa=kappa(ours, theirs),
        kinds=by_kind(ours, theirs) if answered else {},
        confusion=tuple(map(tuple, confusion_matrix(ours, theirs, labels=KINDS).tolist())) if answered else (),
        differences=tuple(
            Difference(*pair, one, other)
            for pair, one, other in zip(answered, ours, theirs, strict=True)
            if one != other
        ),
    )


def kappa(ours: list[Dependency], theirs: list[Dependency]) -> float | None:
    if len({*ours, *theirs}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(ours, theirs, labels=KINDS))


def by_kind(ours: list[Dependency], theirs: list[Dependency]) -> dict[Dependency, OfKind]:
    from sklearn.metrics import precision_recall_fscore_support

    precision, recall, _, said = precision_recall_fscore_support(theirs, ours, labels=KINDS, zero_division=math.nan)
    return {
        kind: OfKind(
            proven=ours.count(kind),
            said=int(said[number]),
            both=sum(pair == (kind, kind) for pair in zip(ours, theirs, strict=True)),
            precision=share(precision[number]),
            recall=share(recall[number]),
        )
        for number, kind in enumerate(KINDS)
    }


def share(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
