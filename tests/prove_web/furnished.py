"""A project with one of everything that an address can name."""

from __future__ import annotations

from typing import Any

from prove_web.accounts.invitations import InvitationRequest, invite
from prove_web.accounts.models import Project, SavedView, User
from prove_web.alerts.models import Alert, Rule, Webhook
from prove_web.api.tokens import issue as issue_api_token
from prove_web.environments.models import ThirdParty
from prove_web.experiments.exports import Export
from prove_web.experiments.metric_summary import rebuild
from prove_web.experiments.models import Point, Run, SavedReward, Sweep
from prove_web.live.models import Job, Kind, State
from prove_web.review.comments import post_comment
from prove_web.review.create_queue import make_queue
from prove_web.review.schema import PLAIN
from prove_web.servers.models import LiveSession, SavedCall
from prove_web.servers.tokens import issue
from prove_web.sharing import links
from prove_web.sharing.share_scope import resolve_page
from prove_web.sharing.soft_delete import delete
from prove_web.trajectories import uploads
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.models import Dataset
from prove_web.workers.enrolment import enrol
from training_worker.datasets.importers.import_dataset import FAULTS
from training_worker.environment.episode import oracle

from .evaluated import Look, evaluation_of
from .examples import abstention
from .trained import keep_rollouts

STEP = 3


def furnish(project: Project, maker: User, number: int = 1) -> dict[str, Any]:
    """Return what names each thing in an address. Data set and run get this number, which is unique in the project."""
    made = {"project": project, "created_by": maker}
    done = {**made, "state": State.DONE}
    source = Job.objects.create(kind=Kind.DATASET, title="Data", **done)
    dataset = Dataset.objects.create(project=project, number=number, name="Data", job=source)
    trajectory = row(dataset, abstention())
    trajectory.save()
    trained = Job.objects.create(kind=Kind.RUN, title="Run", **done)
    sweep = Sweep.objects.create(project=project, number=number, name="Sweep", space={"seed": "0"}, created_by=maker)
    names = {"project": project, "number": number, "name": "Run"}
    run = Run.objects.create(**names, dataset=dataset, job=trained, config={}, sweep=sweep, varied={"seed": "0"})
    Point.objects.create(run=run, step=STEP, metrics={"reward": 0.5})
    rebuild(run)
    leave_results(run)
    session = LiveSession.objects.create(servers=["banking"], seed=number, fingerprint="", **made)
    token, _ = issue(session, maker, "Desk", True)
    call = {"name": f"Mine {number}", "tool": "list_accounts", "arguments": {}}
    saved = SavedCall.objects.create(organisation=project.organisation, made_by=maker, **call)
    sent = uploads.begin(project, "file.jsonl", 3)
    sent.add(0, [b"{}\n"])
    (source.folder).mkdir(parents=True, exist_ok=True)
    (source.folder / FAULTS).write_text("place,number,why,begins\n", encoding="utf-8")
    waiting = Job.objects.create(kind=Kind.GRAPH, title="Graph", **made)
    small = Look(items=1, categories=["even"])
    evaluation = evaluation_of(project, benchmark=small, run=run, checkpoint="last", number=number)
    view = SavedView.objects.create(project=project, page="trajectories", name="Mine", query="q=train", made_by=maker)
    runs_view = SavedView.objects.create(project=project, page="runs", name="Mine", query="q=state:done", made_by=maker)
    schema = PLAIN.model_dump(mode="json")
    # Not blind, so that the role alone decides who sees what.
    queue = make_queue(project, maker, [trajectory.pk], name="Look", schema=schema, blind=False)
    queue.number = number
    queue.save()
    rule = Rule.objects.create(project=project, name="Mine", metric="points.reward", made_by=maker)
    hook = Webhook.objects.create(project=project, name="Chat", url="https://example.com/hook", secret="s" * 32)
    page = resolve_page(project, f"runs/{number}/", "")
    assert page
    share, secret = links.issue(project, maker, page)
    spare = Job.objects.create(kind=Kind.DATASET, title="Spare", **done)
    spare_project = Project.objects.create(organisation=project.organisation, slug=f"spare-{number}", name="Spare")
    spare_set = Dataset.objects.create(project=project, number=number + 100, name="Spare", job=spare)
    invitation, link = invite(project.organisation, maker, InvitationRequest(role="viewer"))
    return {
        "view": view.pk,
        "saved_view": runs_view.pk,
        "share": share.pk,
        "secret": secret,
        "part": f"runs/{number}/points/",
        "deletion": delete(spare_set, maker).pk,
        "gone": delete(spare_project, maker).pk,
        "organisation": project.organisation.slug,
        "project": project.slug,
        "enrolment": enrol(project.organisation, maker, f"Machine {number}", 1)[0].pk,
        "member": project.organisation.memberships.get(user=maker).pk,
        "invitation": invitation.pk,
        "text": link,
        "provider_id": "oidc",
        "pk": 0,  # of a passkey, which nobody has
        "job": waiting.pk,
        "server": "banking",
        "tool": "transfer_money",
        "session": session.pk,
        "token": token.pk,
        "api_token": issue_api_token(maker, project.organisation, "Loop", ["view"])[0].pk,
        "saved": saved.pk,
        "other": ThirdParty.objects.create(project=project, name=f"theirs_{number}", url="https://example.com/mcp").pk,
        "dataset": number,
        "upload": sent.id,
        "example": trajectory.example,
        "comment": post_comment(trajectory, maker, "Odd.").pk,
        "run": number,
        "sweep": number,
        "step": STEP,
        "index": 1,
        "group": 1,
        "evaluation": evaluation.number,
        "twin": evaluation.number,
        "line": 0,
        "benchmark": evaluation.benchmark,
        "queue": queue.number,
        "position": 1,
        "rule": rule.pk,
        "alert": Alert.objects.create(project=project, rule=rule, run=run, key=f"step-{STEP}", step=STEP, value=0.5).pk,
        "hook": hook.pk,
        "format": "csv",
        "tracker": "tensorboard",
        "reward": SavedReward.objects.create(project=project, name=f"Mine {number}", config={"name": 0.5}).pk,
    }


def leave_results(run: Run) -> None:
    """Write what a trainer leaves behind: the rollouts of a step, and a checkpoint with its export."""
    keep_rollouts(run, STEP, [oracle(abstention())])
    checkpoint = run.job.out / "checkpoints" / f"checkpoint-{STEP}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "progress.json").write_text(f'{{"step": {STEP}}}\n', encoding="utf-8")
    export = Export(run.job, STEP).folder
    export.mkdir(parents=True)
    (export / "config.json").write_text("{}\n", encoding="utf-8")
