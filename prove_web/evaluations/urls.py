"""URLs of evaluations under /<organisation>/<project>/."""

from django.urls import path

from . import comparison, detail, evaluation_launch, item_page, items, leaderboard, listing, trial_tree

urlpatterns = [
    path("evaluations/", listing.evaluations, name="evaluations"),
    path("evaluations/new/", evaluation_launch.evaluation_new, name="evaluation-new"),
    path("evaluations/<int:evaluation>/", detail.evaluation_page, name="evaluation"),
    path("evaluations/<int:evaluation>/items/", items.evaluation_items, name="evaluation-items"),
    path("evaluations/<int:evaluation>/items/<int:line>/", item_page.evaluation_item, name="evaluation-item"),
    path(
        "evaluations/<int:evaluation>/items/<int:line>/trials/", trial_tree.evaluation_trials, name="evaluation-trials"
    ),
    path("evaluations/<int:evaluation>/compare/", comparison.evaluation_compare, name="evaluation-compare"),
    path(
        "evaluations/<int:evaluation>/compare/<int:twin>/<int:line>/",
        comparison.evaluation_beside,
        name="evaluation-beside",
    ),
    path("leaderboards/", leaderboard.leaderboards, name="leaderboards"),
    path("leaderboards/<slug:benchmark>/", leaderboard.leaderboard, name="leaderboard"),
]
