"""What ends a turn or a run early."""

from __future__ import annotations

from orglab.engine.run.limits import LimitReached

ACCOUNT_ERRORS = frozenset(("authentication", "quota exhausted"))
"""Kinds of errors that every call of an account meets: no role is to blame for them."""


class TurnFailed(Exception):
    """Raised when a turn gives no output. ``kind`` names the error.

    Attributes:
        of_account: An account is empty, or takes no key. It fails the run, whatever ``on_error``
            says: a team without a role is no answer to an unpaid bill.
    """

    def __init__(self, kind: str, message: str, *, of_account: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.of_account = of_account or kind in ACCOUNT_ERRORS


class RunStopped(Exception):
    """Raised within a run to stop it; the text is the limit.

    Attributes:
        error: Where the limit is one of the run around it: what that one is to know.
    """

    def __init__(self, limit: str, error: LimitReached | None = None) -> None:
        super().__init__(limit)
        self.error = error


class RunFailed(Exception):
    """Raised within a run to fail it; the text is the reason."""

    def __init__(self, reason: str, *, of_account: bool = False) -> None:
        super().__init__(reason)
        self.of_account = of_account
