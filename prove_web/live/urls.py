"""URLs of a project's home and its jobs."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.home, name="home"),
    path("home/jobs/", views.home_jobs, name="home-jobs"),
    path("jobs/<uuid:job>/", views.job, name="job"),
    path("jobs/<uuid:job>/log/", views.job_log, name="job-log"),
    path("jobs/<uuid:job>/stop/", views.job_stop, name="job-stop"),
    path("jobs/<uuid:job>/resume/", views.job_resume, name="job-resume"),
]
