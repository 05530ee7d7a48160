"""URLs of signing in. Those of allauth keep its names, and only reachable ones are included."""

from allauth.account.views import reauthenticate
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from django.contrib.auth.views import LogoutView
from django.urls import path

from ..permissions import allow_anyone, signed_in
from ..views import password_changed
from . import pages, views
from .views import PasskeySignInPage

sign_in = allow_anyone(pages.SignInPage.as_view())

urlpatterns = [
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/", sign_in, name="account_login"),
    path("sign-in/passkey/", allow_anyone(PasskeySignInPage.as_view()), name="mfa_login_webauthn"),
    path("sign-in/code/", allow_anyone(mfa.authenticate), name="mfa_authenticate"),
    path("sign-in/by/<slug:provider_id>/", pages.begin, name="openid_connect_login"),
    path("sign-in/by/<slug:provider_id>/back/", pages.back, name="openid_connect_callback"),
    path("sign-in/cancelled/", pages.handle_cancelled_sign_in, name="socialaccount_login_cancelled"),
    path("sign-out/", allow_anyone(LogoutView.as_view()), name="sign-out"),
    path("account/", pages.account, name="account"),
    path("account/", pages.account, name="mfa_index"),
    path("account/", pages.account, name="mfa_list_webauthn"),
    path("account/sessions/", views.sessions, name="account-sessions"),
    path("account/data/", views.account_data, name="account-data"),
    path("account/close/", views.account_close, name="account-close"),
    path("account/password/", signed_in(pages.PasswordPage.as_view()), name="password"),
    path("account/password/changed/", password_changed, name="password-changed"),
    path("account/confirm/", signed_in(reauthenticate), name="account_reauthenticate"),
    path("account/confirm/code/", signed_in(mfa.reauthenticate), name="mfa_reauthenticate"),
    path("account/confirm/passkey/", signed_in(passkeys.reauthenticate_webauthn), name="mfa_reauthenticate_webauthn"),
    path("account/passkeys/add/", signed_in(passkeys.add_webauthn), name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>/remove/", signed_in(passkeys.remove_webauthn), name="mfa_remove_webauthn"),
    path("account/second-factor/", signed_in(totp.activate_totp), name="mfa_activate_totp"),
    path("account/second-factor/off/", signed_in(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("account/recovery-codes/", signed_in(codes.view_recovery_codes), name="mfa_view_recovery_codes"),
    path("account/recovery-codes/new/", signed_in(codes.generate_recovery_codes), name="mfa_generate_recovery_codes"),
    path("account/recovery-codes/file/", signed_in(codes.download_recovery_codes), name="mfa_download_recovery_codes"),
    path("account/identity/remove/", pages.identity_remove, name="identity-remove"),
]
