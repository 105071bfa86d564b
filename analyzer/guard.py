"""A bug, or work without end, costs one reader, detector, rule or part of a report, never the answer.

What raises inside ``Guard.part`` is noted under its name and becomes a gap of the diagnosis, and so is what does not end in
time: of the CPU seconds that a guard has left, a part may take a quarter. The project's own tests set
``ANALYZER_GUARD=off``, so that a bug fails them; ``--debug`` shows the traceback of each.

A ``Deadline`` holds inside of a computation, and whoever computes asks nobody: one thread looks at the clock, and what is over is
told to raise ``OutOfTime``. It is raised between two steps of Python, so a single call of C goes on to its end.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

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


POLL_S = 0.02
"""Between two looks at the clock; each costs some 20 microseconds."""

AGAIN_S = 1.0
"""CPU seconds after which what was interrupted and still runs is interrupted again: a finaliser may have caught it."""


class OutOfTime(BaseException):
    """The time of a ``Deadline`` is over. No ``Exception``: code that goes on after any error must not go on after this."""


class Deadline:
    """A context that is left with ``OutOfTime`` once its time is over; contexts within it end with it.

    Args:
        until_s: The reading of ``time.process_time()`` at which it is over, asked anew at each look.
    """

    __slots__ = ("__weakref__", "_thread", "_thrown_s", "until_s")

    def __init__(self, until_s: Callable[[], float]) -> None:
        self.until_s = until_s
        self._thread = threading.get_ident()
        self._thrown_s = -AGAIN_S

    def __enter__(self) -> Self:
        _WATCH.begin(self._thread, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            _WATCH.end(self._thread, self)
        except OutOfTime:  # between the last step of the work and the end of its time
            _WATCH.end(self._thread, self)
            raise

    def is_over(self, now_s: float) -> bool:
        """Whether its time is over and nobody was told lately."""
        over = now_s > self.until_s() and now_s >= self._thrown_s + AGAIN_S
        if over:
            self._thrown_s = now_s
        return over


class _Watch:
    """The deadlines of each thread, the innermost last, and the thread that looks at the clock.

    They are held weakly: what is raised where a context is entered or left may skip its end, and a deadline that nobody
    holds any more must not interrupt what comes after it.
    """

    def __init__(self) -> None:
        self.current: dict[int, list[weakref.ref[Deadline]]] = {}
        self._thrown: set[int] = set()
        self._lock = threading.Lock()
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, thread: int, deadline: Deadline) -> None:
        self.current.setdefault(thread, []).append(weakref.ref(deadline))
        if self._thread is None or not self._thread.is_alive():  # the first one, or the process was forked
            self._thread = threading.Thread(target=self._look, name="deadlines", daemon=True)
            self._thread.start()
        if not self._busy.is_set():
            self._busy.set()

    def end(self, thread: int, deadline: Deadline) -> None:
        around: list[weakref.ref[Deadline]] = []
        for held in self.current.get(thread, ()):
            if held() is deadline:
                break
            if held() is not None:
                around.append(held)
        if around:
            self.current[thread] = around
        else:
            self.current.pop(thread, None)
        with self._lock:  # a throw under way is done by now, and no other will be at what has ended
            thrown = thread in self._thrown
        if thrown:
            _catch(thread)
            self._thrown.discard(thread)

    def _look(self) -> None:
        while True:
            time.sleep(POLL_S)
            if not self.current:
                self._busy.clear()
                if not self.current:
                    self._busy.wait()
                continue
            now_s = time.process_time()
            for thread in list(self.current):
                with self._lock:
                    held = [deadline() for deadline in self.current.get(thread, ())]
                    if [one for one in held if one is not None and one.is_over(now_s)]:
                        self._thrown.add(thread)
                        _throw(thread)
                    del held


def _throw(thread: int) -> None:
    """Let a thread raise ``OutOfTime`` at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))


def _catch(thread: int) -> None:
    """Raise here, in the thread itself, what it was told to raise and perhaps has not raised yet.

    Taking it back (with NULL) would leave CPython's note that there is something to raise: every later step of Python
    would look for it in vain, and a profiler or debugger would never get past it.
    """
    try:
        _throw(thread)  # takes the place of one that waits
        while True:
            pass
    except OutOfTime:
        return


_WATCH = _Watch()
