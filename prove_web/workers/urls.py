"""URLs of the queue and workers, under a project."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("queue/", views.job_queue, name="job-queue"),
    path("jobs/<uuid:job>/move/", views.job_move, name="job-move"),
    path("workers/", views.worker_list, name="workers"),
    path("workers/enrol/", views.enrolment_new, name="enrolment-new"),
    path("workers/enrolments/<int:enrolment>/revoke/", views.enrolment_revoke, name="enrolment-revoke"),
    path("workers/enrolments/<int:enrolment>/drain/", views.enrolment_drain, name="enrolment-drain"),
]
