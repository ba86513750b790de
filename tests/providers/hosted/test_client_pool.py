"""A few calls a client, and no more clients than are needed."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count

import pytest

from orglab.providers.hosted.http import CALLS_A_CLIENT, ClientPool


def test_as_many_clients_as_are_needed() -> None:
    """The seventeenth call at once meets a second client; when calls end, the first serves again."""
    clients = ClientPool(count(1).__next__)
    with ExitStack() as calls:
        met = [calls.enter_context(clients.one()) for _ in range(2 * CALLS_A_CLIENT + 1)]
    assert [met.count(each) for each in (1, 2, 3)] == [CALLS_A_CLIENT, CALLS_A_CLIENT, 1]
    with clients.one() as again:
        assert again == 1


def test_a_failed_call_gives_its_place_back() -> None:
    """However a call ends, its client has room again."""
    clients = ClientPool(count(1).__next__)
    for _ in range(3 * CALLS_A_CLIENT):
        with pytest.raises(ValueError, match="failed"), clients.one():
            raise ValueError("failed")
    assert clients.taken() == [1]


def test_clients_taken_to_be_closed_serve_no_more() -> None:
    """What is asked after a close meets a new client, also while an old call ends."""
    clients = ClientPool(count(1).__next__)
    with clients.one() as old:
        assert clients.taken() == [old] == [1]
    with clients.one() as new:
        assert new == 2
    assert clients.taken() == [2]
