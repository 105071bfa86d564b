"""What a run must show to be called healthy: which of the tests over its facts pass, and what speaks against health.

The tests stand in ``health.yaml`` beside the rules. One that is false keeps a run from being called healthy; one that
cannot be made (unknown) is left out, except those that are required. None of them names a cause: that is for the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from analyzer.expr import Condition, compile_condition, evaluate
from analyzer.expr.conditions import FORM
from analyzer.facts.catalog import catalog
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.causes import rules_root
from analyzer.rules.gates import refuse_unknown_facts
from analyzer.rules.template import fill
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_section

FILE_NAME = "health.yaml"
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"tests": ("list", True)},
    "test": {
        "id": ("str", True),
        "sound": ("str", True),
        "passed": ("str", True),
        "doubt": ("str", True),
        "decides": ("str", True),
        "required": ("bool", False),
        "leads": ("bool", False),
    },
}


class HealthTest(NamedTuple):
    """One test of health."""

    id: str  # a short word
    sound: str  # condition that holds for a sound run
    passed: str  # what to say if it holds
    doubt: str  # what to say if it does not, with facts in braces
    decides: str  # what would tell whether the run is sound all the same
    required: bool = False  # whether a run of which this is unknown is not called healthy
    leads: bool = False  # whether it is told before the others where there is room for a few


def read_tests(file: MarkedFile) -> list[tuple[HealthTest, str]]:
    """Check a loaded file of tests; each with the form of its condition.

    Raises:
        RuleError: One is not as declared, or mentions no declared fact; with line and column.
    """
    found = []
    for index, item in enumerate(check_section(file, FIELDS, "file", file.data, ())["tests"]):
        row = check_section(file, FIELDS, "test", item, ("tests", index))
        sound = compile_condition(row["sound"], file.where("tests", index, "sound"))
        refuse_unknown_facts(sound)
        found.append((HealthTest(**row), sound.form))
    return found


@lru_cache(maxsize=1)
def _tests() -> tuple[tuple[HealthTest, Condition], ...]:
    path = rules_root() / FILE_NAME
    rows = cache.checked_file("health", path, read_tests, ",".join(catalog()), str(FIELDS), FORM)
    tests = [(HealthTest(*row), form) for row, form in rows]
    return tuple((test, Condition(test.sound, test.id, known_form=form)) for test, form in tests)


def health_tests() -> tuple[HealthTest, ...]:
    """All tests, in the order in which they are told."""
    return tuple(test for test, _ in _tests())


class Health(NamedTuple):
    """Which tests of health passed and what speaks against health."""

    passed: tuple[str, ...]  # words of the tests that passed, those first that tell most
    doubts: tuple[tuple[str, str], ...]  # words of those that did not, each with what would decide it
    unknown: tuple[str, ...]  # words of required tests that could not be made
    ids: tuple[str, ...] = ()  # the tests behind the doubts

    def without(self, name: str) -> Health:
        """The same without the doubt of one test, where something else answers for it."""
        kept = [(doubt, test) for doubt, test in zip(self.doubts, self.ids, strict=True) if test != name]
        return self._replace(doubts=tuple(doubt for doubt, _ in kept), ids=tuple(test for _, test in kept))


def health(facts: Mapping[str, Scalar]) -> Health:
    """Run the tests on the facts of one run."""
    passed: list[HealthTest] = []
    doubts: list[tuple[str, str]] = []
    unknown: list[str] = []
    ids: list[str] = []
    for test, condition in _tests():
        verdict = evaluate(condition, facts)
        if verdict is True:
            passed.append(test)
        elif verdict is False:
            doubts.append((fill(test.doubt, facts), test.decides))
            ids.append(test.id)
        elif test.required:
            unknown.append(test.passed)
    words = tuple(test.passed for test in sorted(passed, key=lambda test: not test.leads))
    return Health(words, tuple(doubts), tuple(unknown), tuple(ids))
