"""URLs of a project's jobs."""

from django.urls import path

from . import views

urlpatterns = [
    path("jobs/<uuid:job>/", views.job, name="job"),
    path("jobs/<uuid:job>/log/", views.job_log, name="job-log"),
    path("jobs/<uuid:job>/stop/", views.job_stop, name="job-stop"),
    path("jobs/<uuid:job>/resume/", views.job_resume, name="job-resume"),
]
