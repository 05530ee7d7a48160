"""How a run stands, in the title of its page and in its queue."""

from __future__ import annotations

from django.db.models import Q

from prove_web.live.models import Job, Kind, State

from .models import Run


def title(run: Run) -> str:
    """`42 % · Run 7`: what a tab of the browser says, so that one need not open it to know."""
    job = run.job
    if job.ended or job.state == State.QUEUED:
        return f"{job.get_state_display()} · Run {run.number}"
    return f"{round(100 * job.share)} % · Run {run.number}" if job.total else f"Run {run.number}"


def waiting_before(job: Job) -> int | None:
    """How many jobs its queue hands out before it, of all teams; None for a job that does not wait for a worker."""
    if job.state != State.QUEUED or (job.after and job.after.state != State.DONE):
        return None
    earlier = Q(place__lt=job.place)
    ready = Q(after=None) | Q(after__state=State.DONE)
    trains = Q(kind__in=(Kind.RUN, Kind.SFT, Kind.TRIAL)) | Q(kind=Kind.EVALUATE, spec__source="folder")
    return Job.objects.filter(earlier, ready, trains, state=State.QUEUED).count()
