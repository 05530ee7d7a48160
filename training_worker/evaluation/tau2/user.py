"""Simulated user on any OpenAI-compatible endpoint: the policy's own, or another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...chat.protocol import HERMES, write_calls
from ...core.trajectory import Json, Message
from ...endpoint import Endpoint, EndpointFailed
from ...endpoint.settings import GUIDE, from_environment, variable
from ..protocol import NotRun

TEMPERATURE = 0.0  # tau2's own
TRIES = 4  # attempts to get a usable answer; tau2 retries empty answers as often
KEY = "PROVE_USER_KEY"
MISSING = (
    "tau2-bench needs a model that plays the user: name it with --option user_url=... and --option user_model=..., or "
    f"set {variable('url')} and {variable('model')}; {GUIDE}."
)


def user_endpoint(options: Mapping[str, str], environment: Mapping[str, str], cache: Path) -> Endpoint | None:
    """Return the endpoint that options and variables name, None where they name none. Raises EndpointFailed.

    The key of the variables is sent only to their address; another address has its own key, in PROVE_USER_KEY.
    """
    url, model, key = variable("url"), variable("model"), variable("key")
    given = dict(environment)
    if options["user_url"] not in ("", environment.get(url)):
        given = {**given, url: options["user_url"], key: environment.get(KEY, "")}
    if options["user_model"]:
        given[model] = options["user_model"]
    if not (given.get(url) and given.get(model)):
        return None
    return Endpoint(from_environment(given, cache))


class SimulatedUser:
    """The simulated user of one conversation; each trial of a task has its own seed."""

    def __init__(self, endpoint: Endpoint, trial: int):
        self.endpoint = endpoint
        self.sampling: dict[str, Json] = {"temperature": TEMPERATURE, **({"seed": trial} if trial > 1 else {})}

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        """Return the user's next message. Raises NotRun, since a failure of the user is not the policy's."""
        for take in range(TRIES):
            try:
                answer = self.endpoint.chat(messages, tools, take=take, sampling=self.sampling)
            except EndpointFailed as reason:
                raise NotRun(f"the user's model: {reason}") from None
            # tags in the text would be parsed as calls in addition to the API's own
            words = HERMES.strip_calls(answer.text)
            if (words or answer.calls) and all(call.arguments is not None for call in answer.calls):
                return "\n".join(part for part in (words, write_calls(answer.calls)) if part)
        raise NotRun(
            f"the user's model, {self.endpoint.settings.model}, gave {TRIES} unusable answers in a row (empty, or with "
            "unreadable calls): name a stronger model"
        )
