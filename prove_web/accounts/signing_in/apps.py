from allauth.usersessions.apps import UserSessionsConfig


class SessionsConfig(UserSessionsConfig):
    """allauth's table of sessions; sessions.py decides what is written to it."""

    def ready(self) -> None:
        pass
