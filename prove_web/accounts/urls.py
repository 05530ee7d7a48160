"""The addresses of people and organisations. Those below an organisation use names that no project may have."""

from django.contrib.auth import views as auth
from django.urls import path, reverse_lazy

from . import forms, invitation_pages, views
from .audit import pages as audit_pages
from .permissions import anyone, signed_in

sign_in = auth.LoginView.as_view(
    template_name="accounts/sign_in.html", authentication_form=forms.SignIn, redirect_authenticated_user=True
)
password = auth.PasswordChangeView.as_view(
    template_name="accounts/password.html", success_url=reverse_lazy("password-changed")
)

urlpatterns = [
    path("", views.start, name="start"),
    path("sign-in/", anyone(sign_in), name="sign-in"),
    path("sign-out/", anyone(auth.LogoutView.as_view()), name="sign-out"),
    path("account/password/", signed_in(password), name="password"),
    path("account/password/changed/", views.password_changed, name="password-changed"),
    path("account/join/<str:text>/", invitation_pages.join_page, name="join"),
    path("<slug:organisation>/", views.members, name="members"),
    path("<slug:organisation>/members/add/", views.member_add, name="member-add"),
    path("<slug:organisation>/members/<int:member>/change/", views.member_change, name="member-change"),
    path("<slug:organisation>/members/<int:member>/remove/", views.member_remove, name="member-remove"),
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
