"""URL of the paper's tables."""

from django.urls import path

from . import pages

urlpatterns = [path("paper/", pages.paper_page, name="paper")]
