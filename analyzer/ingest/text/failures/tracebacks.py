"""Python tracebacks: one event for each, at its exception line, with the last frame of the user's code.

    Traceback (most recent call last):
      File "/home/user/train.py", line 90, in backward
        loss.backward()
      File "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
        torch.autograd.backward(
    RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.

gives ``python_traceback`` with exception RuntimeError, file /home/user/train.py, line 90, phase backward. Lines of
another rank in between are left alone. Where a collector has taken the indentation away, an exception
line is recognised by its name only.

Of a chain ("During handling of the above exception...") the first exception is the root and the later ones are its
consequence. An exception that only carries another one (a data-loader worker's, a spawned process's, a Ray task's)
gives its place to the one it carries.
"""

from __future__ import annotations

from analyzer.ingest.text.failures.traceback_frames import (
    PYTHON_FRAME,
    Frame,
    Stack,
    boxed_frame,
    broken_path,
    needed_by,
    notebook_frame,
    python_frame,
)
from analyzer.ingest.text.failures.traceback_messages import (
    CARRIES,
    ENDS_ALREADY,
    IGNORED,
    MAX_MESSAGE,
    TELLS_NOTHING,
    Raised,
    following_text,
    role_in_chain,
    role_of,
    stated,
    text_below,
)
from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar
from analyzer.record import dataclass, field, replace

HEADER = "Traceback (most recent call last)"

_ANNOUNCED = LazyRegex(r"^(?P<exception>[A-Za-z_]\w{2,80})\s{2,80}Traceback \(most recent")
"""IPython's header begins with the class of the exception."""

_BOX = "╭│╰"
_MARGIN = "│❱ "
"""What stands beside the code in a box."""
_CONTEXT = LazyRegex(r"^[\s│|]{0,12}\d{1,6}\s")
"""A numbered line of code without an arrow: IPython and rich print it for what stands around the one that ran."""
_EXCEPTION = LazyRegex(
    r"^(?:[|+] ?){0,8}\s{0,8}(?P<exception>[A-Za-z_][\w.]{1,200}(?:\([\w.]{1,100}\))?)(?:: ?(?P<message>.*))?$"
)
# Names by which an exception is known when its place does not tell it.
_EXCEPTION_NAME = LazyRegex(
    r"(?:Error|Exception|Interrupt|Exit|Iteration|Warning|Timeout|Failure|Fault|Group|Refusal|Abort|Empty|StackTrace|Traceback|Full)\)?$"
)
_SMALL_NAMES = frozenset({"error", "timeout", "gaierror", "herror"})
"""Exceptions whose class begins with a small letter: ``cv2.error``, ``zlib.error``, ``socket.timeout``."""
_NOTES = frozenset({"SimplifiedTraceback", "_FallbackException"})
"""Exceptions that only say that frames were left out (JAX), or that a faster way was not taken (TensorFlow)."""
_OF_POWERSHELL = "FullyQualifiedErrorId"
"""The last of the lines that it puts below the first one of standard error; the one above repeats that line."""
# What stands above one that a program caught and told for the curious: a record of the lowest level, a library's list of what it tried.
_TRIED = LazyRegex(r"(?:^|[\s\[|:-])DEBUG[\s\]|:-]|^\s{0,20}FFmpeg version \d{1,2}:")
_COMPILER = LazyRegex(r"^(?:torch\._(?:dynamo|inductor)|triton)\.")
# A temporary folder that cannot be removed: a file system of a server keeps an open file under such a name.
_LEFT_BEHIND = LazyRegex(
    r"\.nfs[0-9a-f]{8,}|Directory not empty|Device or resource busy|No such file or directory"
)
_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError"})


_LOST_ENDS = frozenset(
    {
        "ConnectionResetError",
        "ConnectionRefusedError",
        "ConnectionAbortedError",
        "BrokenPipeError",
        "EOFError",
    }
)
"""What a thread or a child says of its own process or parent that is ending."""
_LOST_END = LazyRegex(r"^\[Errno (?:32|104|111)\] ")
"""The same by number, as ``socket.error`` and ``OSError`` carry it."""
_STARTING = LazyRegex(r"[/\\]multiprocessing[/\\]spawn\.py$")
_LOCAL_PIPE = LazyRegex(r"[/\\]multiprocessing[/\\]connection\.py$")
"""Pipes and local sockets between a process and its own children: no rank is at the other end."""

_OF_FILES = LazyRegex(
    r"[/\\](?:zipfile|gzip|bz2|lzma|tarfile|shutil|pathlib|npyio|_?npyio_impl|serialization|pickle|ImageFile|h5py[/\\].{1,60})\.py$"
)
"""Code that reads and writes files: what times out in it is the file system, and no other process of the job."""

MAX_FOREIGN_LINES = 60
"""Lines of other writers allowed inside a traceback before it is given up."""

FIRST_LINES = 2
"""An excerpt that begins inside a traceback shows a frame in its first line, or after one line of code."""

_STACK_ALONE = LazyRegex(r'last\): {2}File "[^"]+", line \d+, in \S+$')
"""NumPy shows so which import it warns of; an exception has a line of its own below its header."""
_OF_A_DUMP = LazyRegex(r'^\W{0,4}File "[^"]{1,400}", line \d{1,7} in ')
"""A frame as the interpreter writes it when a fatal signal ends it: those of an exception have a comma before ``in``."""

LONE_FRAMES = 2
"""A warning that names its place shows one frame."""

LINES_OF_A_FRAME = 3
"""A frame, its line of code, and the marks below it."""

CHAIN_LINES = 40
"""Python leaves one blank line between an announcement of a chain and the next traceback; other ranks write more."""

IN_TURN = 2
"""Processes that write into one another begin together, and their exceptions follow; where headers and exceptions take
turns for longer, the one that is waited for was lost, and what comes are the tracebacks of later programs."""

MAX_FRAMES = 2_000
"""Frames counted; Python itself stops a recursion at about 1,000."""


@dataclass
class TracebackCapture:
    """One traceback being read, or several that processes without a prefix write into one another."""

    started: LogLine  # the line of its header, or of the first frame of an excerpt
    roots: dict[int | None, Raised]  # where the last exception of each rank is noted
    # what was raised before, if this exception was raised while that one was handled
    chained: Raised | None = None
    carrier: Raised | None = None  # the exception that only carries this one
    syntax_only: bool = False  # only a syntax error is believed: the header is missing
    torn: bool = False  # the name of a syntax error was seen within a line that ranks wrote at once
    # the rank of which a launcher's report prints the traceback once more; what the rank itself has printed is not told
    # again
    report_rank: int | None = None
    # Python announced that it prints the exception and goes on: a finaliser raised it, an exit handler, or a thread of a
    # library
    ignored: bool = False
    # it stands below the word that something was tried in vain, which a program that ends does not write
    tried: bool = False
    stack: Stack = field(default_factory=Stack)
    # no line was indented so far: a collector, or whoever copied it, took the indentation away
    flattened: bool = False
    code_due: bool = False  # the line of code of the last frame has not come yet
    relative: bool = False  # it imports from its own package
    margin: int = 0
    foreign: int = 0
    expected: int = 1
    possible: int = 0
    emitted: int = 0
    in_turn: int = 0  # headers that came below an exception, while one more was waited for
    path: str = ""
    code: str = ""  # the lines of code quoted below the last frame, as far as one of them raises

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if line.rank != self.started.rank:
            return Fed.PASSED
        text = line.text
        if not text.strip():
            return Fed.PASSED
        if HEADER in text:
            return self._another(line, log)
        boxed = text.lstrip()[0] in _BOX
        frame = self._frame(text, boxed=boxed)
        if frame is not None:
            self._add(frame)
            self.code_due, self.relative = True, False
            self.code = ""
        elif self.code or (("raise " in text or "assert " in text) and not _CONTEXT.match(text)):
            self.code = f"{self.code} {text.strip(_MARGIN)}"[:MAX_MESSAGE]
        if frame is not None or boxed:
            return Fed.OWNED
        return self._after_frames(line, text, log)

    def _frame(self, text: str, *, boxed: bool) -> Frame | None:
        if not boxed:
            return python_frame(text) or notebook_frame(text)
        frame = boxed_frame(text, self.path)
        self.path = "" if frame else broken_path(text)
        return frame

    def _another(self, line: LogLine, log: LogState) -> Fed:
        """A second header before the exception: another process writes into this traceback, or it was cut."""
        is_inner = line.text.lstrip(" |+").startswith(("Original", "Exception Group"))
        if self.carrier is not None and not self.stack.frames:
            return Fed.OWNED  # the header of the traceback that is carried
        if not is_inner:
            # Headers that follow each other at once are those of ranks that fail alike: one exception may
            # be all that is printed.
            self.in_turn += bool(self.emitted)
            if self.in_turn <= IN_TURN or self.possible:
                self.expected += bool(self.stack.frames)
                self.possible += not self.stack.frames
                self.foreign = 0
                return Fed.OWNED
        self.finish(log)
        return Fed.ENDED

    def _after_frames(self, line: LogLine, text: str, log: LogState) -> Fed:
        text = text[self.margin :]
        self.torn = self.torn or (self.syntax_only and "SyntaxError" in text)
        if not text or text[0] in " \t|":
            self.relative = self.relative or text.lstrip(" \t|").startswith("from .")
            self.flattened = False  # only the first line of what was copied has lost its indentation
            return Fed.OWNED
        match = _EXCEPTION.match(text)
        if match and self._is_exception(match["exception"]):
            return self._raised(line, match["exception"], match["message"] or "", log)
        if self.flattened and self.code_due:  # a line of code that lost its indentation
            self.code_due = False
            return Fed.OWNED
        self.foreign += 1
        if self.foreign > MAX_FOREIGN_LINES:
            self.finish(log)
            return Fed.ENDED
        return Fed.PASSED

    def _add(self, frame: Frame) -> None:
        if not self.stack.frames:
            self.flattened = not frame.indent
            self.margin = max(0, len(frame.indent) - 2)  # torchrun prints tracebacks inside its report
        if self.stack.frames < MAX_FRAMES:
            self.stack.add(frame)

    def _is_exception(self, name: str) -> bool:
        last = name.rpartition(".")[2]
        if _EXCEPTION_NAME.search(last):
            return True
        # With the indentation kept, whatever begins a line after the frames is the exception, if it
        # reads like a class: another writer's line hardly begins with one word in mixed capitals.
        capitals = sum(map(str.isupper, last))
        is_class = last.lstrip("_")[:1].isupper() and ("." in name or (1 < capitals < len(last)))
        is_class = is_class or ("." in name and last in _SMALL_NAMES)
        return self.stack.frames > 0 and not self.flattened and not self.emitted and is_class

    def _raised(self, line: LogLine, exception: str, message: str, log: LogState) -> Fed:
        last = exception.rpartition(".")[2]
        if self.syntax_only and last not in _SYNTAX:
            return Fed.PASSED | Fed.ENDED
        if last in _NOTES:
            return Fed.PASSED | Fed.ENDED
        if self.tried and not self.stack.uncaught:
            return Fed.OWNED | Fed.ENDED
        if last in {
            "UnfilteredStackTrace",
            "JaxStackTraceBeforeTransformation",
        }:  # JAX: the exception itself is the message
            exception, _, message = message.partition(": ")
        if last == "AssertionError" and not message and (checked := stated(self.code.rpartition(last)[0])):
            message = checked.message
        echoes = self._echoes(last, message)
        if (
            echoes and self.stack.serving
        ):  # a worker or a feeding thread that lost its reader, and not the other way round
            self.ignored = True
            log.event("dataloader_teardown", "teardown", line, {"where": self.stack.serving})
        elif echoes and self.stack.awaiting and not self.ignored:
            log.event("dataloader_worker_killed", "root_candidate", line, {})
        within = "" if self.stack.last is None else self.stack.last.file
        stalled = message.startswith("[Errno 110] ") and _OF_FILES.search(within) is not None
        if stalled:
            log.event("file_system_error", "root_candidate", line, {"what": "timed out"})
        role = "cascade" if echoes else role_of(exception, message)
        is_over = self._emit(line, Raised(exception, message.strip(), role), log)
        self.emitted += 1
        self.foreign = 0
        fed = Fed.OWNED if echoes or stalled else Fed.PASSED
        if is_over:
            return fed | Fed.ENDED
        return fed if self.emitted < self.expected + self.possible else fed | Fed.ENDED

    def _echoes(self, exception: str, message: str) -> bool:
        """Whether it only tells that a process ended.

        Such is what a thread or a finaliser raises that Python lets die, of a loader's workers above all, and a
        child that was being started when its parent ended: the work that it should load was cut off. So is a pipe
        between a process and its child that breaks.
        """
        last = self.stack.last
        starting = last is not None and _STARTING.search(last.file) is not None
        if starting and exception in {"UnpicklingError", "EOFError"}:
            return True
        is_lost = exception in _LOST_ENDS or _LOST_END.search(message) is not None
        if is_lost and last is not None and _LOCAL_PIPE.search(last.file):
            return True
        return self.ignored and (exception in _LOST_ENDS or message.startswith("DataLoader worker (pid"))

    def _emit(self, line: LogLine, raised: Raised, log: LogState, *, is_last: bool = False) -> bool:
        """Notes an exception; True if it only carries another one, of which a new capture now reads.

        Between ranks that fail alike the carried one is read all the same: it is what each of them says.
        """
        following = "" if is_last else following_text(line, raised.message, self.margin)
        carried = _carried(raised, following)
        if carried and not is_last:
            inner = TracebackCapture(line, self.roots, self.chained, carrier=raised)
            log.captures.append(inner)
            return True
        role = role_in_chain(raised, self.chained) if self.chained else raised.role
        further = "" if carried else following
        message = "\n".join(filter(None, (raised.message, further)))[:MAX_MESSAGE]
        fields: dict[str, Scalar] = {
            "exception": raised.exception,
            "message": message,
            **self.stack.place(),
            **self.stack.origin(),
        }
        if role == "symptom" and raised.name == "StopIteration" and "raised_in" not in fields:
            role = "root_candidate"  # the program itself asked for what is not there; no library's loop ended
        if self.chained is not None:
            fields["chained"] = True
        if self.carrier is not None:
            fields["carried_by"] = self.carrier.exception
        if self.expected + self.possible > 1:
            fields["interleaved"] = True
        if self.stack.uncaught and self.chained is None:
            fields["uncaught"] = True
            fields["header_line"] = self.started.number
            fields["below"] = "" if is_last else text_below(line, following if raised.message else "")
        if self.stack.in_cell:
            fields["in_cell"] = True
        if self.relative:
            fields["relative"] = True
        fields["within"] = self.stack.within
        if "phase" not in fields and self.carrier and "DataLoader worker" in self.carrier.message:
            fields["phase"] = "data_loading"
        if "phase" not in fields and _COMPILER.match(raised.exception):
            fields["phase"] = "compile"
        if log.first("raised", raised.exception, raised.message) or self.report_rank is None:
            at = line if self.report_rank is None else of_rank(line, self.report_rank)
            clears = self.stack.finalizing and _LEFT_BEHIND.search(raised.message)
            spent = self.ignored or clears or ENDS_ALREADY.search(raised.message)
            kind, role = ("ignored_exception", "teardown") if spent else ("python_traceback", role)
            log.event(kind, role, at, {k: v for k, v in fields.items() if v != ""})
        self.roots[line.rank] = self.chained if self.chained and role == "cascade" else raised
        return False

    def finish(self, log: LogState) -> None:
        """The traceback has no exception line: the log was cut, or another writer's text is in between."""
        if self.carrier is not None and not self.emitted:
            carrier, self.carrier = self.carrier, None
            self._emit(self.started, carrier, log, is_last=True)
            return
        if self.torn and not self.emitted:
            self._emit(self.started, Raised("SyntaxError", "", role_of("SyntaxError", "")), log, is_last=True)
            return
        if self.ignored and self.emitted:
            return  # several finalisers write into one another, and each says the same
        if self.stack.frames and self.emitted < self.expected and not self.syntax_only:
            if _STACK_ALONE.search(self.started.text):
                return
            reason = "a traceback without an exception line: cut off or interleaved"
            log.out.gap(reason, line=self.started.number)
            if self.ignored or self._is_lost_end():
                log.event("ignored_exception", "teardown", self.started, self.stack.place())
                return
            raised = stated(self.code) or self._announced()
            if raised is not None and not self.emitted:
                self._emit(self.started, raised, log, is_last=True)
                return
            fields = self.stack.place() | needed_by(self.stack.last)
            if _OF_A_DUMP.search(self.started.text):
                fields["dump"] = True
            log.event("traceback_cut", "symptom", self.started, fields)

    def _is_lost_end(self) -> bool:
        """Whether a child stood in the pipe to its parent as its traceback was cut: it tells that the parent ended, and no more."""
        last = self.stack.last
        is_child = not self.stack.uncaught and self.stack.last_user is None
        return is_child and last is not None and _LOCAL_PIPE.search(last.file) is not None

    def _announced(self) -> Raised | None:
        """What the header says of an exception whose own line was cut off, where its class alone tells something."""
        match = _ANNOUNCED.match(self.started.text)
        name = match["exception"] if match else ""
        role = role_of(name)
        return None if name in {"", *TELLS_NOTHING} or role == "cascade" else Raised(name, "", role)


def _carried(raised: Raised, following: str) -> bool:
    """Whether the text that follows an exception is the traceback of another one that it carries."""
    first = following.partition("\n")[0]
    return raised.name.startswith("RayTaskError(") or CARRIES.match(first) is not None


def of_rank(line: LogLine, rank: int) -> LogLine:
    """The same line as one of a rank that something other than its prefix names."""
    return replace(line, peeled=replace(line.peeled, rank=rank))


_GLUED_RANK = LazyRegex(r"\[rank(?P<rank>\d{1,6})\]: Traceback \(most recent")
"""The prefix of a rank behind a bar that another one left without an end of line."""


class Tracebacks:
    """Begins a capture at every traceback header."""

    def __init__(self) -> None:
        self._chained_at: dict[int | None, int] = {}
        self._roots: dict[int | None, Raised] = {}
        self._ignored: dict[int | None, bool] = {}
        self._lone: tuple[LogLine, int, Stack] | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if PYTHON_FRAME.match(line.text):
            return self._headless(line, log)
        if HEADER not in line.raw:
            self._chained_at[line.rank] = line.number
            return True
        if line.rank is None and (glued := _GLUED_RANK.search(line.text)):
            line = of_rank(line, int(glued["rank"]))
        is_chained = line.number - self._chained_at.get(line.rank, -100) in range(1, CHAIN_LINES)
        before = self._roots.get(line.rank) if is_chained else None
        rest, _, above = line.before().rstrip().rpartition("\n")
        if _OF_POWERSHELL in above:
            above = rest.rpartition("\n")[2]
        ignored = IGNORED.search(above) is not None or (is_chained and self._ignored.get(line.rank, False))
        self._ignored[line.rank] = ignored
        tried = _TRIED.search(above) is not None
        log.captures.append(TracebackCapture(line, self._roots, before, ignored=ignored, tried=tried))
        return False

    def _headless(self, line: LogLine, log: LogState) -> bool:
        """A pasted excerpt may begin inside a traceback, and a syntax error in the script itself has no header.

        Elsewhere a lone frame belongs to a warning.
        """
        is_syntax = ", in " not in line.text
        if not log.captures and not (line.number <= FIRST_LINES or is_syntax):
            self._add_lone(line)
            return True
        if log.captures:
            return True
        capture = TracebackCapture(line, self._roots, syntax_only=line.number > FIRST_LINES)
        capture.feed(line, log)
        log.captures.append(capture)
        return False

    def _add_lone(self, line: LogLine) -> None:
        """Keeps the frames that follow one another below a header that is lost."""
        frame = python_frame(line.text)
        if frame is None:
            return
        first, last, stack = self._lone or (line, 0, Stack())
        if line.number - last > LINES_OF_A_FRAME:
            first, stack = line.without_block(), Stack()
        if stack.frames < MAX_FRAMES:
            stack.add(frame)
        self._lone = first, line.number, stack

    def finish(self, log: LogState) -> None:
        """A log that ends among frames was cut inside a traceback, whose header lies in what is lost."""
        if self._lone is None:
            return
        first, last, stack = self._lone
        if stack.frames >= LONE_FRAMES and log.last_line - last < LINES_OF_A_FRAME:
            log.out.gap("the log ends inside a traceback without header and exception", line=first.number)
            log.event("traceback_cut", "symptom", first, stack.place() | needed_by(stack.last))
