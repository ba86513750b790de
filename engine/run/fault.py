"""What makes a turn give no output."""

from __future__ import annotations

__all__ = ["TurnFailed"]


class TurnFailed(Exception):
    """Raised when a turn gives no output. ``kind`` names the fault."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
