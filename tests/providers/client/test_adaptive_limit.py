"""The limiter's rules, as properties of any course of calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.client.adaptive_limit import AdaptiveLimit, CallOutcome, CallTicket

OUTCOMES: tuple[CallOutcome, ...] = ("answered", "rate limited", "server error", "nothing")
steps = st.lists(
    st.tuples(st.sampled_from(["begin", *OUTCOMES]), st.integers(0, 30), st.floats(0, 5)),
    max_size=120,
)


def play(
    limiter: AdaptiveLimit, course: list[tuple[str, int, float]]
) -> list[tuple[str, int, int]]:
    """Plays a course; gives each step with the limit before and after it."""
    now, sent, told = 0.0, list[CallTicket](), []
    for what, which, seconds in course:
        now += seconds
        before = limiter.limit
        if what == "begin":
            if limiter.may_begin(now):
                sent.append(limiter.begin())
        elif sent:
            outcome = next(each for each in OUTCOMES if each == what)
            limiter.end(sent.pop(which % len(sent)), outcome, now)
        assert limiter.under_way == len(sent)
        told.append((what, before, limiter.limit))
    return told


@given(steps, st.integers(1, 12), st.integers(1, 40))
def test_bounds(course: list[tuple[str, int, float]], start: int, most: int) -> None:
    """The limit is never below 1 nor above the largest, and no more are under way than it let in."""
    limiter = AdaptiveLimit(start=start, most=most)
    for what, before, after in play(limiter, course):
        assert 1 <= after <= most
        assert after <= before + 1
        if after > before:
            assert what == "answered"
        if after < before:
            assert what == "rate limited"


@given(steps)
def test_free_again(course: list[tuple[str, int, float]]) -> None:
    """Whatever happened, when all have ended a call may begin."""
    limiter = AdaptiveLimit()
    play(limiter, course)
    while limiter.under_way:
        limiter.end(CallTicket(0, 0), "nothing", 0.0)
    assert limiter.may_begin(0.0)


@given(st.integers(1, 64), st.integers(1, 64))
def test_a_burst_cuts_once(start: int, refused: int) -> None:
    """All refusals of calls that were sent before a cut are one cut."""
    limiter = AdaptiveLimit(start=start, most=64)
    burst = [limiter.begin() for _ in range(start)]
    for sent in burst[:refused]:
        limiter.end(sent, "rate limited", 1.0)
    assert limiter.cuts == 1
    assert limiter.limit == max(1, int(start * 0.7))


def test_refusals_after_a_cut_cut_again() -> None:
    """What is sent after a cut and is refused is news."""
    limiter = AdaptiveLimit(start=16)
    for expected in (8, 4, 2, 1, 1):
        limiter.end(limiter.begin(), "rate limited", 1.0)
        assert limiter.limit == expected


@given(st.integers(2, 40), st.integers(1, 200))
def test_no_growth_unless_full(start: int, calls: int) -> None:
    """Calls that leave places free never raise the limit."""
    limiter = AdaptiveLimit(start=start)
    for _ in range(calls):
        limiter.end(limiter.begin(), "answered", 1.0)
    assert limiter.limit == start


def round_trip(limiter: AdaptiveLimit, now: float, outcome: CallOutcome = "answered") -> None:
    """As many calls as may be, all ended."""
    calls = []
    while limiter.may_begin(now):
        calls.append(limiter.begin())
    for sent in calls:
        limiter.end(sent, outcome, now)


def test_slow_start_doubles() -> None:
    """Until the first refusal the limit doubles in a round of full places."""
    limiter = AdaptiveLimit(start=8)
    for expected in (16, 32, 64):
        round_trip(limiter, 0.0)
        assert limiter.limit == expected


def test_gentle_growth_after_a_cut() -> None:
    """After a cut a full round adds one."""
    limiter = AdaptiveLimit(start=8)
    round_trip(limiter, 0.0, "rate limited")
    for expected in (6, 7, 8):
        round_trip(limiter, 1.0)
        assert limiter.limit == expected


def test_a_fault_of_the_server_pauses_growth() -> None:
    """A 5xx cuts nothing; for ten seconds nothing grows."""
    limiter = AdaptiveLimit(start=8)
    limiter.end(limiter.begin(), "server error", 100.0)
    round_trip(limiter, 109.0)
    assert limiter.limit == 8
    round_trip(limiter, 110.0)
    assert limiter.limit == 16


def test_a_pause() -> None:
    """Nothing begins before a pause ends; the longest counts."""
    limiter = AdaptiveLimit()
    limiter.pause(12.0)
    limiter.pause(11.0)
    assert not limiter.may_begin(11.9)
    assert limiter.pause_left(11.0) == 1.0
    assert limiter.may_begin(12.0)
