"""The PROVE core, importable without Django, Celery or torch."""
