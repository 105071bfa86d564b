"""The exception line that is all a log holds: printed by a wrapper, or pasted without its traceback.

    RuntimeError: The size of tensor a (560) must match the size of tensor b (140) at non-singleton dimension 0

gives ``python_traceback`` with exception and message, and no frames. Programs print the names of exceptions in warnings
too and go on, so the line is only believed where it is the last one of the log, or where the log tells nothing else: no
metric, and no other event than that a traceback was cut off. Lua's interpreter ends with it where it prints its stack below. One that a sentence quotes ("I get the error `TypeError: …`")
is believed in the second case only. What a finaliser raised ("Exception ignored in: …" in the line above) ends nothing. A heading ("# ValueError: …") stands above what it is about.
"""

from __future__ import annotations

from analyzer.ingest.text.failures.traceback_messages import (
    ENDS_ALREADY,
    IGNORED,
    MAX_MESSAGE,
    following_text,
    role_of,
)
from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.lazy_regex import LazyRegex

# The class stands first in its line; without a message it could be a heading or the name of a metric.
_RAISED = LazyRegex(
    r"^(?:#{1,4} )?(?P<exception>(?:[a-z_]\w{0,40}\.){0,8}_?[A-Z]\w{1,60}(?:Error|Exception)): (?P<message>\S.{0,2000})$"
)
# Lua's: the interpreter, the place if a function of Lua's own raised it, the message
_LUA = LazyRegex(
    r"^(?:> )?(?:\S{0,200}/)?(?:th|luajit|(?:\w{1,12}-)?q?lua): "
    r"(?P<message>(?:\S{1,200}\.lua:\d{1,6}:|bad argument #|attempt to |cannot open |not enough memory).{0,2000})$"
)
# A sentence about it, in backticks, quotes or stars
_QUOTED = LazyRegex(
    r"[`\"*“](?P<exception>(?:[a-z_]\w{0,40}\.){0,8}_?[A-Z]\w{1,60}(?:Error|Exception)): (?P<message>\w[^`\"*“”]{3,1000})[`\"*”]"
)


_LUA_STACK = LazyRegex(
    r"(?s)\A\s{0,4}stack traceback:(?:.{0,600}?\[C\]: in function '(?P<called>[\w.:]{1,80})')?"
)
"""What Lua's interpreter prints below an exception that nothing caught, and then ends: the calls, the innermost first."""
_LUA_UNNAMED = "to '?'"
"""How LuaJIT names a function of C in the message; the first call of the stack has its name."""

LINES_OF_ONE_FAILURE = 3
"""Within so many lines after what another reader has told, an exception is the rest of the same failure."""


class BareExceptions:
    """Keeps the last line that begins with an exception, for a log that ends with it or holds nothing else."""

    def __init__(self) -> None:
        self._last: tuple[LogLine, str, str] | None = None
        self._is_quoted = False
        self._is_uncaught = False

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        raised = _RAISED.match(line.text) or _LUA.match(line.text)
        if raised and IGNORED.search(line.before().rstrip().rpartition("\n")[2]):
            log.event(
                "ignored_exception",
                "teardown",
                line,
                {"exception": raised.groupdict().get("exception", "LuaError")},
            )
            return False
        match = raised or (_QUOTED.search(line.text) if self._last is None else None)
        if match and not ENDS_ALREADY.search(line.text):
            self._is_quoted = raised is None
            stack = _LUA_STACK.match(line.after()) if raised and raised.re.groups == 1 else None
            self._is_uncaught = stack is not None
            first = match["message"].strip()
            if stack and stack["called"]:
                first = first.replace(_LUA_UNNAMED, f"to '{stack['called']}'")
            further = following_text(line, match["message"])
            message = "\n".join(filter(None, (first, further)))[:MAX_MESSAGE]
            self._last = line.without_block(), match.groupdict().get("exception", "LuaError"), message
        return False

    def finish(self, log: LogState) -> None:
        """Believe the exception if nothing follows it or nothing else was told, and no traceback has told it."""
        if self._last is None:
            return
        line, exception, message = self._last
        if not log.is_empty and line.number - log.told_line <= LINES_OF_ONE_FAILURE:
            return
        is_last = not self._is_quoted and line.number + message.count("\n") >= log.last_line
        if not (is_last or log.is_empty or self._is_uncaught) or not log.first(
            "raised", exception, message.partition("\n")[0]
        ):
            return
        fields = {"exception": exception, "message": message}
        log.event("python_traceback", role_of(exception, message), line, fields)
