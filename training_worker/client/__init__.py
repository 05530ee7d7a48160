"""Python client for the API of PROVE Studio, without Django and without torch.

    from training_worker.client import Studio

    with Studio("https://studio.example.org", token="prove_...") as studio:
        demo = studio.project("acme", "demo")
        run = demo.launch_run(name="Smaller steps", clone=3, learning_rate=1e-6)
        for event in demo.events(run["job"]["id"], follow=True):
            print(event["kind"], event["data"].get("step"))
        for hit in demo.find_rollouts(run["number"], "reward<0.5 failed>0"):
            print(hit["step"], hit["index"], hit["tools"])
        demo.export_rollouts(run["number"], "rollouts.jsonl")

Create a token on the team's page *API tokens* or with `manage.py make_token`; if none is passed, the environment
variable PROVE_TOKEN is read. Lists are iterators that fetch the next page when it is needed; exports are streamed.
Responses are dicts, documented on the site's page /api/v1/docs/.

An idempotent request (GET, PUT) is retried if the site does not answer; a rate-limited one waits as long as the site
says. Any other error is raised as a StudioError: NotKnown (401), NotAllowed (403), NotFound (404), Conflict (409),
Invalid (400, 413, 415, 422), TooMany (429), ServerError (500 and above), Unreachable. Each says what happened, where,
and what to do.
"""

from .errors import (
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotKnown,
    ServerError,
    StudioError,
    TooMany,
    Unreachable,
)
from .project import Project
from .studio import Studio

__all__ = [
    "Conflict",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotKnown",
    "Project",
    "ServerError",
    "Studio",
    "StudioError",
    "TooMany",
    "Unreachable",
]
