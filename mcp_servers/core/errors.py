"""Errors of tools and of third-party servers. Any other exception from a tool is a bug."""


class ToolError(Exception):
    """Refusal that the caller can act on: a stable code, and a sentence that says what is wrong and what to do."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class NotFound(ToolError):
    """Refusal of a call that names something that does not exist."""

    def __init__(self, message: str):
        super().__init__("not_found", message)


class ServerFailed(Exception):
    """Failure to start, reach or understand a server in time; the message names the server and says what to do."""
