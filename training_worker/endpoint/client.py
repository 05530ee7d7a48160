"""Chat client: one request to the model within the limits of its settings, answered from the cache when repeated."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Any

import httpx2
from pyrate_limiter import Duration, Limiter, Rate

from ..core.trajectory import Message
from .messages import Reply, as_sent, reply_in
from .response_cache import Answers
from .settings import EndpointFailed, Settings, TooLong, variable

MOST_BYTES = 4_000_000
QUOTED = 200
NO_MORE: Mapping[str, Any] = MappingProxyType({})
LETTERS_PER_TOKEN = 4  # estimate where a server reports no usage
# messages of OpenAI, vLLM, SGLang, llama.cpp and text-generation-inference, with HTTP 400, 413 or 422
TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|longer than the model's context|exceed_context_size"
    r"|`inputs` tokens \+ `max_new_tokens` must be",
    re.IGNORECASE,
)


class Endpoint:
    """A model behind a URL. Thread-safe. Close it, or use it as a context manager.

    Every failure of the endpoint is EndpointFailed. Requests that any process made before are answered from disk.
    """

    def __init__(self, settings: Settings):
        self.settings, self.lock, self.spent, self.requests = settings, Lock(), 0, 0
        self.answers = Answers(settings.cache)
        self.limiter = Limiter(Rate(settings.per_minute, Duration.MINUTE)) if settings.per_minute else None
        http = httpx2.Client(
            timeout=settings.timeout,
            headers={"Accept-Encoding": "identity"},  # so that the bytes counted are the bytes received
            event_hooks={"request": [self.wait], "response": [self.bound]},
        )
        import openai  # takes half a second, so only clients import it

        self.client = openai.OpenAI(
            base_url=settings.url, api_key=settings.key, max_retries=settings.retries, http_client=http
        )

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.client.close()
        self.answers.close()
        if self.limiter:
            self.limiter.close()

    def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        take: int = 0,
        sampling: Mapping[str, Any] = NO_MORE,
    ) -> Reply:
        """Return the model's next message with its calls; `tools` are schemas of `schemas.tool_schema`.

        Calls in assistant messages are in their text (`chat.write_calls`), each followed by its tool message. A call
        may name a tool that was not offered, or be malformed. Each `take` of a request has its own answer, and so does
        each `sampling`: further fields of the request, such as its temperature.
        Raises EndpointFailed.
        """
        request: dict[str, Any] = {
            "model": self.settings.model,
            "messages": list(as_sent(messages)),
            "max_completion_tokens": self.settings.answer,
            **sampling,
        }
        if tools:
            request["tools"] = list(tools)
        identity = json.dumps({"url": self.settings.url, **request, **({"take": take} if take else {})}, sort_keys=True)
        key = hashlib.sha256(identity.encode()).hexdigest()
        body = self.answers.find(key) or self.answers.put(key, self.post(request))
        reply, tokens = self.read(body)
        return replace(reply, tokens=tokens)

    def post(self, request: dict[str, Any]) -> str:
        """Send a request and return the body of its answer, which contains a reply; counts the tokens."""
        settings = self.settings
        if settings.tokens and self.spent >= settings.tokens:
            raise self.build_error(
                f"the budget of {settings.tokens:,} tokens is spent", f"raise {variable('tokens')} to continue"
            )
        with self.translate_errors():
            raw = self.client.chat.completions.with_raw_response.create(**request)
        body = raw.http_response.content.decode("utf-8", "replace")
        tokens = self.read(body)[1] or (len(json.dumps(request)) + len(body)) // LETTERS_PER_TOKEN
        with self.lock:
            self.spent, self.requests = self.spent + tokens, self.requests + 1
        return body

    def read(self, body: str) -> tuple[Reply, int]:
        try:
            return reply_in(body)
        except ValueError:
            raise self.build_error(
                f"its answer is no chat completion: {self.quote_text(body)}",
                f"is {variable('url')} the address of a chat API, up to and including /v1?",
            ) from None

    def wait(self, request: httpx2.Request) -> None:
        """Apply the rate limit before every request, including retries."""
        if self.limiter:
            self.limiter.try_acquire("request")

    def bound(self, response: httpx2.Response) -> None:
        """Bound the size and time of an answer before its body is read."""
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self.build_error(
                "it compresses its answer although asked not to", "ask its operator to turn that off"
            )
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = LimitedStream(response.stream, time.monotonic() + self.settings.timeout, self)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Translate errors of the request into EndpointFailed with a one-line message."""
        import openai

        settings, times = self.settings, f"{self.settings.retries + 1} times"
        try:
            yield
        except openai.APITimeoutError:
            raise self.build_error(
                f"it did not answer within {settings.timeout:g} s, {times}", f"raise {variable('timeout')}"
            ) from None
        except openai.APIConnectionError as error:
            raise self.build_error(
                f"it cannot be reached, tried {times}: {self.quote_text(str(error.__cause__))}", "is it running?"
            ) from None
        except openai.APIStatusError as error:
            said = f"HTTP {error.status_code}: {self.quote_text(error.response.text)}"
            match error.status_code:
                case 400 | 413 | 422 if TOO_LONG.search(error.response.text):
                    raise TooLong(
                        f"the conversation exceeds the context of the model behind {settings.url}: {said}"
                    ) from None
                case 401 | 403:
                    raise self.build_error(f"it refuses the key ({said})", f"set {variable('key')}") from None
                case 429:
                    raise self.build_error(
                        f"it is rate-limiting requests, tried {times} ({said})",
                        f"lower {variable('per_minute')} or {variable('parallel')}, or wait",
                    ) from None
            raise self.build_error(
                f"it answers {said}", f"are {variable('url')} and {variable('model')} right, and is it working?"
            ) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise self.build_error(
                f"the request failed: {self.quote_text(str(error))}", "is its address right?"
            ) from None

    def build_error(self, what: str, remedy: str) -> EndpointFailed:
        return EndpointFailed(
            f"Endpoint {self.settings.url}: {what}; {remedy} "
            f"(its answers so far are stored in {self.settings.cache}, so the same command continues from here)."
        )

    def quote_text(self, text: str) -> str:
        """Return the beginning of an external text in one line, without the key."""
        line = " ".join(text[: 100 * QUOTED].replace(self.settings.key, "[key]").split())
        return "".join(letter for letter in line if letter.isprintable())[:QUOTED] or "nothing"


class LimitedStream(httpx2.SyncByteStream):
    """A response body with limits of size and time."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float, endpoint: Endpoint):
        self.stream, self.deadline, self.endpoint = stream, deadline, endpoint

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise self.endpoint.build_error(
                    f"an answer of more than {MOST_BYTES:,} bytes", f"lower {variable('answer')}"
                )
            if time.monotonic() > self.deadline:
                raise httpx2.ReadTimeout("The answer is too slow.")
            yield chunk

    def close(self) -> None:
        self.stream.close()
