"""PROVE itself, importable without Django, Celery or torch."""
