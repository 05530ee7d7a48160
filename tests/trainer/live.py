"""An example on a live banking server, for tests of what drives attempts, and a small tokenizer to drive them with."""

from __future__ import annotations

from mcp_servers.catalogue import fingerprint
from mcp_servers.world import World
from training_worker.chat.protocol import write_calls
from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example, ToolCall, WorldRef
from training_worker.policy.model_families import family_of

from .families import family_tokenizer

TOKENIZER = family_tokenizer("qwen3")
STOP = family_of(TOKENIZER).stop
EXAMPLE = Example(
    id="bank", kind="chain", split="train", world=WorldRef(7, ("banking",)), turns=("List.", "And again."), steps=(),
    edges=(), candidates=("list_accounts", "get_account", "transfer_money"), answers=("Done.", "Done."), digests=(),
    fingerprint=fingerprint(("banking",)),
)  # fmt: skip
LIST = write_calls([ToolCall("list_accounts", {})])
OPENING = World.open(7, ("banking",), "small").digest()
WIDE = TokenLimits(turn=10**9, completion=10**9)
