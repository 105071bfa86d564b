"""A bug costs one reader, detector, rule or part of a report, never the answer.

What raises inside ``Guard.part`` is noted under its name and becomes a gap of the diagnosis. The project's own tests set
``ANALYZER_GUARD=off``, so that a bug fails them; ``--debug`` shows the traceback of each.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from analyzer.errors import AnalyzerError

OUR_FAULT = "a fault of analyzer, please report it"

T = TypeVar("T")


class Guard:
    """Keeps what went wrong in the parts of one answer.

    Args:
        strict: Let every exception pass: for callers that have no answer to save.

    Attributes:
        faults: One sentence per part that raised.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.faults: list[str] = []
        self._strict = strict

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run a part of the work; if it raises, note it under its name and go on behind it."""
        try:
            yield
        except AnalyzerError:  # raised on purpose: a pack is invalid, a run cannot be read
            raise
        except Exception as error:
            if self._strict or os.environ.get("ANALYZER_GUARD") == "off":
                raise
            self.faults.append(fault(name, error))

    def value(self, name: str, otherwise: T, make: Callable[[], T]) -> T:
        """What ``make`` returns, or ``otherwise`` if it raises."""
        with self.part(name):
            return make()
        return otherwise


STRICT = Guard(strict=True)
"""For tests and checks of rules: every exception passes."""


def fault(name: str, error: Exception) -> str:
    """The sentence for a part that raised; with ``--debug`` its traceback goes to standard error."""
    if "--debug" in sys.argv:
        traceback.print_exception(error)
        sys.stderr.write(f"This is a bug in analyzer ({name}). Please report the traceback above.\n")
    return f"{name} failed and was left out: {OUR_FAULT} ({type(error).__name__}: {error})"
