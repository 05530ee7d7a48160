"""The reward of a rollout under any configuration: the total of its form, plus the optional terms."""

from __future__ import annotations

from dataclasses import replace

from ..core.trajectory import Example, Reward, Rollout
from .abstention import abstains
from .atomic import atomic
from .config import RewardConfig
from .excess_calls import surplus, unparseable
from .final_state import final_state
from .orchestration import orchestration
from .presets import PAPER
from .prove_reward import score
from .provenance import provenance
from .repeats import repeats
from .state import state
from .state_diff import truth_of
from .success import is_accepted
from .trace import trace

Terms = dict[str, float]


def reward_of(example: Example, rollout: Rollout, config: RewardConfig = PAPER) -> Reward:
    """Score a rollout of this example.

    The paper's components and their evidence are computed for every form; `terms` has the terms of the form and the
    optional terms. If no call is required, every form is the paper's abstention reward. Raises KeyError if the world is
    needed and a tool no longer exists.
    """
    paper = score(example.steps, example.edges, rollout.calls, config)
    if example.order_unknown:
        paper = replace(
            paper, order_unknown=True, evidence=tuple(replace(one, in_order=None) for one in paper.evidence)
        )
    if example.alternatives and is_accepted(example, rollout.calls):
        paper = replace(paper, accepted=True)
    if config.plain:
        return paper
    if abstains(example.steps):
        return replace(paper, form=config.form)
    total, terms = form_total(example, rollout, config, paper)
    if config.final_state:
        terms["final_state"] = match = final_state(example, rollout)
        total += config.final_state * match
    if config.provenance:
        terms["provenance"] = seen = provenance(example, rollout)
        total -= config.provenance * (1 - seen)
    if config.repeats:
        terms["repeats"] = again = repeats(example.steps, rollout.calls)
        total -= config.repeats * again
    return replace(paper, total=total, form=config.form, terms=terms)


def form_total(example: Example, rollout: Rollout, config: RewardConfig, paper: Reward) -> tuple[float, Terms]:
    """Return the total of the form without optional terms, and the terms of the form."""
    match config.form:
        case "paper":
            return paper.total, {}
        case "graduated":
            return score_graduated(example, rollout)
        case "trace_state":
            return trace_state(example, rollout, config.tau)
        case "final_state":
            match_ = final_state(example, rollout)
            return match_, {"final_state": match_}


def score_graduated(example: Example, rollout: Rollout) -> tuple[float, Terms]:
    """Return R = 0.5 atomic + 0.5 orchestration (arXiv 2603.24709), and its terms."""
    terms = {
        "atomic": atomic(example.steps, rollout.calls),
        "orchestration": orchestration(example.steps, example.edges, rollout.calls),
    }
    return 0.5 * terms["atomic"] + 0.5 * terms["orchestration"], terms


def trace_state(example: Example, rollout: Rollout, tau: float) -> tuple[float, Terms]:
    """Return R = max(0, tau S_trace + (1 - tau) S_state - surplus - unparseable) (EnvFactory), and its terms.

    Ids created during the conversation are don't-care, because an id depends on the wording of the call that created
    it.
    """
    calls = rollout.calls
    truth = truth_of(example).still
    made = truth.created if truth else truth_of(example).ticking.created
    n_gt = sum(len(step.calls) for step in example.steps)
    terms = {
        "trace": trace(example.steps, calls, made),
        "state": state(example, rollout),
        "surplus": surplus(n_gt, calls),
        "unparseable": unparseable(calls),
    }
    earned = tau * terms["trace"] + (1 - tau) * terms["state"]
    return max(0.0, earned - terms["surplus"] - terms["unparseable"]), terms
