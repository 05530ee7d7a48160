"""URLs of users and organisations. Those below an organisation use names that no project may have."""

from django.urls import path

from . import invitation_pages, require_mfa_views, team_views, views
from .audit import pages as audit_pages
from .signing_in import urls as signing_in

urlpatterns = [
    path("", views.start, name="start"),
    *signing_in.urlpatterns,
    path("account/join/<str:text>/", invitation_pages.join_page, name="join"),
    path("<slug:organisation>/", views.members, name="members"),
    path("<slug:organisation>/members/add/", views.member_add, name="member-add"),
    path("<slug:organisation>/members/<int:member>/change/", views.member_change, name="member-change"),
    path("<slug:organisation>/members/<int:member>/remove/", views.member_remove, name="member-remove"),
    path("<slug:organisation>/members/leave/", views.leave_organisation, name="leave"),
    path("<slug:organisation>/members/team/", team_views.team_edit, name="team-edit"),
    path(
        "<slug:organisation>/members/second-factor/",
        require_mfa_views.second_factor_require,
        name="second-factor-require",
    ),
    path("<slug:organisation>/members/invite/", invitation_pages.invitation_new, name="invitation-new"),
    path(
        "<slug:organisation>/members/invitations/<int:invitation>/withdraw/",
        invitation_pages.invitation_withdraw,
        name="invitation-withdraw",
    ),
    path("<slug:organisation>/audit/", audit_pages.audit, name="audit"),
    path("<slug:organisation>/audit/export/", audit_pages.export, name="audit-export"),
    path("<slug:organisation>/new/", views.project_new, name="project-new"),
]
