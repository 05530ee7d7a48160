"""URLs of share links and of the trash: below a project, of a team, and for anyone with a link."""

from __future__ import annotations

from django.urls import path

from . import guest_pages, share_pages, trash_views

urlpatterns = [
    path("shares/", share_pages.shares, name="shares"),
    path("shares/new/", share_pages.share_new, name="share-new"),
    path("shares/<int:share>/withdraw/", share_pages.share_withdraw, name="share-withdraw"),
    path("bin/", trash_views.bin_page, name="bin"),
    path("bin/<int:deletion>/restore/", trash_views.bin_restore, name="bin-restore"),
    path("bin/runs/<int:run>/", trash_views.run_delete, name="run-delete"),
    path("bin/datasets/<int:dataset>/", trash_views.dataset_delete, name="dataset-delete"),
    path("delete/", trash_views.project_delete, name="project-delete"),
]

of_organisation = [
    path("<slug:organisation>/bin/", trash_views.deleted_projects, name="deleted-projects"),
    path(
        "<slug:organisation>/bin/<int:gone>/restore/",
        trash_views.deleted_project_restore,
        name="deleted-project-restore",
    ),
]

for_anyone = [
    path("shared/<str:secret>/", guest_pages.render_shared_page, name="shared"),
    path("shared/<str:secret>/live/", guest_pages.shared_live, name="shared-live"),
    path("shared/<str:secret>/<path:part>", guest_pages.shared_part, name="shared-part"),
]
