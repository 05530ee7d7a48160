"""The addresses of evaluations, beneath /<organisation>/<project>/."""

from django.urls import path

from . import launching, listing

urlpatterns = [
    path("evaluations/", listing.evaluations, name="evaluations"),
    path("evaluations/new/", launching.evaluation_new, name="evaluation-new"),
]
