"""mtld and hedges: published values, the stored cases, lexicons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.text.hedges import Hedges
from orglab.evaluators.text.lexicon import load_lexicon, read_lexicon
from orglab.evaluators.text.mtld import Mtld, factors
from orglab.evaluators.text.normalize import fold_case, words

CAT = (
    "the cat sat on the mat and the dog sat on the log while the cat and the dog watched the bird "
    "in the tree sing a song to the sun"
)


def test_mtld_of_the_published_text() -> None:
    """Both readings and their mean, as in the table of values; short texts are flagged."""
    (score,) = Mtld().measured(CAT)
    assert score.value == pytest.approx(18.013514, abs=5e-7)
    assert score.detail["forward"] == 15.5
    assert score.detail["backward"] == pytest.approx(20.527027, abs=5e-7)
    assert score.reason == "31 words, fewer than 50: unsteady"


def test_mtld_of_case_66() -> None:
    """A factor closes below the threshold; every short text is missing, with the reason."""
    folder = case_folder("66-text-mtld")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for name in ("long.txt", "boundary.txt"):
        (score,) = Mtld().measured((folder / name).read_text(encoding="utf-8"))
        assert score.value == pytest.approx(expected[name]["mtld_lt"], abs=5e-7)
        assert score.detail["words"] == expected[name]["tokens"]
        assert score.reason == ""
    for name in expected["short"]:
        text = (folder / name).read_text(encoding="utf-8")
        (score,) = Mtld().measured(text)
        often = name == "one-word-often.txt"
        why = "all the same: too few to measure" if often else "no factor completed"
        assert (score.value, score.reason) == (None, f"{len(words(text))} words, {why}")
    (long,) = Mtld().measured("the " * 50)  # a model that says one word for ever is measured
    assert (long.value, long.reason) == (2.0, "")


def test_mtld_does_not_see_how_a_text_is_set() -> None:
    """Line ends, blanks and capitals make no difference."""
    set_otherwise = CAT.upper().replace(" ", "  ").replace("AND", "\r\nAND")
    assert Mtld().measured(set_otherwise)[0].value == Mtld().measured(CAT)[0].value


def test_the_threshold() -> None:
    """It must lie between 0 and 1; a factor closes only below it."""
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        Mtld(threshold=1)
    assert factors(["a", "a"], 0.5) == (0, 1.0)
    assert factors(["a", "a"], 0.51).whole == 1


def test_hedges_of_case_68() -> None:
    """Whole words, longest first, over line ends; `couldn't` is no `could`."""
    folder = case_folder("68-text-hedge-counts")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    text = (folder / "text.txt").read_text(encoding="utf-8")
    score = Hedges(lexicon=folder / "hedges.txt").measured(text)[0]
    assert score.detail["count"] == expected["sum_longest_first"]
    counts = {term: count for term, count in expected["counts"].items() if count}
    counts.pop("possible")  # inside "it is possible that"
    assert score.detail["by_term"] == counts
    assert score.value == pytest.approx(1000 * 12 / score.detail["words"])


def test_hedges_by_class() -> None:
    """Each class has its rate, also one that does not occur; what is no hedge does not count."""
    text = "It may be loud rather than hot. Perhaps the fan seems loud, and it may well be."
    scores = {score.name: score.value for score in Hedges().measured(text)}
    count = len(words(text))
    assert scores["hedges"] == pytest.approx(4000 / count)
    assert scores["hedges.modal"] == pytest.approx(2000 / count)
    assert scores["hedges.epistemic"] == scores["hedges.evidential"] == pytest.approx(1000 / count)
    assert scores["hedges.approximation"] == scores["hedges.frequency"] == 0
    assert "hedges.none" not in scores


async def test_hedges_of_no_text(run: Any, output: Any, context: Any) -> None:
    """Without words, or without an output, every rate is missing."""
    for record, reason in (
        (run(output("...")), "the text has no words"),
        (run(status="failed"), "failed: no answer"),
    ):
        scores = await Hedges(drafts=True).evaluate(record, context())
        assert {score.value for score in scores} == {None}
        assert scores[0].reason == scores[1].reason == reason
        assert len(scores) == 3 * (1 + len(load_lexicon(None, "hedges.yaml").counted))


def test_the_lexicon_that_comes_with_orglab() -> None:
    """Terms are folded, in one class each, and each is found by itself."""
    lexicon = load_lexicon(None, "hedges.yaml")
    assert 60 <= len(lexicon.classes) <= 200
    assert {"modal", "evidential", "epistemic"} <= set(lexicon.counted)
    for term, its_class in lexicon.classes.items():
        assert term == fold_case(term)
        found = list(lexicon.found(f"so {term.upper()}, then"))
        assert found == ([] if its_class == "none" else [term])


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".yaml", "modal: [may, no]\nother: [Sort  of]\n"),
        (".csv", 'term,class\nmay,modal\nno,modal\n"Sort of",other\n'),
    ],
)
def test_forms_of_a_lexicon(ending: str, text: str) -> None:
    """YAML and CSV tell the same; `no` is a word, not false."""
    assert read_lexicon(text, ending).classes == {"may": "modal", "no": "modal", "sort of": "other"}
    assert read_lexicon("may\n\nSort of\n", ".txt").classes == {"may": "hedge", "sort of": "hedge"}


@pytest.mark.parametrize(
    ("ending", "text", "fault"),
    [
        (".yaml", "- may\n", "write a list of terms under each class"),
        (".yaml", "modal: may\n", "'modal' must hold a list"),
        (".yaml", "modal: [[may]]\n", "'modal' must hold a list"),
        (".yaml", "modal: [may\n", "no YAML"),
        (".yaml", "a: [may]\nb: [MAY]\n", "'may' is of two classes, 'a' and 'b'"),
        (".yaml", "a: []\n", "0 terms"),
        (".csv", "word\nmay\n", "row 2: the columns `term` and `class`"),
        (".docx", "may", "a lexicon is a .yaml, .csv or .txt file"),
    ],
)
def test_what_is_no_lexicon(ending: str, text: str, fault: str) -> None:
    """The words say what is wrong with it."""
    with pytest.raises(ValueError, match=fault):
        read_lexicon(text, ending)


def test_a_lexicon_that_changes_is_read_again(tmp_path: Path) -> None:
    """A file is read once for all runs, and again when it has changed; none is a fault."""
    file = tmp_path / "own.txt"
    with pytest.raises(EvaluationError, match=r"own.txt: No such file"):
        load_lexicon(file, "hedges.yaml")
    file.write_text("may", encoding="utf-8")
    assert load_lexicon(file, "hedges.yaml") is load_lexicon(file, "hedges.yaml")
    file.write_text("may\nmight", encoding="utf-8")
    assert len(load_lexicon(file, "hedges.yaml").classes) == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It ma\u200by rain", 1),
        ("sort\u00a0of", 1),
        ("SORT\u2028OF", 1),
        ("m\u0430y", 0),  # a Cyrillic letter
        ("mayor dismay may-be 'may' may's", 2),
    ],
)
def test_case_70_for_hedges(text: str, count: int) -> None:
    """The one normalisation is applied to the text; look-alikes stay apart."""
    lexicon = read_lexicon("may\nsort of", ".txt")
    assert len(list(lexicon.found(text))) == count
