"""A backend for a model behind an OpenAI-compatible chat endpoint: for evaluation and data, not for training.

It works in texts: there are no token ids and no log-probabilities, and the endpoint's own limit bounds a turn. A
failure of the endpoint does not count as the policy's turn; a malformed tool call does.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Literal

from ...chat.prompt_tools import inline_tools
from ...chat.protocol import HERMES, Format
from ...core.trajectory import Message
from ...endpoint import Endpoint, EndpointFailed
from ...endpoint.messages import Reply
from .protocol import GenerationRequest, GenerationResult

Style = Literal["tools", "prompt"]


class EndpointBackend:
    """A chat endpoint as a backend (see protocol.py).

    The rollouts' format must be `format`, and the caller closes the endpoint. With style "tools" calls travel in the
    API's own fields. With "prompt" the system message describes the tools and calls are parsed from the text, for
    servers without tool support.
    """

    trains = False

    def __init__(self, endpoint: Endpoint, style: Style = "tools", format: Format = HERMES):
        self.endpoint, self.style, self.format = endpoint, style, format
        self.pool = ThreadPoolExecutor(endpoint.settings.parallel)
        self.takes: dict[int, int] = {}
        self.openings: dict[tuple[Message, ...], int] = {}
        self.under_way: dict[Future[GenerationResult], int] = {}

    def submit(self, turn: GenerationRequest) -> None:
        messages = tuple(turn.messages)
        if turn.row not in self.takes:  # the samples of one example are different takes of one request
            self.takes[turn.row] = self.openings.get(messages, 0)
            self.openings[messages] = self.takes[turn.row] + 1
        self.under_way[self.pool.submit(self.request_turn, turn.row, messages, turn.tools)] = turn.row

    def step(self) -> list[GenerationResult]:
        done = wait(self.under_way, return_when=FIRST_COMPLETED).done
        spoken = [one.result() for one in done if self.under_way.pop(one) >= 0]
        return sorted(spoken, key=lambda turn: turn.row)

    def drop(self, row: int) -> None:
        for future in [future for future, owner in self.under_way.items() if owner == row]:
            future.cancel()
            del self.under_way[future]

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    def request_turn(self, row: int, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> GenerationResult:
        try:
            if self.style == "tools":
                reply = self.endpoint.chat(messages, tools, take=self.takes[row])
            else:
                reply = self.endpoint.chat(inline_tools(messages, tools), take=self.takes[row])
        except EndpointFailed as error:
            return GenerationResult(row, failed=str(error))
        return GenerationResult(row, text=self.text_of(reply), cut=not reply.complete)

    def text_of(self, reply: Reply) -> str:
        """Return the text that a policy would have written, with its calls."""
        return "\n".join(part for part in (reply.text, self.format.write(reply.calls) if reply.calls else "") if part)
