"""A chat endpoint over a real socket, whose answers a test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from training_worker.endpoint import Settings

MODEL = "scripted"
RequestBody = dict[str, Any]
Answering = Callable[[RequestBody], "Response | dict[str, Any] | str"]


@dataclass
class Served:
    """An address, the function that answers there, and the body and headers of every request so far."""

    url: str
    answering: Answering
    requests: list[RequestBody] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def settings(self, cache: Path, **more: Any) -> Settings:
        return Settings(**{"url": self.url, "model": MODEL, "cache": cache, "retries": 0, "timeout": 20.0, **more})


class Server:
    """One HTTP server for a full test run; each use of it is a `Served` of its own."""

    def __init__(self) -> None:
        app = Starlette(routes=[Route("/v1/chat/completions", self.answer, methods=["POST"])])
        config = uvicorn.Config(app, port=0, log_level="critical", lifespan="off", ws="none")
        self.server, self.socket = uvicorn.Server(config), config.bind_socket()
        self.thread = Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        self.present: Served | None = None

    def serve(self, answering: Answering) -> Served:
        """Answer each further request with what this function returns: a text, a message, or any response."""
        self.present = Served(f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1", answering)
        return self.present

    async def answer(self, request: Request) -> Response:
        assert self.present
        body = json.loads(await request.body())
        self.present.requests.append(body)
        self.present.headers.append(dict(request.headers))
        return as_response(self.present.answering(body))

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()
        self.socket.close()


def as_response(answer: Response | dict[str, Any] | str) -> Response:
    if isinstance(answer, Response):
        return answer
    message = {"content": answer} if isinstance(answer, str) else answer
    return JSONResponse(completion(message))


def completion(message: dict[str, Any], finish: str = "stop", tokens: int = 10) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": tokens}}


def rewriting(body: RequestBody) -> str:
    """Return the answer of a well-behaved model to a request for a text: the same text in slightly other words."""
    text = body["messages"][1]["content"].split("Draft: ")[1]
    return json.dumps({"text": f"Well, listen: {text}"}, ensure_ascii=False)


Serve = Callable[[Answering], Served]
