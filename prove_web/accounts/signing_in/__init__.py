"""Signing in: by password, with a second factor, by an identity of another site; django-allauth does it, we say how."""
