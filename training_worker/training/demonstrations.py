"""Demonstrations as a policy would have generated them: token ids, with labels only on the policy's tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast

from ..core.trajectory import Example
from ..environment.episode import Prompt
from ..policy.conversation import EncodedConversation
from .curriculum import Show, encode_full_demonstration
from .packed_sft import Order, Stage

IGNORED = -100  # the label of a token that is not in the loss


@dataclass(frozen=True)
class Demonstrations:
    """The conversations that are short enough, in the order of the examples, and the number of longer ones.

    `examples` holds the ids of the encoded examples.
    """

    encoded: tuple[EncodedConversation, ...]
    too_long: int
    examples: tuple[str, ...]

    def build_training_rows(self) -> list[dict[str, list[int]]]:
        """Return prepared rows for TRL's trainer: `input_ids`, and `labels` that are IGNORED outside policy tokens."""
        return [
            {
                "input_ids": list(one.ids),
                "labels": [id if mine else IGNORED for id, mine in zip(one.ids, one.mask, strict=True)],
            }
            for one in self.encoded
        ]

    def order(self, batch: int, epochs: int, seed: int) -> Iterator[int]:
        """Yield conversation indices in training order: shuffled epochs, like lengths together. Raises ValueError."""
        order = Order(Stage("demonstrations", self.encoded, batch), seed, 0)
        for epoch in range(epochs):
            for members in order.shuffle_epoch(epoch):
                yield from members


def demonstrations(
    tokenizer: PreTrainedTokenizerFast, examples: Sequence[Example], longest: int, show: Show = Prompt
) -> Demonstrations:
    """Return the demonstrations of training examples, imported ones included, of at most `longest` tokens."""
    encoded = [encode_full_demonstration(tokenizer, example, show) for example in examples]
    fitting = [(example.id, one) for example, one in zip(examples, encoded, strict=True) if len(one.ids) <= longest]
    return Demonstrations(tuple(one for _, one in fitting), len(encoded) - len(fitting), tuple(id for id, _ in fitting))
