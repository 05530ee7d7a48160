"""URLs of a user's own notifications, from all projects."""

from django.urls import path

from . import notification_pages

urlpatterns = [
    path("account/notifications/", notification_pages.notifications, name="notifications"),
    path("account/notifications/bell/", notification_pages.bell, name="notifications-bell"),
    path("account/notifications/read/", notification_pages.read, name="notifications-read"),
]
