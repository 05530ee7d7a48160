"""The page of a random sample of a data set: whole conversations to read one after the other."""

from __future__ import annotations

from django.db.models import Max
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from prove_web.accounts.permissions import Action, ProjectRequest, in_project
from prove_web.live.models import State
from prove_web.parse_int import parse_digits
from prove_web.review.blinding import Blind

from ..filters import TrajectoryFilter
from ..list_params import parse_search
from ..samples import SIZE, sample
from ..stats import stats
from .finding import one_of

SEEDS = 1_000_000_000


@in_project(Action.VIEW)
@require_safe
def dataset_sample(request: ProjectRequest, dataset: int) -> HttpResponse:
    """`?seed=` draws the sample; the other fields are those of the data set's list and narrow what it is drawn from."""
    found = one_of(request.project, dataset)
    newest = found.trajectories.aggregate(newest=Max("pk"))["newest"]
    if newest is None or found.loading_at or found.job.state != State.DONE:
        return redirect(found)
    narrowed = TrajectoryFilter(request.GET, dataset=found, blind=Blind(request.user, request.project))
    seed = parse_digits(request.GET.get("seed", "")) or 0
    sampled, count = sample(narrowed.qs, seed)
    typed = parse_search(request.GET)
    context = {
        "dataset": found,
        "difficulties": stats(found, newest).difficulties,
        "query": typed.strip(),
        "narrowed": narrowed.narrowed,
        "link": narrowed.address,
        "fault": narrowed.fault,
        "covered": narrowed.covered,
        "marked": narrowed.fault and narrowed.fault.around(typed),
        "sample": sampled,
        "count": count,
        "seed": seed,
        "another": another(narrowed.address, seed) if count > SIZE else "",
    }
    return render(request, "trajectories/sample.html", context)


def another(address: str, seed: int) -> str:
    """Return the query string of the next sample."""
    query = QueryDict(address, mutable=True)
    query["seed"] = str((seed + 1) % SEEDS)
    return query.urlencode()
