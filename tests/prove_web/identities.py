"""A small OpenID Connect provider for tests: it answers over HTTP and signs its tokens as real providers do."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.waiting import eventually

CLIENT, SECRET = "prove", "known to both"


@dataclass
class Identities:
    """Sign in the user that `person` describes; `says` replaces claims in the response of userinfo."""

    person: dict[str, Any] = field(default_factory=dict)
    says: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048))

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/openid-configuration", self.about),
            Route("/authorize", self.authorize),
            Route("/token", self.token, methods=["POST"]),
            Route("/userinfo", self.userinfo),
            Route("/keys", self.keys),
        ]

    async def about(self, request: Request) -> Response:
        ends = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        endpoints = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in ends.items()}
        return JSONResponse({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **endpoints})

    async def authorize(self, request: Request) -> Response:
        params = dict(request.query_params)
        if not self.person:
            return RedirectResponse(f"{params['redirect_uri']}?{urlencode(refusal(params))}")
        code = secrets.token_urlsafe()
        self.codes[code] = params
        return RedirectResponse(f"{params['redirect_uri']}?{urlencode({'code': code, 'state': params['state']})}")

    async def token(self, request: Request) -> Response:
        form = dict(await request.form())
        params = self.codes.pop(str(form.get("code")), None)
        known = (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        if not known or params is None or "code_challenge" not in params or not form.get("code_verifier"):
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        access = secrets.token_urlsafe()
        self.tokens[access] = {**self.person, **self.says}
        claims = {**self.person, "iss": self.url, "aud": CLIENT, "iat": 0, "exp": 4_000_000_000}
        signed = jwt.encode(claims, self.key, "RS256", headers={"kid": "one"})
        return JSONResponse({"access_token": access, "token_type": "Bearer", "id_token": signed})

    async def userinfo(self, request: Request) -> Response:
        claims = self.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        return JSONResponse(claims) if claims else Response(status_code=401)

    async def keys(self, request: Request) -> Response:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return JSONResponse({"keys": [{**key, "kid": "one"}]})


def refusal(params: dict[str, str]) -> dict[str, str]:
    return {"error": "access_denied", "state": params["state"]}


@contextmanager
def identities() -> Iterator[Identities]:
    """Run the provider on a free port of this machine."""
    site = Identities()
    config = uvicorn.Config(Starlette(routes=site.routes()), port=0, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, "the site of identities", every=0.02)
    site.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield site
    server.should_exit = True
    thread.join()
