"""The choice of the backend that generates for a model."""

from __future__ import annotations

from typing import Literal

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ...policy.forward import Readable
from ...policy.model_families import family_of
from . import decoder
from .decoder import DecoderBackend
from .protocol import Backend, NoBackend
from .transformers import TransformersBackend
from .vllm import Generation, VLLMBackend

Name = Literal["auto", "decoder", "transformers", "vllm"]


def backend_for(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    name: Name = "auto",
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    rows: int = 64,
    guesses: int = 0,
    vllm: Generation | None = None,
) -> Backend:
    """Return a fresh backend for one batch, on the model's device. Raises NoBackend.

    "auto" is our decoder where it can run the model (see backends/decoder.py), else transformers. `rows` and `guesses`
    are for transformers (see there), `vllm` is TRL's generation object.
    """
    stop = family_of(tokenizer).stop
    why = decoder.explain_incompatibility(model)
    if name == "vllm":
        if vllm is None:
            raise NoBackend("vLLM is not available here: only a training run with use_vllm provides it.")
        return VLLMBackend(vllm, stop, temperature)
    if name == "decoder" and why:
        raise NoBackend(f"The decoder cannot run this model: {why}. Use the backend transformers.")
    if name != "transformers" and isinstance(model, Readable) and not why:
        return DecoderBackend(model, stop, temperature, generator)
    return TransformersBackend(model, stop, temperature, generator, rows=rows, guesses=guesses)
