from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Jobs, their events, and the WebSockets that deliver them."""

    name = "prove_web.live"
    label = "live"

    def ready(self) -> None:
        from prove_web.accounts.hooks import PersonalData, personal_data

        from .models import Job

        fields = ("kind", "title", "state", "created_at")
        personal_data.append(
            PersonalData(
                "jobs", lambda user, projects: Job.objects.filter(created_by=user, project__in=projects), fields
            )
        )
