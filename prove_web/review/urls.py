"""URLs of a project's review queues."""

from django.urls import path

from . import adjudicate_pages, queue_form_pages, queue_pages, review_pages

urlpatterns = [
    path("review/", queue_pages.queues, name="queues"),
    path("review/new/", queue_form_pages.queue_new, name="queue-new"),
    path("review/<int:queue>/", queue_pages.queue, name="queue"),
    path("review/<int:queue>/edit/", queue_form_pages.queue_edit, name="queue-edit"),
    path("review/<int:queue>/close/", queue_pages.queue_close, name="queue-close"),
    path("review/<int:queue>/labels/<slug:format>/", queue_pages.queue_labels, name="queue-labels"),
    path("review/<int:queue>/next/", review_pages.open_next_item, name="review-next"),
    path("review/<int:queue>/undo/", review_pages.undone, name="review-undo"),
    path("review/<int:queue>/adjudicate/", adjudicate_pages.open_next_conflict, name="adjudicate-next"),
    path("review/<int:queue>/<int:position>/", review_pages.review, name="review"),
    path("review/<int:queue>/<int:position>/adjudicate/", adjudicate_pages.adjudicate, name="review-adjudicate"),
]
