"""OpenID Connect provider for signing in, configured by the environment."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from prove_web.core.env import envstr

PROVIDER = "openid_connect"
ID = "oidc"


def providers() -> dict[str, Any]:
    """Return allauth's SOCIALACCOUNT_PROVIDERS; empty without PROVE_OIDC_URL.

    Raises ImproperlyConfigured if incomplete.
    """
    url, client = envstr("PROVE_OIDC_URL", ""), envstr("PROVE_OIDC_CLIENT_ID", "")
    if not url:
        return {}
    if not client:
        raise ImproperlyConfigured(
            f"PROVE_OIDC_URL={url!r} needs PROVE_OIDC_CLIENT_ID, the client ID of this site at the provider."
        )
    return build_provider_settings(
        url, client, envstr("PROVE_OIDC_SECRET", ""), envstr("PROVE_OIDC_NAME", "single sign-on")
    )


def build_provider_settings(url: str, client: str, secret: str, name: str) -> dict[str, Any]:
    app = {"provider_id": ID, "name": name, "client_id": client, "secret": secret, "settings": {"server_url": url}}
    return {PROVIDER: {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}
