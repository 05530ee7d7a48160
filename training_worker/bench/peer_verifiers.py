"""verifiers' rollout times, run by its own interpreter: per line on stdin, the seconds of a `StatefulToolEnv` rollout.

They are CPU seconds, in two numbers: with a tool that adds to a number, and with our worlds behind its tool, for the
calls of the conversations in the named file. A stub in place of the OpenAI client determines the calls, without network
and model; each endpoint response is parsed every time, as that client does. A batch has the shape of ours, with all of
its groups at the same time, as in training.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CALLS, GROUP = int(sys.argv[1]), int(sys.argv[2])
TASKS = [json.loads(line) for line in Path(sys.argv[3]).read_text("utf-8").splitlines()]
LIGHT = [("add", {"by": 1})] * CALLS


def make_stub_client(scripts: list[list[tuple[str, dict[str, Any]]]]) -> Any:
    """Return a stand-in for an AsyncOpenAI client that makes the calls of the script which the user message numbers."""
    from openai.types.chat import ChatCompletion

    def body(number: int, script: list[tuple[str, dict[str, Any]]]) -> str:
        message: dict[str, Any] = {"role": "assistant", "content": "" if number < CALLS else "Done."}
        if number < CALLS:
            function = {"name": script[number][0], "arguments": json.dumps(script[number][1])}
            message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
        choice = {"index": 0, "finish_reason": "tool_calls" if number < CALLS else "stop", "message": message}
        response = {"id": "1", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]}
        return json.dumps(response)

    bodies = [[body(number, script) for number in range(CALLS + 1)] for script in scripts]

    async def create(*, messages: list[dict[str, Any]], **rest: Any) -> ChatCompletion:
        done = sum(message["role"] == "tool" for message in messages)
        return ChatCompletion.model_validate_json(bodies[int(messages[0]["content"])][done])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def environment(live: bool) -> Any:
    """Return an environment whose rollouts hold a number, or a world.

    Its rows come from outside, so it builds no dataset.
    """
    import verifiers as vf

    from mcp_servers.world import World

    def add(by: int, held: Any) -> str:
        """Add to the number."""
        held["number"] += by
        return str(held["number"])

    def call(name: str, arguments: str, held: Any) -> str:
        """Call a tool of the world."""
        held["number"] += 1
        return str(held["world"].call(name, arguments).text)

    async def score_call_count(state: Any) -> float:
        return float(state["held"]["number"] == CALLS)

    class BenchmarkToolEnv(vf.StatefulToolEnv):  # type: ignore[misc]
        async def setup_state(self, state: Any) -> None:
            state["held"] = {"number": 0}
            if live:
                where = TASKS[int(state["prompt"][0].content)]["world"]
                state["held"]["world"] = World.open(where["seed"], tuple(where["servers"]), where["size"])

        def update_tool_args(self, name: str, given: dict[str, Any], messages: Any, state: Any, **rest: Any) -> Any:
            return {**given, "held": state["held"]}

    made = BenchmarkToolEnv(dataset=list, rubric=vf.Rubric(funcs=[score_call_count]), max_turns=CALLS + 2)
    for tool in (add, call):
        made.add_tool(tool, args_to_skip=["held"])
    return made


def row(number: int) -> dict[str, Any]:
    """Return a row as in its datasets."""
    return {"example_id": number, "prompt": [{"role": "user", "content": str(number)}], "answer": ""}


def measure(made: Any, rows: list[dict[str, Any]], client: Any) -> float:
    async def batch() -> list[Any]:
        return await asyncio.gather(*(made.run_group([row] * GROUP, client, "stub", {}) for row in rows))

    start = time.process_time()
    outputs = [one for group in asyncio.run(batch()) for one in group]
    spent = time.process_time() - start
    assert all(one["reward"] == 1.0 and not one["error"] for one in outputs), outputs[0]
    return spent / len(outputs)


def main() -> None:
    from verifiers.clients import OpenAIChatCompletionsClient

    calls = [
        [("call", {"name": one["name"], "arguments": json.dumps(one["arguments"])}) for one in task["calls"]]
        for task in TASKS
    ]
    rows = [row(number) for number in range(len(TASKS))]
    kinds = []
    for live, scripts in ((False, [LIGHT] * len(TASKS)), (True, calls)):
        kinds.append((environment(live), rows, OpenAIChatCompletionsClient(make_stub_client(scripts))))
        measure(*kinds[-1])  # builds the worlds
    for _ in sys.stdin:
        print(*(measure(*kind) for kind in kinds), flush=True)


if __name__ == "__main__":
    main()
