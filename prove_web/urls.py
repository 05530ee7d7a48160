"""All URLs of the site. Those of a project are below /<organisation>/<project>/."""

from django.urls import include, path

from prove_web.accounts import urls as accounts
from prove_web.alerts import urls as alerts
from prove_web.api import urls as api
from prove_web.comparisons import urls as comparisons
from prove_web.environments import urls as environments
from prove_web.evaluations import urls as evaluations
from prove_web.experiments import urls as experiments
from prove_web.home import urls as home
from prove_web.live import urls as live
from prove_web.operations import urls as operations
from prove_web.palette import urls as palette
from prove_web.paper import urls as paper
from prove_web.review import measure_urls as measures
from prove_web.review import notification_urls as notifications
from prove_web.review import trajectory_urls as beside_trajectories
from prove_web.review import urls as review
from prove_web.servers import urls as servers
from prove_web.sharing import urls as sharing
from prove_web.trajectories import urls as trajectories
from prove_web.workers import join_urls as joining
from prove_web.workers import urls as workers

urlpatterns = [
    *operations.urlpatterns,
    *joining.urlpatterns,
    *api.urlpatterns,
    *notifications.urlpatterns,
    *sharing.for_anyone,
    *sharing.of_organisation,
    *accounts.urlpatterns,
    path(
        "<slug:organisation>/<slug:project>/",
        include(
            [
                *home.urlpatterns,
                *live.urlpatterns,
                *servers.urlpatterns,
                *environments.urlpatterns,
                *trajectories.urlpatterns,
                *beside_trajectories.urlpatterns,
                *review.urlpatterns,
                *experiments.urlpatterns,
                *comparisons.urlpatterns,
                *paper.urlpatterns,
                *evaluations.urlpatterns,
                *measures.urlpatterns,
                *alerts.urlpatterns,
                *workers.urlpatterns,
                *sharing.urlpatterns,
                *palette.urlpatterns,
            ]
        ),
    ),
]

handler400 = "prove_web.accounts.errors.bad_request"
handler403 = "prove_web.accounts.errors.permission_denied"
handler500 = "prove_web.operations.views.render_server_error"
