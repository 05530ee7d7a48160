"""Generation by vLLM, colocated or as a server, through TRL's own integration. It has not been run here.

Each step is one wave: all rows with a request generate together, and vLLM batches them continuously within the wave.
Its prefix cache avoids reading tokens again. Sampled rollouts are not reproducible: vLLM's sampling depends on its
batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from accelerate.utils import gather_object

from .ngram_draft import LENGTH
from .protocol import GenerationRequest, GenerationResult

Turn = tuple[list[int], list[list[float | None]]]
NO_LOGPROB = "vLLM gave no log-probability for a token; start its server with --logprobs-mode processed_logprobs."


class Generation(Protocol):
    """The part of trl.generation.vllm_generation.VLLMGeneration that is used here."""

    mode: str
    accelerator: Any
    tensor_parallel_size: int
    temperature: float
    max_completion_length: int
    generation_kwargs: dict[str, Any]

    def sync_weights(self) -> None: ...

    def generate(
        self, prompts: list[list[int]], images: None, num_generations: int
    ) -> tuple[Any, list[list[int]], list[list[list[float | None]]] | None, Any]: ...


def speculation(guesses: int) -> dict[str, Any]:
    """Return vLLM's configuration for guessing tokens from the conversation itself (see ngram_draft.py)."""
    return {"method": "ngram", "num_speculative_tokens": guesses, "prompt_lookup_max": LENGTH}


@contextmanager
def enable_speculation(guesses: int) -> Iterator[None]:
    """Let a colocated vLLM that TRL creates in this context guess tokens.

    TRL has no setting for it; a vLLM server is configured when it starts.
    """
    if not guesses:
        yield
        return
    from ...policy.trl_imports import vllm_generation  # takes seconds, which only training should spend

    names = vars(vllm_generation)
    plain = names["LLM"]  # it exists only if vLLM is installed
    names["LLM"] = partial(plain, speculative_config=speculation(guesses))
    try:
        yield
    finally:
        names["LLM"] = plain


class VLLMBackend:
    """A backend on vLLM (see protocol.py). Temperature 0 is greedy.

    With `push`, the weights of the trained model are sent first: TRL does so by itself before a training rollout, also
    before the first one after a resume, and not before an evaluation. A failing server voids the rollouts that were
    requested from it; in a run of several processes, and colocated, its error ends the run.
    """

    trains = True

    def __init__(self, generation: Generation, stop: frozenset[int], temperature: float = 1.0, push: bool = True):
        self.generation, self.stop, self.temperature = generation, stop, temperature
        several = generation.accelerator.num_processes > 1
        self.together = several and (generation.mode == "server" or generation.tensor_parallel_size > 1)
        self.forgiving = generation.mode == "server" and not several
        self.heard: dict[int, list[int]] = {}
        self.pending: dict[int, int] = {}
        if push:
            generation.sync_weights()

    def submit(self, turn: GenerationRequest) -> None:
        self.heard.setdefault(turn.row, []).extend(turn.ids)
        self.pending[turn.row] = turn.most

    def drop(self, row: int) -> None:
        self.heard.pop(row, None)
        self.pending.pop(row, None)

    def step(self) -> list[GenerationResult]:
        if not self.pending:
            return []
        rows, self.pending = self.pending, {}
        try:
            wave = self.generate_completions([self.heard[row] for row in rows], max(rows.values()))
        except Exception as error:
            if not self.forgiving:
                raise
            reason = f"The vLLM server failed: {type(error).__name__}: {str(error)[:200]}"
            return [GenerationResult(row, failed=reason) for row in rows]
        return [self.build_result(row, most, *turn) for (row, most), turn in zip(rows.items(), wave or (), strict=True)]

    def close(self) -> None:
        """End the batch; processes that generate together send empty waves until all are done."""
        while self.together and self.generate_completions([], 1) is not None:
            pass
        self.heard, self.pending = {}, {}

    def generate_completions(self, prompts: list[list[int]], most: int) -> list[Turn] | None:
        """Return one completion of every prompt; None when no process has any left.

        All processes request the same number at the same time, as TRL's collectives need.
        """
        size, longest = len(prompts), most
        if self.together:
            sizes = gather_object([(len(prompts), most)])
            size, longest = (max(numbers) for numbers in zip(*sizes, strict=True))
        if not size:
            return None
        padded = prompts + [[min(self.stop)]] * (size - len(prompts))
        with self.settings(longest):
            _, said, logprobs, _ = self.generation.generate(prompts=padded, images=None, num_generations=1)
        return list(zip(said, logprobs or [[]] * size, strict=True))[: len(prompts)]

    @contextmanager
    def settings(self, most: int) -> Iterator[None]:
        """Apply this backend's settings to TRL's object, and restore those of the run afterwards."""
        one = self.generation
        previous = one.temperature, one.max_completion_length, one.generation_kwargs
        one.temperature, one.max_completion_length = self.temperature, most
        one.generation_kwargs = {**previous[2], "stop_token_ids": sorted(self.stop)}
        try:
            yield
        finally:
            one.temperature, one.max_completion_length, one.generation_kwargs = previous

    def build_result(self, row: int, most: int, ids: list[int], logprobs: list[list[float | None]]) -> GenerationResult:
        """Return the turn, truncated if its own limit is lower than the wave's; its end token stays."""
        ids = list(ids[:most])
        numbers = [found[0] for found in logprobs[: len(ids)] if found and found[0] is not None]
        if not ids or len(numbers) < len(ids):
            return GenerationResult(row, failed=NO_LOGPROB if ids else "vLLM gave no token.")
        self.heard[row].extend(ids)
        return GenerationResult(row, ids, numbers, cut=ids[-1] not in self.stop)
