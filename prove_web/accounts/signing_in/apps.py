from allauth.usersessions.apps import UserSessionsConfig


class SessionsConfig(UserSessionsConfig):
    """allauth's table of sessions; what is written there is for sessions.py to say."""

    def ready(self) -> None:
        pass
