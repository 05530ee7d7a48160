"""Pages of one's own account: sign-in, password, second factor, external identities."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.utils import perform_login
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from ..forms import SignIn
from ..permissions import allow_anyone, signed_in
from .oidc import ID, PROVIDER
from .sessions import end, note, places
from .signals import log_account_event

ELSEWHERE = ("cross-site", "same-site")  # browsers' values for a request started by another page


class SignInPage(LoginView):
    """Sign-in by user name or e-mail address, followed by the second factor if there is one."""

    template_name = "accounts/sign_in.html"
    authentication_form = SignIn
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        return perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"other": other_site(self.get_redirect_url())}


class PasswordPage(PasswordChangeView):
    """Change of password; it requires the old one if there is one, and signs out all other browsers."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("password-changed")

    def get_form_class(self) -> type:
        return super().get_form_class() if self.request.user.has_usable_password() else SetPasswordForm

    def form_valid(self, form: Any) -> HttpResponse:
        log_account_event(self.request.user, "changed the password of")
        answer = super().form_valid(form)
        end(self.request.user, self.request.session.session_key)
        note(self.request, self.request.user)
        return answer


def other_site(after: str = "", **more: str) -> dict[str, str] | None:
    """Return name and URL of the identity provider for signing in; None if the operator configured none."""
    apps = settings.SOCIALACCOUNT_PROVIDERS.get(PROVIDER, {}).get("APPS", [])
    if not apps:
        return None
    query = urlencode({"next": after, **more} if after else more)
    return {"name": apps[0]["name"], "url": f"{reverse('openid_connect_login', args=[ID])}?{query}"}


@signed_in
@require_GET
def account(request: Any) -> HttpResponse:
    """Show the user's ways to sign in."""
    found = list(Authenticator.objects.filter(user=request.user).order_by("pk"))
    codes = next((each for each in found if each.type == Authenticator.Type.RECOVERY_CODES), None)
    context = {
        "app": any(each.type == Authenticator.Type.TOTP for each in found),
        "keys": [each for each in found if each.type == Authenticator.Type.WEBAUTHN],
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
        "identities": SocialAccount.objects.filter(user=request.user).order_by("pk"),
        "other": other_site(reverse("account"), process="connect"),
        "places": places(request.user, request.session.session_key),
    }
    return render(request, "accounts/account.html", context)


@signed_in
@require_POST
def identity_remove(request: Any) -> HttpResponse:
    """Disconnect an external identity, unless it is the only way to sign in."""
    number = request.POST.get("identity", "")
    known = number if number.isdecimal() and len(number) < 19 else 0
    found = get_object_or_404(SocialAccount, user=request.user, pk=known)
    others = SocialAccount.objects.filter(user=request.user).exclude(pk=found.pk)
    if not request.user.has_usable_password() and not others.exists():
        messages.error(request, "This is your only way to sign in. Set a password first.")
    else:
        found.delete()
        log_account_event(request.user, "disconnected another site from")
        messages.success(request, "Disconnected. It can no longer sign you in.")
    return redirect("account")


def handle_provider_errors(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a step of signing in by the identity provider, with an error page if the provider fails to answer."""

    @wraps(view)
    def call_provider_view(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except (RequestException, KeyError, ValueError):
            return render(request, "socialaccount/authentication_error.html", status=502)

    return allow_anyone(call_provider_view)


def from_here(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Allow connecting an identity only from our own button: another site's page must not connect its own."""

    @wraps(view)
    def check_request_origin(request: HttpRequest, provider_id: str) -> HttpResponse:
        if request.GET.get("process") == "connect" and request.headers.get("Sec-Fetch-Site") in ELSEWHERE:
            messages.warning(
                request, "Not connected: the request came from another page. Use the Connect button on this page."
            )
            return redirect("account")
        return view(request, provider_id)

    return check_request_origin


begin, back = handle_provider_errors(from_here(oidc.login)), handle_provider_errors(oidc.callback)


@allow_anyone
@require_GET
def handle_cancelled_sign_in(request: HttpRequest) -> HttpResponse:
    """Handle the return from the identity provider after a cancelled sign-in."""
    messages.info(request, "Sign-in was cancelled at the identity provider.")
    return redirect("account" if request.user.is_authenticated else "sign-in")
