"""What makes a turn give no output."""

from __future__ import annotations

__all__ = ["ACCOUNT_ERRORS", "TurnFailed"]

ACCOUNT_ERRORS = frozenset(("authentication", "quota exhausted"))
"""Kinds of faults that every call of an account meets: no role is to blame for them."""


class TurnFailed(Exception):
    """Raised when a turn gives no output. ``kind`` names the fault.

    Attributes:
        of_account: An account is empty, or takes no key. It fails the run, whatever ``on_error``
            says: a team without a role is no answer to an unpaid bill.
    """

    def __init__(self, kind: str, message: str, *, of_account: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.of_account = of_account or kind in ACCOUNT_ERRORS
