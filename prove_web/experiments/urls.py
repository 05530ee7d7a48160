"""The addresses of runs, beneath /<organisation>/<project>/."""

from django.urls import path

from . import (
    detail,
    keeping_pages,
    launching,
    listing,
    queries,
    rollout_pages,
    search_pages,
    session_pages,
    sweep_pages,
    token_pages,
    tools,
    watching,
    what_if_pages,
)
from .compare import behaviour_pages
from .compare import pages as compare
from .paper import pages as paper
from .what_if import pages as what_if

urlpatterns = [
    path("runs/", listing.runs, name="runs"),
    path("runs/new/", launching.run_new, name="run-new"),
    path("runs/compare/", compare.run_compare, name="run-compare"),
    path("runs/behaviour/", behaviour_pages.run_behaviour, name="run-behaviour"),
    path("runs/behaviour/beside/", behaviour_pages.run_beside, name="run-beside"),
    path("paper/", paper.paper_page, name="paper"),
    path("runs/<int:run>/", detail.run_page, name="run"),
    path("runs/<int:run>/mark/", keeping_pages.run_mark, name="run-mark"),
    path("runs/<int:run>/keep/", keeping_pages.run_keep, name="run-keep"),
    path("runs/<int:run>/notes/", keeping_pages.run_notes, name="run-notes"),
    path("runs/<int:run>/watch/", watching.watch, name="run-watch"),
    path("runs/<int:run>/points/", detail.run_points, name="run-points"),
    path("runs/<int:run>/metric/", queries.run_metric, name="run-metric"),
    path("runs/<int:run>/tools/", tools.run_tools, name="run-tools"),
    path("runs/<int:run>/checkpoints/<int:step>/", detail.checkpoint, name="checkpoint"),
    path("runs/<int:run>/rollouts/", search_pages.found_rollouts, name="run-rollouts"),
    path("runs/<int:run>/examples/<str:example>/", search_pages.over_the_run, name="run-example"),
    path("runs/<int:run>/rollouts/<int:step>/", rollout_pages.rollouts, name="rollouts"),
    path("runs/<int:run>/rollouts/<int:step>/<int:index>/", rollout_pages.rollout, name="rollout"),
    path(
        "runs/<int:run>/rollouts/<int:step>/<int:index>/what-if/",
        what_if_pages.rollout_what_if,
        name="rollout-what-if",
    ),
    path("runs/<int:run>/rollouts/<int:step>/<int:index>/tokens/", token_pages.tokens, name="rollout-tokens"),
    path(
        "runs/<int:run>/rollouts/<int:step>/<int:index>/session/", session_pages.rollout_session, name="rollout-session"
    ),
    path("what-if/", what_if.what_if, name="what-if"),
    path("what-if/save/", what_if.reward_save, name="reward-save"),
    path("what-if/saved/<int:reward>/remove/", what_if.reward_remove, name="reward-remove"),
    path("sweeps/", sweep_pages.sweeps, name="sweeps"),
    path("sweeps/new/", sweep_pages.sweep_new, name="sweep-new"),
    path("sweeps/<int:sweep>/", sweep_pages.sweep_page, name="sweep"),
    path("sweeps/<int:sweep>/stop/", sweep_pages.sweep_stop, name="sweep-stop"),
]
