"""The comparison of log-probabilities from decoding with a cache and from one pass over all tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from ..policy.conversation import glue_ids, join, prompt_ids, turns_of
from ..policy.model_families import family_of
from .conversations import Conversation

TURN = 12  # tokens of a turn that is decoded here
TOLERANCE = 1e-3  # of a log-probability, in float32
Spoken = list[tuple[int, float]]


class Reader:
    """A model with a cache that reads ids one after another and decodes greedily."""

    def __init__(self, model: Any):
        self.model, self.cache, self.logits = model, None, torch.zeros(0)

    def read(self, ids: Sequence[int]) -> None:
        if ids:
            out = self.model(input_ids=torch.tensor([list(ids)]), past_key_values=self.cache, use_cache=True)
            self.cache, self.logits = out.past_key_values, out.logits[0, -1]

    def decode_turn(self, end: int) -> Spoken:
        """Return a turn of at most TURN tokens with their log-probabilities; its last token ends it."""
        said: Spoken = []
        while not said or (said[-1][0] != end and len(said) < TURN):
            logprobs = torch.log_softmax(self.logits.float(), -1)
            token = int(logprobs.argmax()) if len(said) < TURN - 1 else end
            said.append((token, float(logprobs[token])))
            self.read([token])
        return said


@torch.inference_mode()
def find_largest_gap(
    model: Any, tokenizer: PreTrainedTokenizerFast, conversation: Conversation, reader: type[Reader] = Reader
) -> tuple[float, str]:
    """Return the largest gap between the log-probabilities of greedy decoding and of one pass, and where it is."""
    prompt = prompt_ids(tokenizer, conversation.opening, conversation.tools)
    reads, end, turns, said = reader(model), family_of(tokenizer).end, [], list[float]()
    reads.read(prompt)
    for between, _ in turns_of(conversation.rest):
        glue = glue_ids(tokenizer, between) if between else []
        reads.read(glue)
        spoken = reads.decode_turn(end)
        turns.append((glue, [token for token, _ in spoken]))
        said += [logprob for _, logprob in spoken]
    made = join(prompt, turns)
    again = logprobs_of(model, made.ids)
    places = [at for at, mine in enumerate(made.mask) if mine]
    gaps = [abs(again[at - 1] - logprob) for at, logprob in zip(places, said, strict=True)]
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    token = tokenizer.decode([made.ids[places[worst]]])
    detail = (
        f"token {places[worst] + 1}, {token!r}: {said[worst]:.5f} when decoded, "
        f"{again[places[worst] - 1]:.5f} in one pass"
    )
    return gaps[worst], detail


def logprobs_of(model: Any, ids: Sequence[int]) -> list[float]:
    """Return the log-probability of every token but the first, from one pass."""
    given = torch.tensor([list(ids)])
    logprobs = torch.log_softmax(model(input_ids=given, use_cache=False).logits[0, :-1].float(), -1)
    found: list[float] = logprobs.gather(1, given[0, 1:, None])[:, 0].tolist()
    return found
