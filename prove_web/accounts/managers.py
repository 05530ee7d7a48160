"""What is deleted is out of sight: the manager of things that wait in the bin for a while before they are gone."""

from __future__ import annotations

from django.db import models


class ActiveManager(models.Manager):
    """All but what was deleted. Foreign keys still lead to it, so that what used it can say so."""

    def get_queryset(self) -> models.QuerySet:
        return super().get_queryset().filter(deleted_at=None)
