"""What a run must show to be called healthy: which of the tests over its facts pass, and what speaks against health.

A test that is false keeps a run from being called healthy; one that cannot be made (unknown) is left out, except those
that are required. None of them names a cause: that is for the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from analyzer.expr import Condition, compile_condition, evaluate
from analyzer.model.tables import Scalar
from analyzer.rules.health_test import HealthTest
from analyzer.rules.health_tests_answers import ANSWER_TESTS
from analyzer.rules.health_tests_course import COURSE_TESTS
from analyzer.rules.template import fill

TESTS = (*COURSE_TESTS, *ANSWER_TESTS)


class Health(NamedTuple):
    """Which tests of health passed and what speaks against health.

    Attributes:
        passed: Words of the tests that passed, those first that tell most.
        doubts: Words of those that did not, each with what would decide it.
        unknown: Words of required tests that could not be made.
        ids: The tests behind the doubts.
    """

    passed: tuple[str, ...]
    doubts: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def without(self, name: str) -> Health:
        """The same without the doubt of one test, where something else answers for it."""
        kept = [(doubt, test) for doubt, test in zip(self.doubts, self.ids, strict=True) if test != name]
        return self._replace(doubts=tuple(doubt for doubt, _ in kept), ids=tuple(test for _, test in kept))


@lru_cache(maxsize=64)
def _condition(test: HealthTest) -> Condition:
    return compile_condition(test.sound, test.id)


def health(facts: Mapping[str, Scalar]) -> Health:
    """Run the tests on the facts of one run."""
    passed: list[HealthTest] = []
    doubts: list[tuple[str, str]] = []
    unknown: list[str] = []
    ids: list[str] = []
    for test in TESTS:
        verdict = evaluate(_condition(test), facts)
        if verdict is True:
            passed.append(test)
        elif verdict is False:
            doubts.append((fill(test.doubt, facts), test.decides))
            ids.append(test.id)
        elif test.required:
            unknown.append(test.passed)
    words = tuple(test.passed for test in sorted(passed, key=lambda test: not test.leads))
    return Health(words, tuple(doubts), tuple(unknown), tuple(ids))
