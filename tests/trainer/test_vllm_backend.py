"""The requests to vLLM and what becomes of its answers, from a script: vLLM itself does not run here."""

from __future__ import annotations

from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest
from trl.generation import vllm_generation
from trl.generation.vllm_generation import VLLMGeneration

from training_worker.config.grpo import TokenLimits
from training_worker.environment.episode import Attempt
from training_worker.policy.conversation import encode, glue_ids
from training_worker.policy.model_families import family_of
from training_worker.rollout.backends import vllm
from training_worker.rollout.backends.vllm import VLLMBackend
from training_worker.rollout.engine import Engine, Sample
from training_worker.training.eval_config import EvaluationConfig
from training_worker.training.metrics import invalid

from .live import EXAMPLE, LIST, STOP, TOKENIZER, WIDE


class Generation:
    """A double of TRL's vLLM object: it answers from a script and records its requests."""

    def __init__(self, *turns: list[int] | Exception, mode: str = "server", processes: int = 1):
        self.turns, self.mode, self.tensor_parallel_size = iter(turns), mode, 1
        self.accelerator = SimpleNamespace(num_processes=processes)
        self.temperature, self.max_completion_length, self.generation_kwargs = 0.7, 99, {"top_p": 1.0}
        self.pushed, self.requests = 0, list[tuple[list[list[int]], float, int, Any]]()

    def sync_weights(self) -> None:
        self.pushed += 1

    def generate(self, prompts: list[list[int]], images: None, num_generations: int) -> Any:
        settings = self.temperature, self.max_completion_length, self.generation_kwargs
        self.requests.append(([list(prompt) for prompt in prompts], *settings))
        said = []
        for _ in prompts:
            if isinstance(turn := next(self.turns), Exception):
                raise turn
            said.append(turn)
        return prompts, said, [[[-0.5]] * len(turn) for turn in said], None


def speech(text: str) -> list[int]:
    return [*encode(TOKENIZER, text), family_of(TOKENIZER).end]


def waves(generation: Generation, n: int = 1, limits: TokenLimits = WIDE, **more: Any) -> list[Sample]:
    backend = VLLMBackend(generation, family_of(TOKENIZER).stop, 1.0, **more)
    return Engine(backend, TOKENIZER, limits).run([Attempt(EXAMPLE) for _ in range(n)], n)


def test_vllm_gets_the_exact_tokens_of_the_conversation_and_its_settings_are_put_back() -> None:
    generation = Generation(speech(LIST), speech("Done."), speech("Done."))
    [one] = waves(generation, limits=TokenLimits(turn=80, completion=4_000))
    [first, second, _] = generation.requests
    assert first[0] == [one.prompt_ids] and first[1:] == (1.0, 80, {"top_p": 1.0, "stop_token_ids": sorted(STOP)})
    answers = [message for message in one.rollout.transcript if message.role == "tool"]
    assert second[0] == [one.prompt_ids + speech(LIST) + glue_ids(TOKENIZER, answers)]
    assert {logprob for logprob, mine in zip(one.logprobs, one.env_mask, strict=True) if mine} == {-0.5}
    settings = generation.temperature, generation.max_completion_length, generation.generation_kwargs
    assert generation.pushed == 1 and settings == (0.7, 99, {"top_p": 1.0})


def test_an_evaluation_sends_vllm_the_weights_first_and_is_greedy_on_request() -> None:
    generation = Generation(speech(LIST), speech("Done."), speech("Done."))
    how = EvaluationConfig("cuda", 8, TokenLimits(turn=80, completion=4_000))
    [[rollout]] = how.rollouts(None, TOKENIZER, [EXAMPLE], temperature=0.0, vllm=generation)
    assert generation.pushed == 1 and {settings[1] for settings in generation.requests} == {0.0}
    assert [made.call.name for made in rollout.calls] == ["list_accounts"]


def test_a_vllm_turn_longer_than_its_own_limit_is_cut_there() -> None:
    long = encode(TOKENIZER, "and so on " * 40)
    made = waves(Generation(long, speech("Done."), speech("Done.")), 2, TokenLimits(turn=30, completion=4_000))
    assert [one.rollout.end for one in made] == ["tokens", "answered"] and len(made[0].completion_ids) == 30


def test_a_vllm_server_that_fails_voids_its_requests_and_colocated_it_ends_the_run() -> None:
    made = waves(Generation(speech(LIST), speech(LIST), ConnectionError("gone")), 2, push=False)
    assert [one.rollout.failed_at for one in made] == ["infrastructure"] * 2 and invalid(made)
    assert "The vLLM server failed: ConnectionError: gone" in made[0].rollout.error
    with pytest.raises(RuntimeError, match="out of memory"):
        waves(Generation(RuntimeError("out of memory"), mode="colocate"))


def test_trls_vllm_object_has_what_is_used_of_it() -> None:
    settings = signature(VLLMGeneration.__init__).parameters
    assert {*vllm.Generation.__annotations__} <= {*settings} and callable(VLLMGeneration.sync_weights)
    assert list(signature(VLLMGeneration.generate).parameters)[1:4] == ["prompts", "images", "num_generations"]


def test_a_vllm_that_is_made_while_speculating_guesses_and_one_made_later_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vllm_generation, "LLM", dict, raising=False)
    with vllm.enable_speculation(4):
        llm = vllm_generation.LLM(model="small")  # type: ignore[attr-defined]
    assert llm == {"model": "small", "speculative_config": vllm.speculation(4)}
    assert vllm_generation.LLM is dict  # type: ignore[attr-defined]
