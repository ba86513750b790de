"""Words of simulated texts."""

from __future__ import annotations

import itertools

from orglab.evaluators.text.lexicon import load_lexicon
from orglab.providers.simulated.prose import HEDGES, WORDS, plural

CONTENT = (WORDS["nouns"], WORDS["adjectives"], WORDS["verbs"])


def test_no_content_word_is_a_hedge() -> None:
    """Else a text would hedge where no profile planted it."""
    lexicon = load_lexicon(None, "hedges.yaml")
    for word in (*itertools.chain(*CONTENT), *WORDS["concessions"]):
        assert not list(lexicon.found(f"{word} {plural(word)}")), word


def test_every_hedge_counts_in_its_class() -> None:
    """The evaluator finds each, and puts it where the profile's rates put it."""
    lexicon = load_lexicon(None, "hedges.yaml")
    for name, words in HEDGES.items():
        assert {lexicon.classes[word] for word in words} == {name}


def test_lists_hold_each_word_once() -> None:
    """A word written twice would come up twice as often."""
    for words in CONTENT:
        assert len(set(words)) == len(words) > 200


def test_plurals() -> None:
    """Regular ones; the third person of verbs is made alike."""
    made = [plural(word) for word in ("battery", "delay", "switch", "box", "case")]
    assert made == ["batteries", "delays", "switches", "boxes", "cases"]
