"""The addresses of runs, beneath /<organisation>/<project>/."""

from django.urls import path

from . import detail, launching, listing, rollout_pages, sweep_pages

urlpatterns = [
    path("runs/", listing.runs, name="runs"),
    path("runs/new/", launching.run_new, name="run-new"),
    path("runs/<int:run>/", detail.run_page, name="run"),
    path("runs/<int:run>/points/", detail.run_points, name="run-points"),
    path("runs/<int:run>/checkpoints/<int:step>/", detail.checkpoint, name="checkpoint"),
    path("runs/<int:run>/rollouts/<int:step>/", rollout_pages.rollouts, name="rollouts"),
    path("runs/<int:run>/rollouts/<int:step>/<int:index>/", rollout_pages.rollout, name="rollout"),
    path("sweeps/", sweep_pages.sweeps, name="sweeps"),
    path("sweeps/new/", sweep_pages.sweep_new, name="sweep-new"),
    path("sweeps/<int:sweep>/", sweep_pages.sweep_page, name="sweep"),
    path("sweeps/<int:sweep>/stop/", sweep_pages.sweep_stop, name="sweep-stop"),
]
