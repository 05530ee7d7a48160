"""Django's settings: all of them from the environment, each with a default that works on a laptop.

PROVE_DATA   the folder that everything is written to (default: data/ beside manage.py)
PROVE_DEBUG  1 shows error pages with details; never set it where others can reach the site
SECRET_KEY   signs sessions and tokens (default: made once, kept in the data folder)
"""

from pathlib import Path

from django.utils.functional import SimpleLazyObject

from prove_web.env import envbool, envstr
from prove_web.secret import secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
PROVE_DATA = Path(envstr("PROVE_DATA", str(BASE_DIR / "data"))).expanduser().resolve()

DEBUG = envbool("PROVE_DEBUG", False)
SECRET_KEY = SimpleLazyObject(lambda: secret_key(PROVE_DATA))  # made when first used: a pipeline run needs none

INSTALLED_APPS = ["prove_web.experiments"]

# WAL lets readers go on while one writer writes; IMMEDIATE makes a second writer wait its turn instead of failing.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": PROVE_DATA / "prove.sqlite3",
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TIME_ZONE = "UTC"
USE_TZ = True
