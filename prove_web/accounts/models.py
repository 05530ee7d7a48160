"""Users, the organisations they are members of, and the projects of those."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone

from .audit.models import Entry
from .managers import ActiveManager
from .roles import Role

__all__ = ["Entry", "Invitation", "Membership", "Organisation", "Preference", "Project", "SavedView", "User"]

RESERVED = frozenset(
    {
        *("sign-in", "sign-out", "account", "static", "ws", "mcp", "api", "health", "metrics", "admin", "shared"),
        *("new", "members", "audit", "bin", "worker"),
    }
)


def not_reserved(slug: str) -> None:
    if slug in RESERVED:
        raise ValidationError(f"“{slug}” is reserved. Choose another name.")


class User(AbstractUser):
    """A user, who signs in by user name or e-mail address."""

    email = models.EmailField("e-mail address", unique=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="one_user_per_address")]


class Organisation(models.Model):
    """A team: its members, and nobody else, see all of its projects."""

    slug = models.SlugField(max_length=40, unique=True, validators=[not_reserved])
    name = models.CharField(max_length=80)
    second_factor_from = models.DateTimeField(null=True, blank=True)  # members without one have no access after it
    members = models.ManyToManyField(User, through="Membership", related_name="organisations")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("members", args=[self.slug])


class Membership(models.Model):
    """One user's role in one organisation."""

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.VIEWER)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "user"], name="one_role_per_member")]

    def __str__(self) -> str:
        return str(self.user)

    def get_absolute_url(self) -> str:
        return self.organisation.get_absolute_url()


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        """Return invitations that can still be used."""
        return self.filter(withdrawn_at=None, expires_at__gt=timezone.now(), used__lt=models.F("most"))


class Invitation(models.Model):
    """A link by which people join a team with a role; only the hash of its text is stored.

    It is valid for `most` people until it expires or is withdrawn; with an `email`, only for that address.
    """

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="invitations")
    hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.VIEWER)
    email = models.EmailField(blank=True)
    note = models.CharField(max_length=120, blank=True)
    most = models.PositiveSmallIntegerField(default=1)
    used = models.PositiveSmallIntegerField(default=0)
    made_by = models.ForeignKey(User, models.CASCADE, related_name="invitations")
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.note or self.email or f"{self.get_role_display().lower()}, no. {self.pk}"

    def get_absolute_url(self) -> str:
        return self.organisation.get_absolute_url()

    @property
    def closed_reason(self) -> str:
        """The reason why nobody can join by it: withdrawn, expired or used; "" while it is open."""
        if self.withdrawn_at:
            return "withdrawn"
        if self.expires_at <= timezone.now():
            return "expired"
        return "used" if self.used >= self.most else ""


class ProjectQuerySet(models.QuerySet["Project"]):
    def filter_visible_to(self, user: User) -> ProjectQuerySet:
        """Return the projects that this user may see."""
        from .second_factor import get_second_factors, open_now  # its library has models, which load after ours

        entered = open_now("organisation") | models.Exists(get_second_factors(user))
        return self.filter(entered, organisation__memberships__user=user)


class Project(models.Model):
    """A project of a team, to which datasets, sessions and runs belong."""

    organisation = models.ForeignKey(Organisation, models.CASCADE, related_name="projects")
    slug = models.SlugField(max_length=40, validators=[not_reserved])
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)  # moved to the trash; it is purged after a while

    objects = ActiveManager.from_queryset(ProjectQuerySet)()
    everything = models.Manager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["organisation", "slug"], name="one_project_per_slug")]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> tuple[str, str]:
        """The arguments of every URL inside the project."""
        return self.organisation.slug, self.slug

    def get_absolute_url(self) -> str:
        return reverse("home", args=self.path)


class SavedView(models.Model):
    """A filtered list, saved under a name for the team: `page` names the list, `query` is its query string."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=40)
    name = models.CharField(max_length=80)
    query = models.TextField()
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "page", "name"], name="one_saved_view_per_name")]

    def __str__(self) -> str:
        return self.name


class Preference(models.Model):
    """One user's settings for a page of a project, such as the columns of its table; `page` names it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="preferences")
    project = models.ForeignKey(Project, models.CASCADE, related_name="preferences")
    page = models.CharField(max_length=40)
    value = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "project", "page"], name="one_preference_per_page")]
