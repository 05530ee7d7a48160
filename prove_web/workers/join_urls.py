"""The addresses that enrolled machines ask."""

from __future__ import annotations

from django.urls import path

from . import remote

urlpatterns = [
    path("worker/hello/", remote.hello, name="worker-hello"),
    path("worker/next/", remote.next_job, name="worker-next"),
    path("worker/tell/", remote.tell, name="worker-tell"),
    path("worker/file/", remote.get_file, name="worker-file"),
    path("worker/result/", remote.put_file, name="worker-result"),
    path("worker/results/", remote.kept_files, name="worker-results"),
    path("worker/goodbye/", remote.goodbye, name="worker-goodbye"),
]
