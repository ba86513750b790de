"""The user's wish to stop, as it travels through a run: no fault of anyone."""

from __future__ import annotations

__all__ = ["Interrupted"]


class Interrupted(BaseException):
    """Raised where a call is not begun, or not answered, because the user stops.

    The run can go on later. It is no ``Exception``, so that nothing which records the faults of
    plugins takes it for one.
    """
