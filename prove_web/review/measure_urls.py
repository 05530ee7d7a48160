"""URLs of agreement, among reviewers and with the reward."""

from django.urls import path

from . import agreement_page, annotator_page

urlpatterns = [
    path("review/agreement/", agreement_page.agreement, name="agreement"),
    path("review/reward/", annotator_page.reward_annotator, name="reward-annotator"),
    path("review/reward/queue/", annotator_page.disagreement_queue, name="disagreement-queue"),
]
