"""Layout of a group's call tree: consecutive calls without a fork form one branch with its rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from training_worker.core.trajectory import Rollout, ToolCall
from training_worker.environment.outcomes import outcomes
from training_worker.environment.prefix_tree import Divergence, Node, canonical

from .groups import EQUAL, Group, Member

SHORT = 90  # characters of arguments shown next to a call; the comparison shows them in full


@dataclass(frozen=True)
class TreeCall:
    """A call of a branch; `words` are the non-success outcomes that it had in some rollouts."""

    node: int
    position: int
    tool: str
    arguments: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """Consecutive calls that the same rollouts made, and the branches that follow.

    `fork` is the node of the last call. `first` says whether winners and losers first separate right after it, and
    `most` whether no other fork explains more of the reward variance; `share` is the share of the reward variance that
    the branch taken here explains, or None. `stops` are the rollouts that made no further call, `of` is the group size
    and `centre` the group mean.
    """

    calls: tuple[TreeCall, ...]
    members: tuple[Member, ...]
    stops: tuple[Member, ...]
    ways: tuple[Branch, ...]
    of: int
    centre: float | None
    fork: int
    first: bool = False
    most: bool = False
    share: float | None = None

    @property
    def rewards(self) -> list[float]:
        return [member.reward for member in self.members if member.reward is not None]

    @property
    def mean(self) -> float | None:
        return fmean(self.rewards) if self.rewards else None

    @property
    def tone(self) -> str:
        return tone(self.mean, self.centre)

    @property
    def stop_mean(self) -> float | None:
        rewards = [member.reward for member in self.stops if member.reward is not None]
        return fmean(rewards) if rewards else None

    @property
    def stop_tone(self) -> str:
        return tone(self.stop_mean, self.centre)

    @property
    def leaf(self) -> bool:
        return not self.ways

    @property
    def part(self) -> float:
        return len(self.members) / self.of if self.of else 0.0


def tone(mean: float | None, centre: float | None) -> str:
    """Return whether rollouts score above their group's mean ("good"), below it ("bad") or equal to it ("even")."""
    if mean is None or centre is None or abs(mean - centre) <= EQUAL:
        return "even"
    return "good" if mean > centre else "bad"


def build_tree_layout(
    root: Node, rollouts: Sequence[Rollout], group: Group, found: Sequence[Divergence], *, arguments: bool = True
) -> Branch:
    """Return the layout of the whole tree; `found` are its forks in order."""
    shares = {one.node.number: one.share for one in found}
    first = found[0].node.number if found else None
    most = max(shares, key=lambda number: (shares[number], -number)) if shares else None
    words = [outcomes(rollout) for rollout in rollouts]
    centre = group.mean if group.rewards else None

    def branch(node: Node) -> Branch:
        chain = [node]
        while len(chain[-1].ways) == 1 and chain[-1].children:
            chain.append(chain[-1].children[0])
        end = chain[-1]
        return Branch(
            calls=tuple(call_of(each, words, arguments=arguments) for each in chain if each.call),
            members=tuple(group.members[at] for at in node.through),
            stops=tuple(group.members[at] for at in end.ending),
            ways=tuple(map(branch, by_mean(end, group))),
            of=len(group.members),
            centre=centre,
            fork=end.number,
            first=end.number == first,
            most=end.number == most,
            share=shares.get(end.number),
        )

    return branch(root)


def by_mean(node: Node, group: Group) -> list[Node]:
    """Return the node's children, highest mean reward first and unscored ones last."""

    def compute_mean_reward(child: Node) -> float:
        rewards = [reward for at in child.through if (reward := group.members[at].reward) is not None]
        return fmean(rewards) if rewards else float("-inf")

    return sorted(node.children, key=lambda child: (-compute_mean_reward(child), child.number))


def call_of(node: Node, words: Sequence[Sequence[str]], *, arguments: bool) -> TreeCall:
    assert node.call is not None
    here = [words[at][node.depth - 1] for at in node.through if len(words[at]) >= node.depth]
    wrong = [word for word in here if word != "succeeded"]
    return TreeCall(
        node=node.number,
        position=node.depth,
        tool=node.call.name,
        arguments=shorten_arguments(node.call) if arguments else "",
        words=tuple(dict.fromkeys(wrong)),
    )


def shorten_arguments(call: ToolCall) -> str:
    """Return the arguments as `key: value`, cut to the space next to a call."""
    if call.arguments is None:
        return "could not be parsed"
    text = canonical(call.arguments)[1:-1]
    return text if len(text) <= SHORT else f"{text[:SHORT]} …"
