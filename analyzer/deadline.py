"""A bound on CPU time that holds inside of a computation: what does not end in time is interrupted where it stands.

Whoever computes asks nobody: one thread looks at the clock, and what is over is told to raise ``OutOfTime``. It is raised
between two steps of Python, so a single call of C goes on to its end.
"""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Self

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
