"""PROVE Studio from a program of one's own: its API as Python, without Django and without torch.

    from training_worker.client import Studio

    with Studio("https://studio.example.org", token="prove_...") as studio:
        demo = studio.project("acme", "demo")
        run = demo.launch_run(name="Smaller steps", clone=3, learning_rate=1e-6)
        for event in demo.events(run["job"]["id"], follow=True):
            print(event["kind"], event["data"].get("step"))
        for hit in demo.find_rollouts(run["number"], "reward<0.5 failed>0"):
            print(hit["step"], hit["index"], hit["tools"])
        demo.export_rollouts(run["number"], "rollouts.jsonl")

A token is made on the team's page *API tokens* (or with `manage.py make_token`); without one in the call it is read
from the environment, PROVE_TOKEN. What is listed comes as an iterator that asks for the next piece when it is needed;
what is exported is read while it is sent. Answers are dicts as the site's page /api/v1/docs/ has them.

A request that changes nothing, or says the same when it is sent twice, is sent again where the site did not answer;
one that was refused for there being too many waits as long as the site says. Whatever else is refused is raised as a
StudioError: NotKnown (401), NotAllowed (403), NotFound (404), Conflict (409), Invalid (400, 413, 415, 422),
TooMany (429), Broken (500 and above), Unreachable. Each says what is the case, where, and what to do.
"""

from .errors import (
    Broken,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotKnown,
    StudioError,
    TooMany,
    Unreachable,
)
from .project import Project
from .studio import Studio

__all__ = [
    "Broken",
    "Conflict",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotKnown",
    "Project",
    "Studio",
    "StudioError",
    "TooMany",
    "Unreachable",
]
