"""URL of the command palette, below /<organisation>/<project>/."""

from django.urls import path

from . import views

urlpatterns = [path("find/", views.palette, name="find")]
