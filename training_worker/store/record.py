"""Stored rollout records: the rollout, its training data, and a summary for filters and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from ..core.trajectory import Boundary, End, Reward, Rollout
from ..environment.outcomes import Outcome, outcomes

SUCCEEDED = 3  # the validity level of a successful call
ELSEWHERE = "elsewhere"  # the form of a reward logged by an external program; its components are terms
COMPONENTS = tuple(one.name for one in fields(Reward) if one.type == "float" and one.name != "total")


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The tokens of a rollout. `env_mask` is 1 for tokens that the model generated; `logprobs` are 0 for others.

    All but `prompt_ids` have one entry per completion token; log-probabilities are the sampler's, in nats. `advantages`
    are those of the update, 0 for a token that is not in the loss; None if they were not recorded.
    """

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    env_mask: Sequence[int]
    logprobs: Sequence[float]
    advantages: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class RolloutRecord:
    """One rollout of a step. `group` counts the step's groups from 1; advantages of an invalid group are None.

    `advantage` is the rollout's advantage in training: that of all its tokens, or, if credit is assigned to the tokens
    at which a group's rollouts diverge (training/token_advantages.py), the sum over its tokens. `seconds` is its
    duration, if the engine measures rollouts separately. `tokens` is None for a rollout of an external program; then
    `model_tokens` is the number of generated tokens, if logged.
    """

    rollout: Rollout
    group: int
    advantage: float | None
    tokens: Tokens | None
    seconds: float | None = None
    model_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The summary of a rollout. `index` counts the rollouts of its step from 1, `place` those of its group.

    `tools` and `levels` have the tool of each call ("" without a name) and its validity level. Reward and components
    are None after a failure outside the policy; components are also None if an external program did not log them.
    Tokens are counts. `terms` are the other terms of the reward. `outcomes` has the outcome of each call
    (environment/outcomes.py); it is empty without a reward, and None for files from before outcomes were stored.
    """

    index: int
    group: int
    place: int
    example: str
    reward: float | None
    components: dict[str, float | None]
    abstention: bool
    advantage: float | None
    end: End
    failed_at: Boundary | None
    tools: tuple[str, ...]
    levels: tuple[int, ...]
    prompt_tokens: int | None = None
    model_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    terms: dict[str, float] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] | None = None

    @property
    def failed_calls(self) -> int:
        return sum(level < SUCCEEDED for level in self.levels)


def summarise(rollouts: Sequence[RolloutRecord]) -> list[Summary]:
    """Return the summaries of a step's rollouts, in order; rollouts of a group are consecutive."""
    found: list[Summary] = []
    for index, one in enumerate(rollouts, 1):
        place = found[-1].place + 1 if found and found[-1].group == one.group else 1
        found.append(summary(one, index, place))
    return found


def summary(one: RolloutRecord, index: int, place: int) -> Summary:
    rollout, tokens, reward = one.rollout, one.tokens, one.rollout.reward
    return Summary(
        index=index,
        group=one.group,
        place=place,
        example=rollout.example,
        reward=reward.total if reward else None,
        components={name: component(reward, name) for name in COMPONENTS},
        abstention=bool(reward and reward.abstention),
        advantage=one.advantage,
        end=rollout.end,
        failed_at=rollout.failed_at,
        tools=tuple(made.call.name for made in rollout.calls),
        levels=tuple(made.level for made in rollout.calls),
        prompt_tokens=len(tokens.prompt_ids) if tokens else None,
        model_tokens=sum(tokens.env_mask) if tokens else one.model_tokens,
        completion_tokens=len(tokens.completion_ids) if tokens else None,
        seconds=one.seconds,
        terms=dict(getattr(reward, "terms", None) or {}),  # terms of a reward form other than the components
        outcomes=outcomes(rollout),
    )


def component(reward: Reward | None, name: str) -> float | None:
    """Return a component of a reward; for an external reward, its term of this name."""
    if reward is None:
        return None
    return reward.terms.get(name) if reward.form == ELSEWHERE else getattr(reward, name)
