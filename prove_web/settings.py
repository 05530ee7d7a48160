"""Django settings, all from the environment, with defaults that work on a laptop.

PROVE_DATA     the folder for all data (default: data/ beside manage.py)
PROVE_STORAGE  durable storage of rollouts, file:///folder or s3://bucket/prefix (default: in the run's folder)
PROVE_DEBUG    1 shows error pages with details; never set it where others can reach the site
PROVE_PORT     the port of `manage.py serve` (default: 8000)
PROVE_MCP_PORT the port of the MCP gateway (default: 8765, or another if that is in use)
PROVE_MCP_TOKEN  the bearer token of MCP clients; without it the gateway serves only this machine
PROVE_EXTERNAL_SERVERS  third-party servers that owners may add: url, command or both, comma-separated (default: none)
PROVE_DEMO     the demo of an empty site: whole, small or none (default: whole)
PROVE_OWNER_PASSWORD  the password of the first owner (default: random, printed once at the first start)
PROVE_HOSTS    host names of the site, comma-separated (default: this machine)
DATABASE_URL   the database (default: SQLite in the data folder)
REDIS_URL      the broker (default: the Valkey server that `manage.py serve` starts in the data folder)
PROVE_EVALUATE_ENDPOINTS  endpoints for evaluations besides PROVE_LLM_URL, space-separated (default: none)
PROVE_WEBHOOK_HOSTS  private hosts that webhooks may reach, host or host:port, comma-separated (default: none)
PROVE_LOST_AFTER  seconds without a heartbeat after which a worker's job is lost and retried (default: 60)
PROVE_GRACE_DAYS  days for which deleted things can be restored (default: 14)
PROVE_JOB_GB   gigabytes that an enrolled machine may upload for one job (default: 50)
PROVE_MACHINE_GB  gigabytes that the jobs of one enrolled machine may occupy here (default: 200)
PROVE_FREE_GB  gigabytes of the disk that stay free when large files are written (default: 2)
PROVE_OIDC_URL  the OpenID Connect provider for signing in (default: none)
PROVE_OIDC_CLIENT_ID  the client ID of this site at the provider
PROVE_OIDC_SECRET  the client secret of this site at the provider
PROVE_OIDC_NAME  the label of the provider's button (default: single sign-on)
SECRET_KEY     signs sessions and tokens (default: created once, stored in the data folder)
PROVE_LOG      json writes one object per line (default: text)
PROVE_METRICS_TOKEN  the bearer token of Prometheus; without it /metrics serves only this machine
PROVE_API_RATE  requests per minute of one token to one web process (default: 600)
PROVE_HTTPS    1 if browsers reach the site only by https: cookies and redirects then require it (default: 0)
PROVE_HSTS_SECONDS  how long browsers remember that (default: an hour)
PROVE_HSTS     subdomains, preload or both: the scope of that (default: only this name)
"""

import os
from datetime import timedelta
from pathlib import Path

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.utils.functional import SimpleLazyObject

from prove_web.accounts.signing_in.oidc import providers
from prove_web.core.broker import embedded_url
from prove_web.core.env import envbool, envint, envset, envstr
from prove_web.core.logs import configuration as logging_configuration
from prove_web.core.secret import secret_key

os.umask(0o077)  # files of all programs of the site are private to their user
BASE_DIR = Path(__file__).resolve().parent.parent
PROVE_DATA = Path(envstr("PROVE_DATA", str(BASE_DIR / "data"))).expanduser().resolve()
PROVE_STORAGE = envstr("PROVE_STORAGE", "")
REDIS_URL = envstr("REDIS_URL", embedded_url(PROVE_DATA))

DEBUG = envbool("PROVE_DEBUG", False)
SECRET_KEY = SimpleLazyObject(lambda: secret_key(PROVE_DATA))  # created when first used: a pipeline run needs none
ALLOWED_HOSTS = envstr("PROVE_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS if "*" not in host]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "prove_web.accounts.signing_in.apps.SessionsConfig",
    "auditlog",
    "axes",
    "channels",
    "csp",
    "django_htmx",
    "django_filters",
    "prove_web.accounts",
    "prove_web.live",
    "prove_web.servers",
    "prove_web.environments",
    "prove_web.trajectories",
    "prove_web.review",
    "prove_web.experiments",
    "prove_web.evaluations",
    "prove_web.sharing",
    "prove_web.alerts",
    "prove_web.workers",
    "prove_web.api",
    "prove_web.operations",
]

MIDDLEWARE = [
    "prove_web.operations.middleware.observe_requests",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "prove_web.accounts.signing_in.sessions.record_sessions",
]

ROOT_URLCONF = "prove_web.urls"
ASGI_APPLICATION = "prove_web.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "prove_web.accounts.context.navigation",
            ],
            "builtins": ["prove_web.live.templatetags.kit"],
        },
    }
]

# WAL lets readers continue while one writer writes; IMMEDIATE makes a second writer wait instead of failing.
SQLITE = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}
DATABASES = {"default": dj_database_url.parse(envstr("DATABASE_URL", f"sqlite:///{PROVE_DATA / 'prove.sqlite3'}"))}
DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = SQLITE
else:
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)  # seconds, not minutes
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Channels waits five seconds for a message before it polls again; the client must not time out in the same second.
CHANNEL_HOST = {"address": REDIS_URL, "socket_timeout": 30}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [CHANNEL_HOST]}}}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "prove_web.accounts.backends.NameOrAddress"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# Ten wrong passwords for one name from one address lock the account for a quarter of an hour.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "prove_web.accounts.backends.counted_name"
AXES_LOCKOUT_CALLABLE = "prove_web.accounts.views.locked_out"
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
# Sign-in (accounts/signing_in). axes counts wrong codes of the second factor like wrong passwords.
ACCOUNT_ADAPTER = "prove_web.accounts.signing_in.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before an external identity is connected
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "PROVE Studio"
MFA_TOTP_TOLERANCE = 1  # clocks may differ by half a minute
MFA_FORMS = {
    "authenticate": "prove_web.accounts.signing_in.mfa_forms.Authenticate",
    "reauthenticate": "prove_web.accounts.signing_in.mfa_forms.Reauthenticate",
    "activate_totp": "prove_web.accounts.signing_in.mfa_forms.Activate",
    "add_webauthn": "prove_web.accounts.signing_in.views.AddPasskey",
    "login_webauthn": "prove_web.accounts.signing_in.views.SignInByPasskey",
    "authenticate_webauthn": "prove_web.accounts.signing_in.views.AuthenticatePasskey",
    "reauthenticate_webauthn": "prove_web.accounts.signing_in.views.ReauthenticatePasskey",
}
SOCIALACCOUNT_ADAPTER = "prove_web.accounts.signing_in.adapters.IdentityAdapter"
SOCIALACCOUNT_PROVIDERS = providers()
SOCIALACCOUNT_LOGIN_ON_GET = True  # form-action forbids a form that leads to another site
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"  # the site sends no mail and needs no mail server

# Audit log (accounts/audit): values unchanged, including those of rows that default managers hide.
AUDITLOG_LOGENTRY_MODEL = "accounts.Entry"
AUDITLOG_STORE_JSON_CHANGES = AUDITLOG_USE_FK_STRING_REPRESENTATION = AUDITLOG_USE_BASE_MANAGER = True

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "sign-in"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "prove_web" / "static"]
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_ALLOW_ALL_ORIGINS = False

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

# Behind a proxy that ends TLS, uvicorn learns from its headers that a request came by https: see FORWARDED_ALLOW_IPS.
HTTPS = envbool("PROVE_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]  # requested by programs behind that proxy
HSTS = envset("PROVE_HSTS", {"subdomains", "preload"})
SECURE_HSTS_SECONDS = envint("PROVE_HSTS_SECONDS", 3600) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS, SECURE_HSTS_PRELOAD = "subdomains" in HSTS, "preload" in HSTS

DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # a review has several for every call of a long trajectory

# A job without a heartbeat for this long is lost, and its next attempt starts.
LOST_AFTER_SECONDS = envint("PROVE_LOST_AFTER", 60)

# Webhooks reach public hosts, and the private ones that are named here.
WEBHOOK_HOSTS = frozenset(filter(None, (one.strip().lower() for one in envstr("PROVE_WEBHOOK_HOSTS", "").split(","))))
# Days in the trash before deleted things are purged.
GRACE_DAYS = envint("PROVE_GRACE_DAYS", 14)

# Quotas of enrolled machines, and the disk space that stays free, in GB of 10**9 bytes.
JOB_GB, MACHINE_GB = envint("PROVE_JOB_GB", 50), envint("PROVE_MACHINE_GB", 200)
FREE_GB = envint("PROVE_FREE_GB", 2)

# Metrics for Prometheus, and logs.
METRICS_TOKEN = envstr("PROVE_METRICS_TOKEN", "")
LOGGING = logging_configuration()

# Requests per minute of one token, or of one signed-in user.
API_RATE = envint("PROVE_API_RATE", 600)

# Third-party servers: a command runs on this machine, a URL is called from it.
EXTERNAL_SERVERS = envset("PROVE_EXTERNAL_SERVERS", {"command", "url"})

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en-us"
