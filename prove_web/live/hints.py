"""What to do about a job that is not getting on."""

from __future__ import annotations

from dataclasses import dataclass

from .models import ENDED, Job, Kind, State

GOES_ON = {
    Kind.RUN: "Resume goes on from its last checkpoint.",
    Kind.SFT: "Resume goes on from its last checkpoint.",
    Kind.EVALUATE: "Resume goes on with the items that are not finished.",
    Kind.DATASET: "Resume makes the data set from the beginning.",
    Kind.TRIAL: "Resume tries the prompts again.",
    Kind.GRAPH: "Resume proves the graph from the beginning.",
}


ELSEWHERE = {
    State.FAILED: "The program that trains it told that it failed. What it tells from now on goes on with this run.",
    State.LOST: "See whether the program that trains it still runs. It goes on here once it is heard of again.",
    State.STOPPED: "It goes on here once the program that trains it tells of more.",
    State.STOPPING: "The program that trains it hears that it is to stop when it next tells something.",
}


@dataclass(frozen=True)
class Advice:
    text: str
    about: Job | None = None  # another job that it is up to


def advice(job: Job) -> Advice | None:
    """In words a person can act on; None for a job that needs nothing."""
    if job.outside:
        return Advice(ELSEWHERE[State(job.state)]) if job.state in ELSEWHERE else None
    again = GOES_ON[Kind(job.kind)]
    match job.state:
        case State.QUEUED if job.after and job.after.state in (State.FAILED, State.STOPPED, State.LOST):
            state = job.after.get_state_display().lower()
            return Advice(
                f"This job needs what “{job.after}” makes, which is {state}. Resume that one first.", job.after
            )
        case State.QUEUED if job.after and job.after.state not in ENDED:
            return Advice(f"It starts by itself once “{job.after}” is done.", job.after)
        case State.QUEUED if job.line:
            return Advice(f"{job.line} It goes on with attempt {job.attempt} once a worker is free.")
        case State.QUEUED:
            return Advice("It starts once a worker is free.")
        case State.FAILED:
            return Advice(f"The log below ends with what went wrong. Once that is put right, resume. {again}")
        case State.LOST:
            return Advice(f"Its worker fell silent again and again. See that the workers run, then resume. {again}")
        case State.STOPPED:
            return Advice(again)
    return None
