"""The pages of one's own account: signing in, the password, the second factor, identities of other sites."""

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
from ..permissions import anyone, signed_in
from .oidc import ID, PROVIDER
from .sessions import end, note, places
from .signals import tell

ELSEWHERE = ("cross-site", "same-site")  # what a browser says of a request that another page began


class SignInPage(LoginView):
    """By user name or e-mail address, and after it the second factor of who has one."""

    template_name = "accounts/sign_in.html"
    authentication_form = SignIn
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        return perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"other": other_site(self.get_redirect_url())}


class PasswordPage(PasswordChangeView):
    """The old password is asked for where there is one; with a new one, all other browsers are signed out."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("password-changed")

    def get_form_class(self) -> type:
        return super().get_form_class() if self.request.user.has_usable_password() else SetPasswordForm

    def form_valid(self, form: Any) -> HttpResponse:
        tell(self.request.user, "changed the password of")
        answer = super().form_valid(form)
        end(self.request.user, self.request.session.session_key)
        note(self.request, self.request.user)
        return answer


def other_site(after: str = "", **more: str) -> dict[str, str] | None:
    """Name and address of the other site that one may sign in by; None where the operator names none."""
    apps = settings.SOCIALACCOUNT_PROVIDERS.get(PROVIDER, {}).get("APPS", [])
    if not apps:
        return None
    query = urlencode({"next": after, **more} if after else more)
    return {"name": apps[0]["name"], "url": f"{reverse('openid_connect_login', args=[ID])}?{query}"}


@signed_in
@require_GET
def account(request: Any) -> HttpResponse:
    """What one signs in with."""
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
    """Forget an identity of another site; the last way to sign in stays."""
    number = request.POST.get("identity", "")
    known = number if number.isdecimal() and len(number) < 19 else 0
    found = get_object_or_404(SocialAccount, user=request.user, pk=known)
    others = SocialAccount.objects.filter(user=request.user).exclude(pk=found.pk)
    if not request.user.has_usable_password() and not others.exists():
        messages.error(request, "This is your only way to sign in. Set a password first.")
    else:
        found.delete()
        tell(request.user, "disconnected another site from")
        messages.success(request, "Disconnected. It can no longer sign you in.")
    return redirect("account")


def reached(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A step of signing in by the other site, with a page for when that does not answer as such a site should."""

    @wraps(view)
    def tried(request: HttpRequest, provider_id: str) -> HttpResponse:
        try:
            return view(request, provider_id)
        except (RequestException, KeyError, ValueError):
            return render(request, "socialaccount/authentication_error.html", status=502)

    return anyone(tried)


def from_here(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """An identity is connected by our own button: a page of others must not connect one of theirs."""

    @wraps(view)
    def looked(request: HttpRequest, provider_id: str) -> HttpResponse:
        if request.GET.get("process") == "connect" and request.headers.get("Sec-Fetch-Site") in ELSEWHERE:
            messages.warning(
                request, "Not connected: the request came from another page. Use the Connect button on this page."
            )
            return redirect("account")
        return view(request, provider_id)

    return looked


begin, back = reached(from_here(oidc.login)), reached(oidc.callback)


@anyone
@require_GET
def cancelled(request: HttpRequest) -> HttpResponse:
    """Where the other site leads back to when one changes one's mind there."""
    messages.info(request, "Sign-in was cancelled at the identity provider.")
    return redirect("account" if request.user.is_authenticated else "sign-in")
