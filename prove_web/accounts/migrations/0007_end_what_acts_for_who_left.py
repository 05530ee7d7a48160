"""What acts in the name of people who had left before this was seen to: it must not begin again when they come back."""

from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef
from django.utils import timezone

OWNER, MAINTAINER, ANNOTATOR = ["owner"], ["maintainer", "owner"], ["annotator", "maintainer", "owner"]
ANY = ["viewer", *ANNOTATOR]
# Each table: the fields that lead to its team and its maker, when it ended, and the roles that may have one.
TABLES = (
    ("api", "ApiToken", "organisation", "user", "revoked_at", ANY),
    ("servers", "ConnectToken", "session__project__organisation", "made_by", "revoked_at", ANNOTATOR),
    ("sharing", "Share", "project__organisation", "made_by", "withdrawn_at", MAINTAINER),
    ("workers", "Enrolment", "organisation", "made_by", "revoked_at", OWNER),
)


def end(apps: Any, editor: Any) -> None:
    members = apps.get_model("accounts", "Membership").objects
    for app, name, team, maker, ended, roles in TABLES:
        rows = apps.get_model(app, name)._base_manager
        may = members.filter(organisation=OuterRef(team), user=OuterRef(maker), role__in=roles)
        gone = rows.filter(~Exists(may), **{ended: None}).values_list("pk", flat=True)
        rows.filter(pk__in=list(gone)).update(**{ended: timezone.now()})


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_second_factor_required"),
        ("api", "0001_tokens"),
        ("servers", "0003_live"),
        ("sharing", "0002_why_withdrawn"),
        ("workers", "0001_initial"),
    ]

    operations = [migrations.RunPython(end, migrations.RunPython.noop)]
