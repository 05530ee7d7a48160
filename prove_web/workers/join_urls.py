"""URLs for enrolled machines."""

from __future__ import annotations

from django.urls import path

from . import agent_api

urlpatterns = [
    path("worker/hello/", agent_api.hello, name="worker-hello"),
    path("worker/next/", agent_api.next_job, name="worker-next"),
    path("worker/tell/", agent_api.store_events, name="worker-tell"),
    path("worker/file/", agent_api.get_file, name="worker-file"),
    path("worker/result/", agent_api.put_file, name="worker-result"),
    path("worker/results/", agent_api.prune_files, name="worker-results"),
    path("worker/goodbye/", agent_api.sign_off_worker, name="worker-goodbye"),
]
