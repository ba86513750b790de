"""How prompts are cut into chunks, so that what is kept of one is what reading it would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.llama.backend import CHUNK, chunk_ends

END = 2


def _ends_turn(token: int) -> bool:
    return token == END


def test_chunks_end_with_turns_and_within_long_ones() -> None:
    """A turn of 150 tokens, a short one, and the beginning of the reply."""
    prompt = [*[5] * 149, END, 5, END, 7, 7]
    assert chunk_ends(prompt, _ends_turn) == [CHUNK, 2 * CHUNK, 150, 152, 154]


def test_a_prompt_that_ends_with_a_turn_has_no_empty_chunk() -> None:
    """The last chunk holds at least a token."""
    assert chunk_ends([5, END], _ends_turn) == [2]
    assert chunk_ends([5], _ends_turn) == [1]


@given(
    same=st.lists(st.integers(1, 3), max_size=200),
    one=st.lists(st.integers(1, 3), min_size=1, max_size=90),
    two=st.lists(st.integers(1, 3), min_size=1, max_size=90),
)
def test_prompts_with_the_same_beginning_are_cut_alike_in_it(
    same: list[int], one: list[int], two: list[int]
) -> None:
    """Where a chunk ends depends on nothing that comes after it, the prompt's own end aside."""
    first, second = chunk_ends(same + one, _ends_turn), chunk_ends(same + two, _ends_turn)
    within = [[end for end in ends if end <= len(same)] for ends in (first, second)]
    assert within[0] == within[1]
    for ends in (first, second):
        sizes = [b - a for a, b in zip([0, *ends], ends, strict=False)]
        assert all(1 <= size <= CHUNK for size in sizes)
