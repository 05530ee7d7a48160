"""URLs below a trajectory's: its acceptance and its comments."""

from django.urls import path

from . import acceptance_pages, comment_pages

HERE = "datasets/<int:dataset>/<slug:example>/"

urlpatterns = [
    path(f"{HERE}acceptance/", acceptance_pages.acceptance, name="acceptance"),
    path(f"{HERE}accept/", acceptance_pages.trajectory_accept, name="trajectory-accept"),
    path(f"{HERE}comments/", comment_pages.comments, name="comments"),
    path(f"{HERE}comments/add/", comment_pages.comment_add, name="comment-add"),
    path(f"{HERE}comments/resolve/", comment_pages.thread_resolve, name="thread-resolve"),
    path(f"{HERE}comments/<int:comment>/edit/", comment_pages.comment_edit, name="comment-edit"),
    path(f"{HERE}comments/<int:comment>/remove/", comment_pages.comment_remove, name="comment-remove"),
]
