"""The address of the command palette, beneath /<organisation>/<project>/."""

from django.urls import path

from . import views

urlpatterns = [path("find/", views.palette, name="find")]
