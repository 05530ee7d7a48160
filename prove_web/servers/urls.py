"""The addresses of servers, tools, the graph and live sessions."""

from django.urls import path

from .views import catalogue, graph, graph_data, sessions

urlpatterns = [
    path("servers/", catalogue.servers, name="servers"),
    path("servers/<slug:server>/", catalogue.server, name="server"),
    path("tools/", catalogue.tools, name="tools"),
    path("tools/<slug:tool>/", catalogue.tool, name="tool"),
    path("graph/", graph.graph, name="graph"),
    path("graph/data/", graph_data.data, name="graph-data"),
    path("graph/open/", graph_data.open_evidence, name="graph-open"),
    path("graph/prove/", graph.prove, name="graph-prove"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/new/", sessions.new, name="session-new"),
    path("sessions/<int:session>/", sessions.session, name="session"),
    path("sessions/<int:session>/call/", sessions.call, name="session-call"),
    path("sessions/<int:session>/fork/", sessions.fork, name="session-fork"),
    path("sessions/<int:session>/reset/", sessions.reset, name="session-reset"),
]
