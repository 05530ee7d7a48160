"""Files in the shape of T-Eval's, which its evaluators read; the prompts are made here and are no data of T-Eval."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROMPT = [{"role": "system", "content": "You have access to the API below."}, {"role": "user", "content": "Go on."}]
AFTER = [*PROMPT, {"role": "assistant", "content": "FilmDouban.search"}, {"role": "function", "content": "Up, 2009"}]
APIS = ["FilmDouban.search", "FilmDouban.search_all", "FileOperation.write", "FinishAction"]
KEYS = {"thought": "goal", "action": "name", "args": "args"}
MARKS = {
    "thought_start": "goal:",
    "thought_end": "\n",
    "action_start": "name:",
    "action_end": "\n",
    "args_start": "args:",
    "args_end": "",
}
CALL = {"action": "FilmDouban.search", "args": {"film": 'It\'s "Up"', "year": 2009}}
PLAN = [
    {"id": 0, "prev": [], "name": "FilmDouban.search", "args": {"film": "Up"}},
    {"id": 1, "prev": [], "name": "FilmDouban.search", "args": {"film": "Up"}},
    {"id": 2, "prev": [0, 1], "name": "FileOperation.write", "args": {"text": "Up. It is good", "end": None}},
    {"id": 3, "prev": [2], "name": "FinishAction", "args": {}},
]
STEP = {"thought": "I look for the film first.", "name": "FilmDouban.search", "args": {"film": "Up", "year": 2009}}
LAST = {"thought": "All is done.", "name": "FinishAction", "args": {}}


def entry(truth: object, prompt: list[dict[str, str]] = PROMPT, **more: object) -> dict[str, Any]:
    return {"origin_prompt": prompt, "ground_truth": truth, **more}


def asks(format: str) -> dict[str, str]:
    return {"response_format": format}


FILES: dict[str, dict[str, dict[str, Any]]] = {
    "instruct_v2.json": {
        "query_1": entry(CALL, template=KEYS, meta_data=asks("json")),
        "query_2": entry(CALL, template=MARKS, meta_data=asks("string")),
        "query_3": entry({"action": "Clock.now", "args": {}}, template=KEYS, meta_data=asks("json")),
    },
    "plan_json_v2.json": {
        "query_1": entry(PLAN, meta={"API_list": APIS}),
        "query_2": entry(json.dumps(PLAN[:1]), meta={"API_list": APIS}),
    },
    "plan_str_v2.json": {"query_1": entry(PLAN, meta={"API_list": APIS})},
    "reason_retrieve_understand_json_v2.json": {
        "query_1#1": entry(STEP, AFTER, meta_data=asks("json")),
        "query_2": entry(json.dumps(LAST), AFTER, meta_data=asks("json")),
    },
    "reason_str_v2.json": {"query_1": entry(STEP, AFTER, meta_data=asks("str"))},
    "retrieve_str_v2.json": {
        "query_1": entry(STEP, AFTER, meta_data=asks("str")),
        "query_2": entry(LAST, AFTER, meta_data=asks("str")),
    },
    "understand_str_v2.json": {"query_1": entry({"args": "team@example.com"}, meta_data=asks("str"))},
    "review_str_v2.json": {
        "query_1": entry({"answer": "B", "thought": "It failed."}, AFTER, template={}, meta_data=asks("str"))
    },
}
NOT_EMBEDDED = ("instruct_v2.json", "retrieve_str_v2.json", "understand_str_v2.json", "review_str_v2.json")


def written(folder: Path, names: Iterable[str] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(json.dumps(FILES[name]), "utf-8")
    return folder
