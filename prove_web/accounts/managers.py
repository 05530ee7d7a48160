"""Manager of models with soft deletion, which excludes deleted rows."""

from __future__ import annotations

from django.db import models


class ActiveManager(models.Manager):
    """Manager of all rows but deleted ones. Foreign keys still lead to deleted rows, so that pages can say so."""

    def get_queryset(self) -> models.QuerySet:
        return super().get_queryset().filter(deleted_at=None)
