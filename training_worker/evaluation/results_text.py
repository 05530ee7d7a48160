"""Reports and comparisons as rows and lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..reward.acts import ACTS
from .compare import PairedComparison
from .intervals import Score
from .report import Category, Report

COLUMNS = ("category", "run", "passed", "accuracy %", "95% interval", "goal success %", "act accuracy %", "silent %")
MOST_IDS = 10


def iter_report_rows(report: Report) -> Iterator[Sequence[object]]:
    """Yield a row for each category, for each group of categories, and for the whole benchmark."""
    for one in report.categories:
        goals = (percent(one.goal_success), percent(one.act_accuracy))
        yield (one.name, f"{one.run} of {one.asked}", one.passed, *format_score(one.score), *goals, baseline(one))
    for group in report.groups:
        if group.score:
            yield (f"{group.name} (mean)", "", "", *format_score(group.score), "", "", "")
    if report.overall:
        name = "overall (of the means)" if report.groups else "overall (unweighted)"
        yield (name, "", "", *format_score(report.overall), "", "", "")


def baseline(one: Category) -> str:
    return "" if one.silent is None else f"{100 * one.silent:.1f}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def format_score(score: Score | None) -> tuple[str, str]:
    return (f"{100 * score.accuracy:.1f}", f"{100 * score.low:.1f} to {100 * score.high:.1f}") if score else ("", "")


def iter_report_notes(report: Report) -> Iterator[str]:
    """Yield lines on what the table leaves out: failures, items that were not run, and the cost."""
    identity = report.identity
    yield f"{identity.benchmark} {identity.version}, {identity.model}, prompted with {identity.style}"
    for one in report.categories:
        if one.pass_hat:
            yield f"{one.name}: " + ", ".join(f"pass^{k} {100 * p:.1f}%" for k, p in enumerate(one.pass_hat, 1))
    for right, counts in zip(ACTS, report.acts, strict=False):
        made = ", ".join(f"{count:,} {act}" for act, count in zip(ACTS, counts, strict=True))
        yield f"where the right act was {right}: {made}"
    for failure, count in report.failures.items():
        yield f"{count:,} failed: {failure.replace('_', ' ')}"
    missing = sum(one.asked - one.run for one in report.categories)
    if missing:
        yield f"{missing:,} were not run and count in no score; the same command retries them"
    for why, count in Counter(report.not_run.values()).most_common(3):
        yield f"{count:,} of them: {why}"
    for why in dict.fromkeys(report.absent.values()):
        yield f"there is no {', '.join(name for name in report.absent if report.absent[name] == why)}: {why}"
    if report.overall is None and report.categories:
        parts = ", ".join(group.name for group in report.groups) or "all categories"
        yield f"there is no overall score: it is the mean of {parts}"
    yield f"{report.steps:,} answers, {report.calls:,} calls, {report.tokens:,} tokens, {report.seconds:,.0f} s"


def format_comparison(paired: PairedComparison) -> Iterator[str]:
    """Yield lines that compare two evaluations on the items that both ran."""
    yield (
        f"on {paired.items:,} items that both ran: {100 * paired.first:.1f}% before, {100 * paired.second:.1f}% now, "
        f"a difference of {100 * paired.difference:+.1f} (95%: {100 * paired.low:+.1f} to {100 * paired.high:+.1f}); "
        f"p = {paired.p:.3g}"
    )
    if any(share is not None for share in paired.goals):
        before, now = (percent(share) for share in paired.goals)
        yield f"goal success: {before} % before, {now} % now"
    for word, ids in (("gained", paired.gained), ("lost", paired.lost)):
        more = f" and {len(ids) - MOST_IDS:,} more" if len(ids) > MOST_IDS else ""
        yield f"{len(ids):,} {word}" + (f": {', '.join(ids[:MOST_IDS])}{more}" if ids else "")
