"""Launching a run: sensible defaults, clear messages for nonsense, and nothing stored unless it is launched."""

import ast
import json
import shlex
from collections.abc import Callable
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.defaults import CORES, DEFAULTS, GRPO, SFT, START
from prove_web.experiments.form_fields import TIMES, format_config_value
from prove_web.experiments.form_layout import SECTIONS
from prove_web.experiments.forms import RunForm, belongs
from prove_web.experiments.models import Run
from prove_web.experiments.run_launch import find_default_dataset
from prove_web.live import message_broker
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset
from training_worker.config.grpo import GRPORun
from training_worker.config.sft import SupervisedRun

from .api_operations import with_token
from .examples import chain, dataset_of
from .trained import keep_checkpoint, run_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

SignIn = Callable[[User], Client]


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.fixture
def alices(alice: User, as_user: SignIn) -> Client:
    return as_user(alice)


def page(project: Project) -> str:
    return reverse("run-new", args=project.path)


def filled(dataset: Dataset, **other: Any) -> dict[str, Any]:
    return {"name": "A run", "dataset": dataset.pk, **DEFAULTS} | other


def test_a_launched_run_is_in_the_queue_with_the_next_number(
    project: Project, dataset: Dataset, alice: User, alices: Client
) -> None:
    run_of(project)
    answer = alices.post(page(project), filled(dataset, group=16, learning_rate="1e-4"))
    run = Run.objects.get(project=project, number=2)
    assert answer.status_code == 302
    assert answer.url == reverse("run", args=[*project.path, 2])
    assert run.job.spec == run.config
    assert run.config == {
        **DEFAULTS,
        "dataset": str(dataset.job_id),
        "policy": "warm",
        "group": 16,
        "learning_rate": 1e-4,
    }
    assert (run.name, run.dataset, run.job.kind, run.job.title) == ("A run", dataset, Kind.RUN, "A run")
    assert (run.job.state, run.job.created_by) == (State.QUEUED, alice)
    assert message_broker.broker().llen("training") == 1


def test_the_worker_gets_only_settings_that_it_knows(project: Project, dataset: Dataset, alices: Client) -> None:
    from training_worker.jobs.settings import GIVEN, OWN

    alices.post(page(project), filled(dataset))
    known = OWN | {one.name for one in fields(GRPORun)} - GIVEN
    assert set(Job.objects.get(kind=Kind.RUN).spec) <= known


def test_both_kinds_of_run_have_the_same_defaults_for_the_settings_that_they_share() -> None:
    shared = ({*GRPO} & {*SFT}) - {"max_steps", "checkpoint_every"}
    assert {name: GRPO[name] for name in shared} == {name: SFT[name] for name in shared} and len(shared) > 10


def test_every_setting_has_a_line_of_help_and_one_place() -> None:
    assert {name for name, field in RunForm.base_fields.items() if not field.help_text} == set()
    placed = [name for section in SECTIONS for name in section.names]
    assert sorted(placed) == sorted({*RunForm.base_fields} - {"recipe"})
    assert set(START) <= set(placed)


@pytest.mark.parametrize(
    ("name", "nonsense", "said"),
    [
        ("name", "  ", "This field is required."),
        ("name", "x" * 81, "at most 80 characters"),
        ("name", "a\x00b", "Null characters are not allowed."),
        ("minutes", "0", "greater than or equal to 0.1"),
        ("minutes", "100001", "less than or equal to 100000"),
        ("minutes", "soon", "Enter a number."),
        ("minutes", "nan", "Enter a number."),
        ("minutes", "inf", "Enter a number."),
        ("max_steps", "0", "greater than or equal to 1"),
        ("max_steps", "1.5", "Enter a whole number."),
        ("max_steps", "9" * 50, "less than or equal to 100000"),
        ("learning_rate", "0.2", "less than or equal to 0.1"),
        ("learning_rate", "-1", "greater than or equal to 1e-08"),
        ("prompts", "65", "less than or equal to 64"),
        ("group", "1", "greater than or equal to 2"),
        ("temperature", "0", "greater than or equal to 0.1"),
        ("beta", "2", "less than or equal to 1"),
        ("seed", "20", "less than or equal to 19"),
        ("threads", str(CORES + 1), f"less than or equal to {CORES}"),
        ("evaluate_every", "", "This field is required."),
        ("clip_high", "0.1", "Clip range high (0.1) must be at least clip range low (0.2)."),
        ("sharding", "zero3", "ZeRO-3 shards weights across processes: set Processes to 2 or more."),
        ("processes", "3", "8 prompts per step are not divisible by 3 processes."),
        ("micro_batch", "7", "The 64 rollouts per process are not divisible by the micro-batch size 7."),
        ("lora_alpha", "64", "requires a LoRA rank above 0"),
        ("vllm_mode", "server", "requires the vLLM generation backend"),
        ("limit_turn", "2000", "Max tokens per turn (2000) must not exceed max tokens per rollout (1024)."),
        ("loss", "ppo", "Select a valid choice"),
        ("kind", "dpo", "Select a valid choice"),
        ("policy", "/etc/passwd", "There is no policy"),
        ("reward_preset", "mine", "Select a valid choice"),
        ("reward_validity", "-1", "greater than or equal to 0"),
        ("dataset", "999999", "Select a valid choice"),
        ("dataset", "<script>", "Select a valid choice"),
    ],
)
def test_nonsense_is_named_and_what_was_typed_stays(
    name: str, nonsense: str, said: str, project: Project, dataset: Dataset, alices: Client
) -> None:
    answer = alices.post(page(project), filled(dataset) | {"temperature": "0.75", name: nonsense})
    text = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert said in text
    assert 'value="0.75"' in text or name == "temperature"
    assert f'id="id_{name}_error"' in text
    assert not Run.objects.exists() and not Job.objects.filter(kind=Kind.RUN).exists()


def test_only_finished_data_sets_of_the_project_can_be_chosen(
    project: Project, dataset: Dataset, charlie: User, alices: Client
) -> None:
    theirs = dataset_of(Project.objects.get(organisation__slug="other"), name="Theirs")
    unfinished = dataset_of(project, state=State.RUNNING, name="Unfinished")
    text = alices.get(page(project)).content.decode()
    assert dataset.name in text and "Theirs" not in text and "Unfinished" not in text
    for wrong in (theirs, unfinished):
        assert alices.post(page(project), filled(wrong)).status_code == 422


def test_without_a_finished_data_set_the_page_says_so(project: Project, alices: Client) -> None:
    text = alices.get(page(project)).content.decode()
    assert "No finished datasets" in text and "<form class=" not in text


def test_a_clone_begins_with_the_settings_of_the_other_run(project: Project, dataset: Dataset, alices: Client) -> None:
    run_of(project, name="Careful", config={**DEFAULTS, "beta": 0.01, "group": 4, "policy": "warm"})
    text = alices.get(f"{page(project)}?clone=1").content.decode()
    assert 'value="Careful (copy)"' in text and 'value="0.01"' in text and 'value="4"' in text


@pytest.mark.parametrize("query", ["clone=99", "clone=x", "clone=" + "9" * 40, "dataset=²", "dataset=99"])
def test_an_address_that_names_nothing_begins_with_the_defaults(
    query: str, project: Project, dataset: Dataset, alices: Client
) -> None:
    answer = alices.get(f"{page(project)}?{query}")
    assert answer.status_code == 200 and 'value="Run 1"' in answer.content.decode()


def test_who_may_not_launch_sees_neither_form_nor_button(
    project: Project, dataset: Dataset, bob: User, as_user: SignIn
) -> None:
    bobs = as_user(bob)
    assert bobs.get(page(project)).status_code == 403
    assert bobs.post(page(project), filled(dataset)).status_code == 403
    assert "Launch a run" not in bobs.get(reverse("runs", args=project.path)).content.decode()
    assert not Run.objects.exists()


def config_of(project: Project, client: Client, dataset: Dataset, **other: Any) -> dict[str, Any]:
    """Launch a run and return what its config holds beyond the settings of every run."""
    answer = client.post(page(project), filled(dataset, **other))
    assert answer.status_code == 302, answer.context["form"].errors
    run = Run.objects.order_by("number").last()
    return {name: value for name, value in run.config.items() if name not in {*DEFAULTS, "dataset", "policy"}}


def test_the_worker_gets_only_settings_that_are_not_the_usual_ones(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    usual = {name: format_config_value(value) for name, value in START.items()}
    assert config_of(project, alices, dataset, **usual) == {}
    switched = {"loss": "dr_grpo", "mask_truncated": "no", "clip_high": "0.3", "patience": "3", "limit_turn": "80"}
    assert config_of(project, alices, dataset, **usual | switched) == {
        "loss": "dr_grpo",
        "mask_truncated": False,
        "clip_high": 0.3,
        "patience": 3,
        "limits": {"turn": 80, "completion": 1024, "observation": 0},
    }


@pytest.mark.parametrize(
    ("together", "field", "said"),
    [
        (
            {"sharding": "fsdp", "processes": 2},
            "sharding",
            "FSDP requires the vLLM generation backend.",
        ),
        ({"normalise": "components", "scale_rewards": "group"}, "scale_rewards", "already scales the rewards"),
        ({"patience": 3, "evaluate_every": 0}, "patience", "requires held-out evaluations"),
        ({"patience": 3, "held_out": 0, "kind": "sft"}, "patience", "requires held-out evaluations"),
        ({"backend": "vllm", "device": "cpu"}, "backend", "vLLM requires a GPU."),
    ],
)
def test_what_does_not_go_together_is_reported_at_the_field_to_change(
    together: dict[str, Any], field: str, said: str, project: Project, dataset: Dataset, alices: Client
) -> None:
    answer = alices.post(page(project), filled(dataset, **together))
    assert [*answer.context["form"].errors] == [field] and said in answer.context["form"].errors[field][0]


def test_a_reward_is_sent_by_what_differs_from_the_papers(project: Project, dataset: Dataset, alices: Client) -> None:
    own = {"reward_preset": "own", "reward_beta": "0", "reward_provenance": "0.1", "reward_tau_end": ""}
    assert config_of(project, alices, dataset, reward_preset="no_name", reward_name="0.9") == {"reward": {"name": 0.0}}
    assert config_of(project, alices, dataset, **own) == {"reward": {"beta": 0.0, "provenance": 0.1}}
    nothing = {f"reward_{name}": 0 for name in ("validity", "coverage", "name", "arguments")}
    answer = alices.post(page(project), filled(dataset, reward_preset="own", **nothing))
    assert "Every reward is 0" in answer.content.decode()


def test_a_supervised_run_is_a_job_of_its_own_kind(project: Project, dataset: Dataset, alices: Client) -> None:
    alices.post(page(project), filled(dataset, kind="sft", epochs=2, group="nonsense", sharding="zero3"))
    run = Run.objects.get(project=project)
    known = {**{name: DEFAULTS[name] for name in DEFAULTS if belongs(name, "sft")}, "epochs": 2, "batch": 8}
    assert run.config == {**known, "dataset": str(dataset.job_id), "policy": "warm"}
    assert (run.kind, run.job.kind, run.job.queue) == ("sft", Kind.SFT, "training")


def test_a_supervised_worker_gets_only_settings_that_it_knows(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    from training_worker.jobs.settings import GIVEN, OWN

    every = {"decay": 0, "warmup_steps": 9, "precision": "bf16", "gradient_checkpointing": "yes", "longest": 100}
    alices.post(page(project), filled(dataset, kind="sft", patience=2, **every))
    known = OWN | {one.name for one in fields(SupervisedRun)} - GIVEN
    assert {*every, "patience"} <= set(Job.objects.get(kind=Kind.SFT).spec) <= known


def test_conversations_that_cannot_be_run_are_for_supervised_runs_alone(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    trajectory = row(dataset, chain())
    trajectory.record["source"] = "chats"
    trajectory.save()
    text = unescape(alices.post(page(project), filled(dataset)).content.decode())
    assert "imported conversations whose calls cannot be run here" in text
    assert alices.post(page(project), filled(dataset, kind="sft")).status_code == 302


def test_filling_a_recipe_in_launches_nothing_and_keeps_what_it_does_not_set(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    mine = {"name": "Mine", "temperature": "0.7", "prompts": "nonsense", "fill": "recipe", "recipe": "paper"}
    answer = alices.post(page(project), filled(dataset) | mine)
    form = answer.context["form"]
    rendered = {name: form[name].value() for name in form.fields}
    assert answer.status_code == 200 and not Run.objects.exists()
    assert (rendered["name"], rendered["temperature"]) == ("Mine", "0.7")
    paper = {"prompts": "16", "group": "16", "beta": "0.01", "learning_rate": "1e-06", "longest_prompt": "12384"}
    assert {name: rendered[name] for name in paper} == paper
    assert (
        f"16 prompts {TIMES} 16 rollouts = 256 rollouts per step; max 350 steps = 89,600 rollouts."
        in answer.context["forecast"]
    )
    assert alices.post(page(project), {**rendered, "dataset": dataset.pk, "reward_tau_end": ""}).status_code == 302
    tiny = alices.post(page(project), filled(dataset) | {**mine, "recipe": "tiny"}).context["form"]
    assert {n: tiny[n].value() for n in ("prompts", "clip_high", "decay")} == {
        "prompts": "8",
        "clip_high": "0.28",
        "decay": "0.3",
    }


def test_a_run_like_that_of_the_proof_is_launched_by_its_recipe(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    filled_in = alices.post(page(project), filled(dataset) | {"fill": "recipe", "recipe": "final_norm"}).context["form"]
    changed = {"credit": "rollout", "trainable": "final_norm"}
    typed = {name: filled_in[name].value() for name in ("learning_rate", *changed)}
    assert config_of(project, alices, dataset, **typed) == changed
    assert Run.objects.get(project=project).config["learning_rate"] == 0.06
    answer = alices.post(page(project), filled(dataset, **typed, lora_rank="8"))
    assert "LoRA trains its adapters" in answer.context["form"].errors["trainable"][0]


def test_the_paper_recipe_is_a_supervised_one_for_a_supervised_run(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    recipe = {"kind": "sft", "fill": "recipe", "recipe": "paper"}
    form = alices.post(page(project), filled(dataset) | recipe).context["form"]
    assert (form["epochs"].value(), form["learning_rate"].value(), form["batch"].value()) == ("3", "1e-05", "16")


@pytest.mark.parametrize("fill", ["look", "recipe", "nonsense"])
def test_looking_gives_back_what_was_typed(fill: str, project: Project, dataset: Dataset, alices: Client) -> None:
    answer = alices.post(page(project), {"fill": fill, "prompts": "<x>", "recipe": "unknown", "dataset": "²"})
    assert answer.status_code == 200 and 'value="&lt;x&gt;"' in answer.content.decode()
    assert answer.context["forecast"] == "" and not Run.objects.exists()


def test_a_run_starts_from_a_model_or_from_what_another_run_left(
    project: Project, dataset: Dataset, alices: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    before = run_of(project, name="Before", dataset=dataset)
    keep_checkpoint(before, 20)
    for folder in (
        before.job.out / "policy",
        before.job.out / "checkpoints" / "checkpoint-20",
        tmp_path / "models" / "q",
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text("{}")
        (folder / "card.json").write_text("{}")
    (tmp_path / "models" / "leads-out").symlink_to("/etc")
    offered = dict(RunForm(project).fields["policy"].choices)
    assert offered["Models"] == [("q", "q")]
    name = f"run:{before.job_id}"
    assert offered["Trained in this project"] == [
        (name, "Run 1, Before"),
        (f"{name}/checkpoint-20", "Run 1, Before: checkpoint of step 20"),
    ]
    alices.post(page(project), filled(dataset, policy=f"{name}/checkpoint-20"))
    run = Run.objects.get(number=2)
    assert run.config["policy"] == f"{name}/checkpoint-20"
    assert "run 1, checkpoint-20" in alices.get(run.get_absolute_url()).content.decode()
    assert f'value="{name}/checkpoint-20" selected' in alices.get(f"{page(project)}?clone=2").content.decode()


def test_what_a_run_of_another_project_left_is_neither_offered_nor_taken(
    project: Project, dataset: Dataset, alices: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    elsewhere = Project.objects.create(organisation=project.organisation, name="Elsewhere", slug="elsewhere")
    secret = run_of(elsewhere, name="Secret run")
    (secret.job.out / "policy").mkdir(parents=True)
    for name in ("config.json", "card.json"):
        (secret.job.out / "policy" / name).write_text("{}")
    assert dict(RunForm(elsewhere).fields["policy"].choices)["Trained in this project"]
    for other in ({"policy": f"run:{secret.job_id}"}, {"dataset": secret.dataset_id}):
        answer = alices.post(page(project), {**filled(dataset), **other})
        assert answer.status_code == 422 and "Secret run" not in answer.content.decode()
    varied = {"sweep-field_1": "policy", "sweep-values_1": f"warm, run:{secret.job_id}"}
    sweep = {"sweep-name": "S", "sweep-method": "grid", "sweep-budget": 2, "sweep-seed": 0}
    answer = alices.post(reverse("sweep-new", args=project.path), filled(dataset, **varied, **sweep))
    assert answer.status_code == 422 and "Secret run" not in answer.content.decode()
    assert not Run.objects.filter(project=project).exists()


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        (
            {"family": "qwen3", "checks": [{"name": "glue", "ok": True, "detail": ""}]},
            "has passed its audit: family qwen3, 1",
        ),
        ({"family": "llama", "checks": [{"name": "glue", "ok": False, "detail": "<b>"}]}, "failed its audit as llama"),
        ({"family": "llama", "checks": []}, "failed its audit as llama"),
        ({"checks": "x"}, "Its audit.json cannot be read."),
        (None, "Its chat template has not been audited."),
    ],
)
def test_the_verdict_on_a_models_chat_template_is_displayed(
    audit: Any, said: str, project: Project, dataset: Dataset, alices: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.PROVE_DATA = tmp_path
    model = tmp_path / "models" / "q"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    if audit:
        (model / "audit.json").write_text(json.dumps(audit))
    text = unescape(alices.post(page(project), filled(dataset, policy="q", fill="look")).content.decode())
    assert said in text and ("<b>" not in text or audit["checks"][0]["detail"] == "<b>")
    assert "chat template" not in alices.post(page(project), filled(dataset, fill="look")).content.decode()


def test_a_clone_of_a_run_with_switches_is_launched_as_the_same_run(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    for other in (
        {"reward_preset": "flat_budget", "loss": "bnpo", "limit_completion": 512, "mask_truncated": "no"},
        {"reward_preset": "own", "reward_arguments": 0.3, "reward_repeats": 0.1, "lora_rank": 8},
        {"kind": "sft", "epochs": 5, "precision": "bf16"},
    ):
        alices.post(page(project), filled(dataset, **other))
        run = Run.objects.order_by("number").last()
        form = alices.get(f"{page(project)}?clone={run.number}").context["form"]
        again = {name: form[name].value() for name in form.fields}
        alices.post(page(project), {name: "" if value is None else value for name, value in again.items()})
        assert Run.objects.order_by("number").last().config == run.config


def folds(page: Any) -> dict[str, tuple[bool, dict[str, str]]]:
    """Return, by the title of each folded section, whether it is open and its summary."""
    laid = [one for one in page.context["form"].sections if one.section.folded]
    return {one.section.title: (one.open, {item.label: item.value for item in one.summary}) for one in laid}


def test_a_newcomer_sees_what_everyone_chooses_and_in_a_line_what_is_set_elsewhere(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    found = folds(alices.get(page(project)))
    assert not any(is_open for is_open, _ in found.values())
    assert found["Optimizer"][1] == {
        "Learning rate": "0.0002",
        "Batch size": "8",
        "Prompts per step": "8",
        "Group size": "8",
    }
    assert found["Reward"][1] == {"": "The paper's"}
    (first,) = [section for section in SECTIONS if not section.folded]
    assert first.names == ("name", "kind", "dataset", "policy", "base", "minutes", "max_steps", "epochs")


def test_an_unusual_setting_is_summarised_in_its_fold_and_a_wrong_one_opens_it(
    project: Project, dataset: Dataset, alices: Client
) -> None:
    changes = {"reward_preset": "own", "reward_repeats": "0.2", "loss": "dr_grpo", "lora_rank": "8", "fill": "look"}
    found = folds(alices.post(page(project), filled(dataset, **changes)))
    assert found["Reward"][1] == {"": "Custom weights", "Repeat penalty": "0.2"}
    assert found["Machine"][1]["LoRA rank"] == "8"
    assert found["Sampling and update"][1]["Loss"] == "Dr. GRPO"
    junk = "<b>" + "9" * 300
    text = alices.post(page(project), filled(dataset, learning_rate=junk, fill="look")).content.decode()
    assert "<b>9" not in text and "&lt;b&gt;9" in text
    wrong = folds(alices.post(page(project), filled(dataset, learning_rate=junk, micro_batch="7")))
    assert {title for title, (is_open, _) in wrong.items() if is_open} == {"Optimizer", "Machine"}


def test_a_data_set_made_by_hand_is_offered_first_only_where_there_is_no_other(project: Project) -> None:
    def made(number: int, **spec: int) -> Dataset:
        job = Job.objects.create(project=project, kind=Kind.DATASET, title="Data", spec=spec, state=State.DONE)
        return Dataset.objects.create(project=project, number=number, name=f"Data {number}", job=job)

    by_hand = made(901, by_hand=1)
    assert find_default_dataset(project) == by_hand
    synthesized = made(900)
    assert find_default_dataset(project) == synthesized


def api_of(client: Client, project: Project, form: dict[str, Any]) -> Any:
    return client.post(page(project), {**form, "fill": "look"}).context["by_api"]


VARIED: list[dict[str, Any]] = [
    {},
    {"name": 'It\'s "odd" $x', "group": 16, "learning_rate": "1e-4", "seed": 3},
    {"kind": "sft", "epochs": 2, "batch": 4},
    {"reward_preset": "own", "reward_validity": 0.5, "reward_form": "graduated"},
    {"mask_truncated": "no", "limit_tokens": 700, "patience": 2},
]


@pytest.mark.parametrize("other", VARIED)
def test_the_request_that_the_form_displays_launches_the_same_run_as_the_form(
    other: dict[str, Any], project: Project, dataset: Dataset, mary: User, organisation: Organisation, as_user: SignIn
) -> None:
    base = run_of(project)
    client, form = as_user(mary), filled(dataset, base=base.pk, **other)
    request = api_of(client, project, form)
    assert Run.objects.count() == 1
    answer = with_token(mary, organisation).post(
        "/api/v1/acme/demo/runs", request.body.encode(), content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    assert client.post(page(project), form).status_code == 302
    theirs, ours = Run.objects.get(number=2), Run.objects.get(number=3)
    for name in ("name", "kind", "dataset", "config", "base"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert theirs.job.spec == ours.job.spec


def test_the_lines_of_shell_and_python_send_that_very_body(project: Project, dataset: Dataset, alices: Client) -> None:
    request = api_of(alices, project, filled(dataset, name="It's 'odd' $x `y`", group=16))
    words = shlex.split(request.curl.replace("\\\n", " "))
    assert json.loads(words[words.index("-d") + 1]) == json.loads(request.body)
    assert words[3] == "http://testserver/api/v1/acme/demo/runs"
    call = next(
        node
        for node in ast.walk(ast.parse(request.python))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "launch_run"
    )
    sent = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert {"name": ast.literal_eval(call.args[0]), **sent} == json.loads(request.body)


def test_settings_that_cannot_be_launched_have_no_request(project: Project, dataset: Dataset, alices: Client) -> None:
    answer = alices.post(page(project), {**filled(dataset, group=1), "fill": "look"})
    assert answer.context["by_api"] is None and "once all settings are valid" in answer.content.decode()
