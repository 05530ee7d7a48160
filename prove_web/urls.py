"""Every address of the site. What belongs to a project lies under /<organisation>/<project>/."""

from django.urls import include, path

from prove_web.accounts import urls as accounts
from prove_web.environments import urls as environments
from prove_web.evaluations import urls as evaluations
from prove_web.experiments import urls as experiments
from prove_web.live import urls as live
from prove_web.palette import urls as palette
from prove_web.servers import urls as servers
from prove_web.trajectories import urls as trajectories

urlpatterns = [
    *accounts.urlpatterns,
    path(
        "<slug:organisation>/<slug:project>/",
        include(
            [
                *live.urlpatterns,
                *servers.urlpatterns,
                *environments.urlpatterns,
                *trajectories.urlpatterns,
                *experiments.urlpatterns,
                *evaluations.urlpatterns,
                *palette.urlpatterns,
            ]
        ),
    ),
]

handler400 = "prove_web.accounts.errors.bad_request"
