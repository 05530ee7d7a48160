"""Tokens of one rollout, loaded on request: generated tokens with log-probabilities, and observation tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.core.parse_int import parse_digits
from training_worker.store.tokens import Token, TokenRow

from .detail import run_of
from .rollouts import NoRollouts, tokens_of

AT_ONCE = 2_000  # tokens per fragment
LIKELY = (0.9, 0.5, 0.1)  # probability limits between the shades


@dataclass(frozen=True)
class TokenDisplay:
    """A token for display; `shade` is 0 for a nearly certain token, 3 for a surprising one."""

    token: Token
    probability: float | None

    @property
    def shade(self) -> int:
        return sum((self.probability or 0.0) < limit for limit in LIKELY)

    @property
    def text(self) -> str:
        """Return the text with a mark at line ends, because a newline is a token too."""
        return self.token.text.replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}\n")


@in_project(Action.VIEW)
@require_safe
def tokens(request: ProjectRequest, run: int, step: int, index: int) -> HttpResponse:
    """Return a fragment of tokens; `?after=` continues after an earlier fragment."""
    found = run_of(request.project, run)
    try:
        row = tokens_of(found, step, index)
    except NoRollouts as error:
        return render(request, "experiments/tokens.html", {"why": str(error)})
    if row is None:
        return render(request, "experiments/tokens.html", {"why": explain_missing(found.config)})
    after = parse_digits(request.GET.get("after", "")) or 0
    return render(request, "experiments/tokens.html", {"run": found, "step": step, "index": index, **part(row, after)})


def part(row: TokenRow, after: int) -> dict[str, Any]:
    """Return a range of a rollout's tokens; the first range also has the prompt and the totals."""
    spoken = [token for token in row.completion if token.model and token.logprob is not None]
    return {
        "after": after,
        "prompt": "".join(token.text for token in row.prompt),
        "prompt_count": len(row.prompt),
        "count": len(row.completion),
        "spoken": len(spoken),
        "trained": sum(bool(token.advantage) for token in spoken) if any_recorded(spoken) else None,
        "mean": sum(token.logprob for token in spoken) / len(spoken) if spoken else None,
        "tokens": [display_token(token) for token in row.completion[after : after + AT_ONCE]],
        "next": after + AT_ONCE if after + AT_ONCE < len(row.completion) else None,
    }


def any_recorded(tokens: Sequence[Token]) -> bool:
    """Return whether the run recorded the tokens' advantages; older runs did not."""
    return any(token.advantage is not None for token in tokens)


def display_token(token: Token) -> TokenDisplay:
    return TokenDisplay(token, exp(token.logprob) if token.logprob is not None else None)


def explain_missing(config: dict[str, Any]) -> str:
    """Return why no tokens are stored, and which setting stores them."""
    keeps = config.get("keep_tokens", "last")
    which = {"none": "no step", "all": "every step"}.get(keeps, "the newest step only")
    return f"The tokens of this step are not stored: this run stores tokens of {which} (keep_tokens)."
