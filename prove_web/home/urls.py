"""URLs of a project's home."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.home, name="home"),
    path("home/jobs/", views.home_jobs, name="home-jobs"),
]
