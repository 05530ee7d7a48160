"""The ways a tool may refuse, and what a server of others may break with. Anything else a tool raises is a bug."""


class ToolError(Exception):
    """A refusal the caller can act on: a stable code, and a sentence that says what is the case and what to do."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class NotFound(ToolError):
    """Something was named that is not there."""

    def __init__(self, message: str):
        super().__init__("not_found", message)


class ServerFailed(Exception):
    """A server could not be started, reached or understood, or did not answer in time; says which and what to do."""
