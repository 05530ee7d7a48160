"""URLs of servers, tools, the graph and live sessions."""

from django.urls import path

from .views import catalogue, connect_client, faulty, graph, session_actions, session_pages, sessions, tool

urlpatterns = [
    path("servers/", catalogue.servers, name="servers"),
    path("servers/<slug:server>/", catalogue.server, name="server"),
    path("tools/", catalogue.tools, name="tools"),
    path("tools/<slug:tool>/", tool.tool, name="tool"),
    path("tools/<slug:tool>/call/", tool.call, name="tool-call"),
    path("tools/<slug:tool>/pick/", tool.pick, name="tool-pick"),
    path("graph/", graph.graph, name="graph"),
    path("graph/data/", catalogue.data, name="graph-data"),
    path("graph/open/", catalogue.open_evidence, name="graph-open"),
    path("graph/prove/", graph.prove, name="graph-prove"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/new/", sessions.new, name="session-new"),
    path("sessions/<int:session>/", sessions.session, name="session"),
    path("sessions/compare/", session_pages.compare, name="session-compare"),
    path("sessions/<int:session>/call/", session_actions.call, name="session-call"),
    path("sessions/<int:session>/pick/", sessions.pick, name="session-pick"),
    path("sessions/<int:session>/fork/", session_actions.fork, name="session-fork"),
    path("sessions/<int:session>/reset/", session_actions.reset, name="session-reset"),
    path("sessions/<int:session>/remove/", session_actions.remove, name="session-remove"),
    path("sessions/<int:session>/connect/", connect_client.connect, name="session-connect"),
    path("sessions/<int:session>/connect/new/", connect_client.new, name="session-token"),
    path("sessions/<int:session>/connect/<int:token>/revoke/", connect_client.revoke, name="session-token-revoke"),
    path("sessions/<int:session>/faults/", faulty.faults, name="session-faults"),
    path("sessions/<int:session>/branches/", sessions.branches, name="session-branches"),
    path("sessions/<int:session>/save/", session_pages.save, name="call-save"),
    path("sessions/<int:session>/trajectory/", session_pages.make, name="session-trajectory"),
    path("saved-calls/<int:saved>/", session_pages.change, name="saved-call"),
]
