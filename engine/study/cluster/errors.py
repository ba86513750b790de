"""What goes wrong between a client and its workers."""

from __future__ import annotations

from orglab.results.store.group_commit import StoreError


class ClusterError(ConnectionError):
    """Raised when a study cannot be run on a cluster, or not go on there; the text says why."""


class RunLost(Exception):
    """Raised at the client for a run whose worker is gone: another is to go on with it."""


class SessionGone(StoreError):
    """Raised on a worker where nothing can be made durable any more.

    Its client is gone, or has given its runs to others.
    """
