"""URLs of a project's datasets and their trajectories."""

from django.urls import path

from . import (
    collect_pages,
    edit_diff,
    edit_views,
    export_pages,
    fork_view,
    import_pages,
    token_pages,
    version_pages,
    views,
    what_if,
)

urlpatterns = [
    path("trajectories/", views.trajectories, name="trajectories"),
    path("trajectories/completion/", views.trajectory_completion, name="trajectory-completion"),
    path("trajectories/views/", views.trajectory_views, name="trajectory-views"),
    path("trajectories/views/<int:view>/", views.trajectory_view, name="trajectory-view"),
    path("datasets/", views.datasets, name="datasets"),
    path("datasets/new/", views.dataset_new, name="dataset-new"),
    path("datasets/new/forecast/", views.dataset_forecast, name="dataset-forecast"),
    path("datasets/version/", version_pages.version_new, name="version-new"),
    path("datasets/mix/", version_pages.mix, name="dataset-mix"),
    path("datasets/export/", export_pages.export, name="export"),
    path("datasets/import/", import_pages.import_new, name="import-new"),
    path("datasets/import/<uuid:upload>/", import_pages.import_preview, name="import-preview"),
    path("datasets/import/<uuid:upload>/piece/", import_pages.import_piece, name="import-piece"),
    path("datasets/<int:dataset>/", views.dataset, name="dataset"),
    path("datasets/<int:dataset>/sample/", views.dataset_sample, name="dataset-sample"),
    path("datasets/<int:dataset>/changes/", version_pages.dataset_changes, name="dataset-changes"),
    path("datasets/<int:dataset>/split/", version_pages.split, name="dataset-split"),
    path("datasets/<int:dataset>/faults/", import_pages.import_faults, name="import-faults"),
    path("datasets/<int:dataset>/<slug:example>/", views.trajectory, name="trajectory"),
    path("datasets/<int:dataset>/<slug:example>/session/", fork_view.trajectory_session, name="trajectory-session"),
    path("datasets/<int:dataset>/<slug:example>/what-if/", what_if.what_if, name="trajectory-what-if"),
    path("datasets/<int:dataset>/<slug:example>/tokens/", token_pages.tokens, name="trajectory-tokens"),
    path("datasets/<int:dataset>/<slug:example>/fix/", edit_views.fix, name="trajectory-fix"),
    path("datasets/<int:dataset>/<slug:example>/edited/", edit_diff.show_edit_diff, name="trajectory-edited"),
    path("runs/<int:run>/collect/", collect_pages.run_collect, name="run-collect"),
]
