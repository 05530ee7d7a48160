"""Advice for a job that does not proceed."""

from __future__ import annotations

from dataclasses import dataclass

from .models import ENDED, Job, Kind, State

GOES_ON = {
    Kind.RUN: "Resume continues from its last checkpoint.",
    Kind.SFT: "Resume continues from its last checkpoint.",
    Kind.EVALUATE: "Resume continues with the unfinished items.",
    Kind.DATASET: "Resume creates the dataset from the beginning.",
    Kind.TRIAL: "Resume repeats the dry run.",
    Kind.GRAPH: "Resume rebuilds the graph from the beginning.",
}


ELSEWHERE = {
    State.FAILED: "The training program reported a failure. Its next report continues this run.",
    State.LOST: "Check whether the training program still runs. Its next report continues this run.",
    State.STOPPED: "The next report of the training program continues this run.",
    State.STOPPING: "The training program receives the stop request with its next report.",
}


@dataclass(frozen=True)
class Advice:
    text: str
    about: Job | None = None  # the job that the advice concerns, if it is another one


def advice(job: Job) -> Advice | None:
    """Return advice that a user can act on; None for a job that needs none."""
    if job.outside:
        return Advice(ELSEWHERE[State(job.state)]) if job.state in ELSEWHERE else None
    again = GOES_ON[Kind(job.kind)]
    match job.state:
        case State.QUEUED if job.after and job.after.state in (State.FAILED, State.STOPPED, State.LOST):
            state = job.after.get_state_display().lower()
            return Advice(
                f"This job needs the output of “{job.after}”, which is {state}. Resume that job first.", job.after
            )
        case State.QUEUED if job.after and job.after.state not in ENDED:
            return Advice(f"Starts automatically when “{job.after}” is done.", job.after)
        case State.QUEUED if job.line:
            return Advice(f"{job.line} Attempt {job.attempt} starts when a worker is free.")
        case State.QUEUED:
            return Advice("Starts when a worker is free.")
        case State.FAILED:
            return Advice(f"The end of the log below shows the error. Fix the cause, then resume. {again}")
        case State.LOST:
            return Advice(f"Its worker repeatedly stopped responding. Check that the workers run, then resume. {again}")
        case State.STOPPED:
            return Advice(again)
    return None
