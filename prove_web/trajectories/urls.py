"""The addresses of a project's data sets and their trajectories."""

from django.urls import path

from . import views

urlpatterns = [
    path("datasets/", views.datasets, name="datasets"),
    path("datasets/new/", views.dataset_new, name="dataset-new"),
    path("datasets/<int:dataset>/", views.dataset, name="dataset"),
    path("datasets/<int:dataset>/<slug:example>/", views.trajectory, name="trajectory"),
    path("datasets/<int:dataset>/<slug:example>/session/", views.trajectory_session, name="trajectory-session"),
]
