"""An audit holds for every family as it is, and each way to break an assembly fails at its own check."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from training_worker.audit import Assembly, Verdict, audit, audit_folder
from training_worker.audit.__main__ import format_verdict, main
from training_worker.audit.difference import difference
from training_worker.audit.folder import UnreadableModel, tokenizer_of
from training_worker.audit.likelihood import Reader
from training_worker.audit.weights import likelihood
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import Message
from training_worker.policy.conversation import EncodedConversation, encode, encode_demonstration, glue_ids, join
from training_worker.policy.model_families import chat_of

from .families import EVERY, family_model, family_tokenizer

ROOT = Path(__file__).parents[2]
CHECKS = ["calls", "verbatim", "glue", "rendering", "mask", "control", "log-probabilities"]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def failing(verdict: Verdict) -> list[str]:
    return [check.name for check in verdict.checks if not check.ok]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.long
def test_every_family_passes_with_its_weights(name: str, family_folder: Callable[[str], Path]) -> None:
    verdict = audit_folder(family_folder(name))
    assert verdict.ok, format_verdict(verdict)
    assert [check.name for check in verdict.checks] == CHECKS and name.startswith(verdict.family)


def test_the_policy_that_is_shipped_passes() -> None:
    assert failing(audit_folder(SHIPPED)) == []


def test_the_audit_of_a_template_without_an_end_is_ended(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "endless")
    loops = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    (folder / "chat_template.jinja").write_text(loops)
    with pytest.raises(UnreadableModel, match=r"took more than 0\.2 seconds\. Check it for an endless loop"):
        audit_folder(folder, seconds=0.2)


def without_the_newline(tokenizer: PreTrainedTokenizerFast, between: Sequence[Message]) -> list[int]:
    return glue_ids(tokenizer, between)[1:]


def decoded_again(tokenizer: PreTrainedTokenizerFast) -> Callable[..., EncodedConversation]:
    def joined(prompt: Sequence[int], turns: Sequence[tuple[Sequence[int], Sequence[int]]]) -> EncodedConversation:
        return join(prompt, [(glue, encode(tokenizer, tokenizer.decode(said))) for glue, said in turns])

    return joined


def end_not_learned(*args: Any) -> EncodedConversation:
    made = encode_demonstration(*args)
    last = [a > b for a, b in zip(made.mask, [*made.mask[1:], 0], strict=True)]
    return replace(made, mask=tuple(int(m and not end) for m, end in zip(made.mask, last, strict=True)))


def trusting(
    tokenizer: PreTrainedTokenizerFast, opening: Sequence[Message], rest: Sequence[Message], tools: Sequence[Any]
) -> EncodedConversation:
    said = [{"role": one.role, "content": one.content} for one in [*opening, *rest]]
    chat = chat_of(tokenizer)
    text = str(tokenizer.apply_chat_template(said, tools=list(tools) or None, tokenize=False, **chat.options))
    ids = encode(tokenizer, text[: text.rindex(chat.end) + len(chat.end)])
    return EncodedConversation(tuple(ids), encode_demonstration(tokenizer, opening, rest, tools).mask)


def test_a_newline_lost_after_the_end_of_a_turn_is_found_in_the_glue() -> None:
    verdict = audit(family_tokenizer("qwen2.5"), Assembly(glue=without_the_newline))
    assert failing(verdict) == ["glue"]
    detail = next(check.detail for check in verdict.checks if not check.ok)
    assert "the template has ['\\n'] '<|im_start|>' 'user'" in detail
    assert "assembled is     ['<|im_start|>'] 'user' '\\n'" in detail


def test_a_mask_without_the_tokens_that_end_turns_is_found_in_the_mask() -> None:
    verdict = audit(family_tokenizer("granite4"), Assembly(demonstration=end_not_learned))
    assert failing(verdict) == ["mask"] and "'<|end_of_text|>', was said by the policy" in format_verdict(verdict)


def test_turns_that_are_decoded_and_tokenized_again_are_found() -> None:
    tokenizer = family_tokenizer("llama3.1")
    verdict = audit(tokenizer, Assembly(join=decoded_again(tokenizer)))
    assert failing(verdict) == ["verbatim"]


def test_control_tokens_let_through_from_texts_are_found() -> None:
    verdict = audit(family_tokenizer("qwen3-2507"), Assembly(demonstration=trusting))
    assert "control" in failing(verdict) and "control tokens in texts" in format_verdict(verdict)


class Forgetful(Reader):
    """Loses its cache whenever it reads more than one token."""

    def read(self, ids: Sequence[int]) -> None:
        self.cache = None if len(ids) > 1 else self.cache
        super().read(ids)


@pytest.mark.parametrize("name", ["qwen3", "granite4-hybrid", "llama3.2"])
def test_a_sampler_that_forgets_what_it_read_is_found_in_the_log_probabilities(name: str) -> None:
    found = likelihood(family_model(name), family_tokenizer(name), Forgetful)
    assert not found.ok and "when decoded" in found.detail


@pytest.mark.parametrize(("found", "at"), [([1, 2, 9, 4], "3"), ([1, 2], "3"), ([1, 2, 3, 4, 5], "5")])
def test_a_difference_names_its_place(found: list[int], at: str) -> None:
    tokenizer = family_tokenizer("qwen3")
    assert difference(tokenizer, [1, 2, 3, 4], [1, 2, 3, 4]) == ""
    assert difference(tokenizer, [1, 2, 3, 4], found).startswith(f"first difference at token {at}\n")


@pytest.mark.long
def test_a_tokenizer_without_weights_is_audited_alone(tmp_path: Path, family_folder: Callable[[str], Path]) -> None:
    folder = shutil.copytree(family_folder("llama3.1"), tmp_path / "model")
    (folder / "model.safetensors").unlink()
    assert [check.name for check in audit_folder(folder).checks] == CHECKS[:-1]
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    with pytest.raises(UnreadableModel, match="only safetensors are read"):
        audit_folder(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"])
@pytest.mark.long
def test_a_file_cut_short_is_reported_with_a_remedy(
    tmp_path: Path, family_folder: Callable[[str], Path], name: str
) -> None:
    folder = shutil.copytree(family_folder("qwen3"), tmp_path / "model")
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(UnreadableModel, match="copy the whole folder of the model again"):
        audit_folder(folder)


def test_code_in_a_model_folder_is_never_run(tmp_path: Path, family_folder: Callable[[str], Path]) -> None:
    folder = shutil.copytree(family_folder("qwen3"), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModelForCausalLM": "mine.Mine"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(UnreadableModel):
        audit_folder(folder)
    assert not (tmp_path / "ran").exists()


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(UnreadableModel, match="does not exist"):
        tokenizer_of(Path("/nowhere"))


def test_the_verdict_is_printed_as_json(
    tmp_path: Path, family_folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(family_folder("llama3.1")), "--json", "--no-weights"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["family"], report["ok"]) == ("llama3", True)
    assert [check["name"] for check in report["checks"]] == CHECKS[:-1]


def test_the_command_says_what_is_wrong_and_leaves_with_1(tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", "audit_template", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "FAIL model: " in done.stdout and "lacks tokenizer.json" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
