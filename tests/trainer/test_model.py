"""The tiny policy as it begins."""

from __future__ import annotations

from itertools import chain

import torch
from transformers import PreTrainedTokenizerFast

from training_worker.policy.model import Shape, tiny_model


def test_a_fresh_model_finds_the_row_of_a_name_and_what_followed_a_token_before(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """At the prefix of an id, after a name of one or two words and two tokens, heads of layer 1 attend to the name."""
    model = tiny_model(tokenizer, seed=3, shape=Shape(width=192))
    model.config._attn_implementation = "eager"
    draw = torch.Generator().manual_seed(0)
    found = {0: 0, 2: 0, 3: 0}
    for _ in range(20):
        *names, prefix, glue, quote, close, bracket, last = torch.randperm(len(tokenizer), generator=draw)[:18].tolist()
        rows = [[glue, prefix, names[i], names[i + 1], quote, names[i + 2]] for i in range(0, 12, 3)]
        listed = list(chain.from_iterable(rows))
        chosen = int(torch.randint(4, (1,), generator=draw))
        one = [*listed, last, quote, rows[chosen][5], close, bracket, prefix]
        two = [*listed, last, rows[chosen][5], quote, close, bracket, prefix]
        again = [*listed, last, names[0]]
        for head, ids, at in ((2, one, 6 * chosen + 5), (3, two, 6 * chosen + 5), (0, again, 3)):
            attention = model(torch.tensor([ids]), output_attentions=True).attentions[1][0, head, -1]
            found[head] += int(attention[: len(ids) - 6].argmax()) == at
    assert min(found.values()) >= 10, f"{found} of 20, where chance is 1 to 5"


def test_a_word_begins_alike_with_a_space_and_with_a_capital(tokenizer: PreTrainedTokenizerFast) -> None:
    model = tiny_model(tokenizer, seed=3, shape=Shape(width=192))
    vocabulary, embedding = tokenizer.get_vocab(), model.model.embed_tokens.weight[:, 1:]
    bare = [word for word in vocabulary if word.isalpha() and word.islower() and f"Ġ{word}" in vocabulary]
    assert len(bare) >= 10
    plain, spaced = (embedding[[vocabulary[form + word] for word in bare]] for form in ("", "Ġ"))
    likeness = torch.nn.functional.cosine_similarity(plain[:, None], spaced[None], dim=-1)
    assert (likeness.argmax(1) == torch.arange(len(bare))).all() and (likeness.diagonal() < 0.99).all()
