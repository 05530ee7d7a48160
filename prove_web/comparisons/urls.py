"""URLs of comparisons of runs."""

from django.urls import path

from . import behaviour_pages, pages

urlpatterns = [
    path("runs/compare/", pages.run_compare, name="run-compare"),
    path("runs/behaviour/", behaviour_pages.run_behaviour, name="run-behaviour"),
    path("runs/behaviour/beside/", behaviour_pages.run_beside, name="run-beside"),
]
