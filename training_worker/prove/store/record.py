"""What is kept of a rollout: itself, what training made of it, and in short what is filtered and charted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from ..outcomes import Outcome, outcomes
from ..trajectory import Boundary, End, Reward, Rollout

SUCCEEDED = 3  # the validity level of a call that did what it was asked
ELSEWHERE = "elsewhere"  # the form of a reward that a program of somebody else gave: its parts are terms, by its names
COMPONENTS = tuple(one.name for one in fields(Reward) if one.type == "float" and one.name != "total")


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """A rollout as the trainer saw it. `env_mask` is 1 where the model spoke; `logprobs` are 0 elsewhere.

    All but `prompt_ids` have one entry per completion token; a log-probability is the sampler's, in nats. `advantages`
    are those of the update, 0 for a token that is not in the loss; None where nobody recorded them.
    """

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    env_mask: Sequence[int]
    logprobs: Sequence[float]
    advantages: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class RolloutRecord:
    """One rollout of a step. `group` counts the step's groups from 1; a void group's advantages are None.

    `advantage` is what the rollout was trained with: of all its tokens alike, or, where credit goes to the tokens at
    which a group's rollouts part (trainer/token_advantages.py), the sum over its tokens.
    `seconds` is how long it took, where the engine tells rollouts apart. `tokens` is None where a program of somebody
    else made it; then `model_tokens` is how many the model wrote, where that was told.
    """

    rollout: Rollout
    group: int
    advantage: float | None
    tokens: Tokens | None
    seconds: float | None = None
    model_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A rollout in short. `index` counts the rollouts of its step from 1, `place` those of its group.

    `tools` and `levels` say of each call its tool ("" where there was no name) and the validity level it reached.
    Reward and components are None where a failure that was not the policy's left none, and components where nobody told
    them; tokens are counts. `terms` is what a reward is made of beside its components. `outcomes` says of each call
    what became of it (outcomes.py); there are none without a reward, and None is of a file from before they were kept.
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
    """The rollouts of a step in short, in their order; those of a group are neighbours."""
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
        terms=dict(getattr(reward, "terms", None) or {}),  # what a form of reward has beside the components
        outcomes=outcomes(rollout),
    )


def component(reward: Reward | None, name: str) -> float | None:
    """One of the five of a reward; of one given elsewhere, the part that it calls so."""
    if reward is None:
        return None
    return reward.terms.get(name) if reward.form == ELSEWHERE else getattr(reward, name)
