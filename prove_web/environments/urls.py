"""URLs of a project's environment, below /<organisation>/<project>/."""

from django.urls import path

from . import gateway_views, third_party_views, views

urlpatterns = [
    path("environments/", views.environments, name="environments"),
    path("environments/save/", views.save, name="environment-save"),
    path("environments/gateway/", gateway_views.state, name="gateway"),
    path("environments/gateway/switch/", gateway_views.switch, name="gateway-switch"),
    path("environments/gateway/sessions/", gateway_views.new, name="gateway-session-new"),
    path("environments/gateway/session/", gateway_views.session, name="gateway-session"),
    path("environments/versions/<slug:server>/", views.server_versions, name="server-versions"),
    path("environments/check/", views.check_all, name="servers-check"),
    path("environments/check/<slug:server>/", views.check, name="server-check"),
    path("environments/third-party/", third_party_views.add, name="third-party-add"),
    path("environments/third-party/<int:other>/", third_party_views.show_third_party_server, name="third-party"),
    path("environments/third-party/<int:other>/remove/", third_party_views.remove, name="third-party-remove"),
]
