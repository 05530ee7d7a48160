"""URLs for monitoring a site."""

from django.urls import path

from . import views

urlpatterns = [
    path("health/", views.alive, name="health"),
    path("health/ready/", views.report_readiness, name="ready"),
    path("metrics", views.metrics, name="metrics"),
]
