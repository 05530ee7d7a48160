"""Server process in BFCL's own interpreter: its entries, executor and checker over JSON lines.

BFCL evaluates calls as Python, so no model text reaches it (calls.py), and the process is also confined.
"""

import ast
import importlib
import importlib.metadata
import inspect
import json
from pathlib import Path

from ...confined.confine import confine
from ...confined.rpc_server import Doing, Parent
from .calls import NOTHING, Call, Json, format_python_call, refusal
from .notation import read_calls

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
HINT = " Note that the provided function is in Python 3 syntax."  # BFCL's text on functions offered from the start
FUNCTIONS = "<functions>"  # placeholder of the functions in the system text; the parent fills it


class Backends:
    """Access to BFCL's modules, which are imported before the process is confined."""

    def __init__(self) -> None:
        import bfcl_eval
        from bfcl_eval.constants import default_prompts, executable_backend_config
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils

        self.data = Path(bfcl_eval.__file__).parent / "data"
        self.prompts, self.executor, self.checker = default_prompts, multi_turn_utils, multi_turn_checker
        self.documents = executable_backend_config.MULTI_TURN_FUNC_DOC_FILE_MAPPING
        self.entries = {row["id"]: row for category in CATEGORIES for row in self.read_category_file(category)}
        truths = [row for category in CATEGORIES for row in self.read_category_file(category, "possible_answer")]
        self.truths = {row["id"]: row["ground_truth"] for row in truths}
        classes = {name for entry in self.entries.values() for name in entry["involved_classes"]}
        modules = executable_backend_config.CLASS_FILE_PATH_MAPPING
        self.classes = {name: getattr(importlib.import_module(modules[name]), name) for name in classes}
        self.functions = {name: self.read(f"multi_turn_func_doc/{self.documents[name]}") for name in classes}

    def read_category_file(self, category: str, folder: str = "") -> list[dict[str, Json]]:
        return self.read(f"{folder}/BFCL_v4_multi_turn_{category}.json".lstrip("/"))

    def read(self, name: str) -> list[dict[str, Json]]:
        return [json.loads(line) for line in (self.data / name).read_text("utf-8").splitlines()]

    def names(self, entry: dict[str, Json]) -> set[str]:
        """Return the functions that an entry documents, with those held out: BFCL runs these before it offers them."""
        return {function["name"] for one in entry["involved_classes"] for function in self.functions[one]}

    def items(self, _: dict[str, Json]) -> Json:
        return {
            "version": importlib.metadata.version("bfcl-eval"),
            "steps": self.prompts.MAXIMUM_STEP_LIMIT,
            "system": self.system(),
            "more_tools": self.prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC,
            "more_prompt": self.prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING.replace(
                "{functions}", FUNCTIONS
            ),
            "functions": self.functions,
            "hint": HINT,
            "entries": [
                self.item(category, row) for category in CATEGORIES for row in self.read_category_file(category)
            ],
        }

    def item(self, category: str, row: dict[str, Json]) -> Json:
        return {
            "id": row["id"],
            "category": category,
            "classes": row["involved_classes"],
            "turns": [[message["content"] for message in turn] for turn in row["question"]],
            "held_out": {int(turn): names for turn, names in row.get("missed_function", {}).items()},
            "truth": [[self.parse_truth_call(row, text) for text in turn] for turn in self.truths[row["id"]]],
        }

    def parse_truth_call(self, entry: dict[str, Json], text: str) -> Call:
        """Parse a ground-truth call; positional arguments get the names of the signature."""
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        owner = next(self.classes[one] for one in entry["involved_classes"] if hasattr(self.classes[one], node.func.id))
        names = list(inspect.signature(getattr(owner, node.func.id)).parameters)[1:]
        given = {name: ast.literal_eval(value) for name, value in zip(names, node.args, strict=False)}
        return node.func.id, given | {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}

    def system(self) -> str:
        """Return BFCL's default system text for models without tool calls (its `formulate_system_prompt`)."""
        style, notation = self.prompts.PROMPT_STYLE_TEMPLATES["classic"], self.prompts.OUTPUT_FORMAT_MAPPING["python"]
        types = self.prompts.PARAM_TYPE_MAPPING["python"]
        return str(
            self.prompts.PROMPT_TEMPLATE_MAPPING["plaintext"].format(
                persona=style["persona"],
                task=style["task"],
                tool_call_format=style["tool_call_no_tag"].format(output_format=notation, param_types=types),
                multiturn_behavior=style["multiturn_behavior"],
                available_tools=style["available_tools"].format(format="json", functions=FUNCTIONS),
            )
        )

    def call(self, request: dict[str, Json]) -> Json:
        """Run the calls of one step in the instances of this run."""
        entry = self.entries[request["id"]]
        texts = [format_python_call(call, self.names(entry)) for call in request["calls"]]
        results, _ = self.executor.execute_multi_turn_func_call(
            [text for text in texts if text != NOTHING],
            entry["initial_config"],
            entry["involved_classes"],
            request["run"],
            entry["id"],
            long_context="long_context" in entry["id"],
        )
        answers = iter(results)
        return [
            {"ran": text != NOTHING, "text": refusal(call) if text == NOTHING else next(answers), "call": text}
            for call, text in zip(request["calls"], texts, strict=True)
        ]

    def check(self, request: dict[str, Json]) -> Json:
        """Return BFCL's verdict on all calls of a conversation, and delete its instances."""
        entry, names = self.entries[request["id"]], self.names(self.entries[request["id"]])
        turns = [[[format_python_call(call, names) for call in step] for step in turn] for turn in request["turns"]]
        truth, category = self.truths[entry["id"]], entry["id"].rsplit("_", 1)[0]
        try:
            verdict = self.checker.multi_turn_checker(turns, truth, entry, category, request["run"])
        finally:
            self.forget(request)
        return {key: verdict.get(key, "") for key in ("valid", "error_type", "error_message")}

    def forget(self, request: dict[str, Json]) -> None:
        """Delete the instances of a run, which BFCL stores in globals of its module."""
        instances = vars(self.executor)
        for name in [name for name in instances if name.startswith(f"{request['run']}_")]:
            del instances[name]


def read(request: dict[str, Json]) -> Json:
    return read_calls(request["text"])


def start() -> Doing:
    backends = Backends()
    confine()
    return {
        **{"items": backends.items, "call": backends.call, "check": backends.check, "forget": backends.forget},
        "read": read,
    }


if __name__ == "__main__":
    Parent().serve(start)
