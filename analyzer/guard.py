"""A bug, or work without end, costs one reader, detector, rule or part of a report, never the answer.

What raises inside ``Guard.part`` is noted under its name and becomes a gap of the diagnosis, and so is what does not end in
time: of the CPU seconds that a guard has left, a part may take a quarter. The project's own tests set
``ANALYZER_GUARD=off``, so that a bug fails them; ``--debug`` shows the traceback of each.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from analyzer.deadline import Deadline, OutOfTime
from analyzer.errors import AnalyzerError

OUR_FAULT = "a fault of analyzer, please report it"
THEIR_FAULT = "a fault of the package that adds it, please report it there"

SHARE = 4
"""A part may take a quarter of what is left: one that is slow leaves time for all others, however many are slow."""

LEAST_S = 0.05
"""What a part has when nothing is left: twenty times what one usually takes."""

T = TypeVar("T")


class Guard:
    """Keeps what went wrong in the parts of one answer.

    Args:
        strict: Let every exception pass: for callers that have no answer to save.
        cpu_s: CPU seconds that all parts together may take; None sets no bound.
        whose: Whose fault it is if a part raises.

    Attributes:
        faults: One sentence per part that raised.
        late: Names of the parts that did not end in time.
    """

    def __init__(self, *, strict: bool = False, cpu_s: float | None = None, whose: str = OUR_FAULT) -> None:
        self.faults: list[str] = []
        self.late: list[str] = []
        self._strict = strict
        self._whose = whose
        self._cpu_s = cpu_s
        self._until_s = None if cpu_s is None else time.process_time() + cpu_s

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run a part of the work; if it raises, note it under its name and go on behind it."""
        try:
            if self._until_s is None:
                yield
                return
            now_s = time.process_time()
            end_s = now_s + max((self._until_s - now_s) / SHARE, LEAST_S)
            with Deadline(lambda: end_s):
                yield
        except OutOfTime:
            if self._until_s is None:  # the time of somebody else
                raise
            self.late.append(name)
        except AnalyzerError:  # raised on purpose: a pack is invalid, a run cannot be read
            raise
        except Exception as error:
            if self._strict or os.environ.get("ANALYZER_GUARD") == "off":
                raise
            self.faults.append(fault(name, error, self._whose))

    def value(self, name: str, otherwise: T, make: Callable[[], T]) -> T:
        """What ``make`` returns, or ``otherwise`` if it raises."""
        with self.part(name):
            return make()
        return otherwise

    @property
    def gaps(self) -> list[str]:
        """What is missing in the answer, one sentence for each part."""
        bound = f"the {self._cpu_s or 0:.0f} s of CPU that judging a run of this size may take (--budget gives more)"
        return [
            *self.faults,
            *(f"{name} was left out: it did not end within its share of {bound}" for name in self.late),
        ]


STRICT = Guard(strict=True)
"""For tests and checks of rules: every exception passes."""


def fault(name: str, error: Exception, whose: str = OUR_FAULT) -> str:
    """The sentence for a part that raised; with ``--debug`` its traceback goes to standard error."""
    if "--debug" in sys.argv:
        import traceback  # noqa: PLC0415  (few runs show one)

        traceback.print_exception(error)
        where = "analyzer" if whose is OUR_FAULT else "the package that adds it"
        sys.stderr.write(f"This is a bug in {where} ({name}). Please report the traceback above.\n")
    return f"{name} failed and was left out: {whose} ({type(error).__name__}: {error})"
