"""Declared outcomes: a name that several uses of one evaluator give stands for none of them."""

from __future__ import annotations

from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.study.experiment.declarations import outcome_problems

TWICE = [EvaluatorUse(use="words"), EvaluatorUse(use="words", arguments={"role": "lead/writer"})]


def test_a_measure_that_stands_twice_needs_its_arguments() -> None:
    """The cure is the name under which the table has it."""
    (told,) = outcome_problems({"primary": ["words"]}, {}, TWICE)
    assert told.path == ("analysis", "primary", 0)
    assert "`words` stands 2 times under `evaluators`" in told.wrong
    assert told.hint == 'write `words (words {})` or `words (words {"role":"lead/writer"})`'
    (told,) = outcome_problems({}, {"mix": ["hedges", "words@2"]}, TWICE)
    assert told.path == ("composites", "mix", 1)


def test_clear_names_are_sound() -> None:
    """Of one use, with its arguments, of a composite, and of a pilot without outcomes."""
    named = {"primary": ['words (words {"role":"lead/writer"})', "tokens", "mix", "hedges"]}
    assert not list(outcome_problems(named, {"mix": ["hedges"]}, TWICE))
    assert not list(outcome_problems({"primary": "words"}, {}, TWICE[:1]))
    assert not list(outcome_problems({}, {}, TWICE))
