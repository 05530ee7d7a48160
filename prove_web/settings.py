"""Django's settings: all of them from the environment, each with a default that works on a laptop.

PROVE_DATA     the folder that everything is written to (default: data/ beside manage.py)
PROVE_STORAGE  where rollouts outlive the worker's machine, file:///folder or s3://bucket/prefix (default: with the run)
PROVE_DEBUG    1 shows error pages with details; never set it where others can reach the site
PROVE_PORT     the port of `manage.py serve` (default: 8000)
PROVE_MCP_PORT the port of the MCP gateway (default: 8765, or another where that is taken)
PROVE_MCP_TOKEN  what MCP clients must send as bearer token; without it the gateway serves this machine alone
PROVE_EXTERNAL_SERVERS  servers of others that owners may add: url, command or both, with a comma (default: none)
PROVE_DEMO     what an empty site begins with: whole, small or none (default: whole)
PROVE_OWNER_PASSWORD  of the owner that the first start makes (default: made at random and told once)
PROVE_HOSTS    names the site answers to, comma-separated (default: this machine)
DATABASE_URL   the database (default: SQLite in the data folder)
REDIS_URL      the broker (default: the Valkey server that `manage.py serve` starts in the data folder)
PROVE_EVALUATE_ENDPOINTS  endpoints that evaluations may ask beside PROVE_LLM_URL, separated by spaces (default: none)
PROVE_WEBHOOK_HOSTS  hosts inside the network that webhooks may tell, host or host:port, with commas (default: none)
PROVE_LOST_AFTER  seconds without a word from a worker after which its job is lost and tried again (default: 60)
PROVE_GRACE_DAYS  how long what was deleted can be restored (default: 14)
PROVE_JOB_GB   gigabytes that an enrolled machine may leave of one job (default: 50)
PROVE_MACHINE_GB  gigabytes that the jobs of one enrolled machine may take here (default: 200)
PROVE_FREE_GB  gigabytes of the disk that all that writes large files leaves to the site itself (default: 2)
PROVE_OIDC_URL  the site that people may also sign in by, with OpenID Connect (default: none)
PROVE_OIDC_CLIENT_ID  what this site is called there
PROVE_OIDC_SECRET  what proves there that it is this site
PROVE_OIDC_NAME  what its button says (default: single sign-on)
SECRET_KEY     signs sessions and tokens (default: made once, kept in the data folder)
PROVE_LOG      json gives one object a line (default: text)
PROVE_METRICS_TOKEN  what Prometheus must send as bearer token; without it /metrics serves this machine alone
PROVE_API_RATE  requests a minute that one token may make of a web process (default: 600)
PROVE_HTTPS    1 where browsers reach the site by https alone: cookies and redirects then insist on it (default: 0)
PROVE_HSTS_SECONDS  how long browsers are to remember that (default: an hour)
PROVE_HSTS     subdomains, preload or both: how far that is to reach (default: this name alone)
"""

import os
from datetime import timedelta
from pathlib import Path

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.utils.functional import SimpleLazyObject

from prove_web.accounts.signing_in.oidc import providers
from prove_web.broker import embedded_url
from prove_web.env import envbool, envint, envset, envstr
from prove_web.operations.logs import configuration as logging_configuration
from prove_web.secret import secret_key

os.umask(0o077)  # what any program of the site writes is for its user alone
BASE_DIR = Path(__file__).resolve().parent.parent
PROVE_DATA = Path(envstr("PROVE_DATA", str(BASE_DIR / "data"))).expanduser().resolve()
PROVE_STORAGE = envstr("PROVE_STORAGE", "")
REDIS_URL = envstr("REDIS_URL", embedded_url(PROVE_DATA))

DEBUG = envbool("PROVE_DEBUG", False)
SECRET_KEY = SimpleLazyObject(lambda: secret_key(PROVE_DATA))  # made when first used: a pipeline run needs none
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
    "prove_web.operations.middleware.observed",
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
    "prove_web.accounts.signing_in.sessions.seen",
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

# WAL lets readers go on while one writer writes; IMMEDIATE makes a second writer wait its turn instead of failing.
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

# Channels waits five seconds for a message before it asks again; the client must not give up in the same second.
CHANNEL_HOST = {"address": REDIS_URL, "socket_timeout": 30}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [CHANNEL_HOST]}}}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "prove_web.accounts.backends.NameOrAddress"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# Ten wrong passwords for one name from one address: no more tries for a quarter of an hour.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "prove_web.accounts.backends.counted_name"
AXES_LOCKOUT_CALLABLE = "prove_web.accounts.views.locked_out"
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
# Signing in (accounts/signing_in). Wrong codes of the second factor are counted by axes, like wrong passwords.
ACCOUNT_ADAPTER = "prove_web.accounts.signing_in.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before an identity of another site is connected
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "PROVE Studio"
MFA_TOTP_TOLERANCE = 1  # clocks that are half a minute apart
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
SOCIALACCOUNT_LOGIN_ON_GET = True  # a form that leads to another site is forbidden by form-action
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"  # the site sends no mail, and needs no server for it

# Who did what (accounts/audit): values as they are, and also of rows that a list leaves out.
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

# Behind a proxy that ends TLS, uvicorn learns from it that a request came by https: see FORWARDED_ALLOW_IPS.
HTTPS = envbool("PROVE_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]  # asked for by programs on the inside of that proxy
HSTS = envset("PROVE_HSTS", {"subdomains", "preload"})
SECURE_HSTS_SECONDS = envint("PROVE_HSTS_SECONDS", 3600) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS, SECURE_HSTS_PRELOAD = "subdomains" in HSTS, "preload" in HSTS

DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000  # a review has some for every call of a long trajectory

# A job that has not been heard of for this long is lost, and its next attempt begins.
LOST_AFTER_SECONDS = envint("PROVE_LOST_AFTER", 60)

# Webhooks go to public hosts, and to those that are named here.
WEBHOOK_HOSTS = frozenset(filter(None, (one.strip().lower() for one in envstr("PROVE_WEBHOOK_HOSTS", "").split(","))))
# What was deleted waits in the bin for so long.
GRACE_DAYS = envint("PROVE_GRACE_DAYS", 14)

# What enrolled machines may leave here, in GB of 10**9 bytes, and what of the disk stays free.
JOB_GB, MACHINE_GB = envint("PROVE_JOB_GB", 50), envint("PROVE_MACHINE_GB", 200)
FREE_GB = envint("PROVE_FREE_GB", 2)

# Measurements are read by programs.
METRICS_TOKEN = envstr("PROVE_METRICS_TOKEN", "")
LOGGING = logging_configuration()

# Requests a minute of one token, or one person who is signed in.
API_RATE = envint("PROVE_API_RATE", 600)

# Servers that others wrote: a command runs on this machine, an address is called from it.
EXTERNAL_SERVERS = envset("PROVE_EXTERNAL_SERVERS", {"command", "url"})

TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en-us"
