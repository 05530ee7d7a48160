"""URLs of runs under /<organisation>/<project>/."""

from django.urls import path

from . import (
    detail,
    export_pages,
    group_pages,
    keeping_pages,
    live_rollout,
    metric_api,
    outcome_views,
    rollout_pages,
    run_launch,
    search_pages,
    session_pages,
    step_export,
    step_pages,
    sweep_pages,
    token_pages,
    tools,
    what_if_pages,
)
from .outside import pages as outside
from .table import bulk_pages
from .table import pages as table
from .what_if import pages as what_if

urlpatterns = [
    path("runs/", table.runs, name="runs"),
    path("runs/columns/", table.runs_columns, name="runs-columns"),
    path("runs/completion/", table.runs_completion, name="runs-completion"),
    path("runs/export/", table.runs_export, name="runs-export"),
    path("runs/mark/", bulk_pages.runs_mark, name="runs-mark"),
    path("runs/act/", bulk_pages.runs_act, name="runs-act"),
    path("runs/views/", table.run_views, name="run-views"),
    path("runs/views/<int:saved_view>/", table.run_view, name="run-view"),
    path("runs/new/", run_launch.run_new, name="run-new"),
    path("runs/import/", outside.run_import, name="run-import"),
    path("runs/<int:run>/as/<str:tracker>/", outside.run_take, name="run-take"),
    path("runs/<int:run>/", detail.run_page, name="run"),
    path("runs/<int:run>/mark/", keeping_pages.run_mark, name="run-mark"),
    path("runs/<int:run>/keep/", keeping_pages.run_keep, name="run-keep"),
    path("runs/<int:run>/notes/", keeping_pages.run_notes, name="run-notes"),
    path("runs/<int:run>/watch/", live_rollout.watch, name="run-watch"),
    path("runs/<int:run>/points/", detail.run_points, name="run-points"),
    path("runs/<int:run>/metric/", metric_api.run_metric, name="run-metric"),
    path("runs/<int:run>/tools/", tools.run_tools, name="run-tools"),
    path("runs/<int:run>/tools/outcomes/", outcome_views.run_outcomes, name="run-outcomes"),
    path("runs/<int:run>/checkpoints/<int:step>/", detail.checkpoint, name="checkpoint"),
    path("runs/<int:run>/exports/<int:step>/", export_pages.export_download, name="checkpoint-export"),
    path("runs/<int:run>/exports/<int:step>/make/", export_pages.export_make, name="checkpoint-export-make"),
    path("runs/<int:run>/rollouts/", search_pages.search_rollouts, name="run-rollouts"),
    path("runs/<int:run>/examples/<str:example>/", search_pages.over_the_run, name="run-example"),
    path("runs/<int:run>/rollouts/<int:step>/", step_pages.rollouts, name="rollouts"),
    path("runs/<int:run>/rollouts/<int:step>/export.<str:format>", step_export.export, name="rollouts-export"),
    path("runs/<int:run>/rollouts/<int:step>/groups/<int:group>/", group_pages.group, name="rollout-group"),
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
