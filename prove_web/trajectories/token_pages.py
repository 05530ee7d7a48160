"""Tokens of a trajectory, on request, by a policy's own tokenizer and chat template."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from training_worker.chat.schemas import get_tool_schemas
from training_worker.core.models import SHIPPED, model_folders
from training_worker.core.trajectory import Example, Rollout, dumps

from .demonstration import build_demonstration_rollout
from .replay_score import example_of, rollout_of
from .views.lookup import one_trajectory

WARM = "warm"
PATIENCE = 180.0  # seconds
AT_ONCE = 2  # child processes, each of which takes a second or two of a core and some hundred megabytes
MAX_TOKENS = 20_000  # tokens
free_slots = BoundedSemaphore(AT_ONCE)


class NotSpelled(Exception):
    """Error if there are no tokens to show; the message says why and what to do."""


@dataclass(frozen=True)
class TokenizedTrajectory:
    """`tokens` are pairs of the text and whether the model generates it."""

    tokens: tuple[tuple[str, bool], ...]

    @property
    def spoken_count(self) -> int:
        return sum(mine for _, mine in self.tokens)

    @property
    def visible_tokens(self) -> list[tuple[str, bool]]:
        """The first tokens, with a mark for the end of a line, which is a token like any other."""
        mark = "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}\n"
        return [(text.replace("\n", mark), mine) for text, mine in self.tokens[:MAX_TOKENS]]

    @property
    def more(self) -> int:
        return max(0, len(self.tokens) - MAX_TOKENS)


@in_project(Action.VIEW)
@require_safe
def tokens(request: ProjectRequest, dataset: int, example: str) -> HttpResponse:
    """Return the tokens as a fragment; `?model=` names a model's folder, else the included tokenizer is used."""
    found = one_trajectory(request.project, dataset, example)
    models = model_folders(Path(settings.PROVE_DATA))
    model = request.GET.get("model", WARM)
    context: dict[str, Any] = {"trajectory": found, "model": model, "models": [WARM, *models]}
    made = example_of(found)
    try:
        if made is None:
            raise NotSpelled("The record cannot be read, so it has no tokens to show.")
        folder = models.get(model) or SHIPPED
        context["spelled"] = tokenize_trajectory(
            str(folder), serialize_prompt(made, rollout_of(found) or build_demonstration_rollout(made))
        )
    except NotSpelled as why:
        context["why"] = str(why)
    return render(request, "trajectories/tokens.html", context)


def serialize_prompt(example: Example, rollout: Rollout) -> str:
    """Serialize what a model sees before its first turn, and what follows. Raises NotSpelled if a tool is gone."""
    said = rollout.transcript
    first = next((at for at, one in enumerate(said) if one.role == "assistant"), len(said))
    try:
        tools = get_tool_schemas(example)
    except KeyError as name:
        raise NotSpelled(f"Missing tool: {name}. The prompt cannot be rebuilt.") from None
    opening, rest = ([json.loads(dumps(one)) for one in part] for part in (said[:first], said[first:]))
    return json.dumps({"opening": opening, "rest": rest, "tools": list(tools)})


@lru_cache(maxsize=32)
def tokenize_trajectory(folder: str, question: str) -> TokenizedTrajectory:
    """Tokenize in a child process, because the site itself loads no model library. Raises NotSpelled."""
    command = [sys.executable, "-m", "training_worker.audit.tokenize_cli", folder]
    if not free_slots.acquire(timeout=PATIENCE):
        raise NotSpelled("The tokenizer is busy. Try again in a moment.")
    try:
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, input=question, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise NotSpelled(f"The tokenizer did not finish within {PATIENCE:.0f} seconds.") from None
    finally:
        free_slots.release()
    if done.returncode:
        raise NotSpelled(reason(done.stderr))
    return TokenizedTrajectory(tuple((str(text), bool(mine)) for text, mine in json.loads(done.stdout)))


def reason(text: str) -> str:
    """Return the last line of the child's error output, without names of modules."""
    last = (text.strip().splitlines() or ["The tokenizer failed without a message."])[-1]
    if "No module named" in last:
        return "The trainer packages are not installed, so tokens cannot be shown. Run `make setup`."
    return last.rpartition("Error: ")[2]
