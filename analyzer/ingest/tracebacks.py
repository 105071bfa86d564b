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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.log_line import Fed, LogLine, LogState

if TYPE_CHECKING:
    import re

    from analyzer.model.tables import Scalar

HEADER = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")

_FRAME = LazyRegex(
    r'^(?P<indent>[\s|+]{0,20})File "(?P<file>[^"\n]{1,600})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,200}))?'
)
# rich draws a box: "│ /home/user/train.py:90 in backward      │"
_BOXED_FRAME = LazyRegex(
    r"^\s{0,40}│ (?P<file>[^\s│:][^\n│:]{0,400}):(?P<line>\d{1,9}) in (?P<function>[^\s│]{1,200})"
)
_BOX = "╭│╰"
_EXCEPTION = LazyRegex(r"^(?:[|+] ?){0,8}(?P<exception>[A-Za-z_][\w.]{1,200})(?:: ?(?P<message>.*))?$")
# Names by which an exception is known when the indentation does not tell it.
_EXCEPTION_NAME = LazyRegex(
    r"(?:Error|Exception|Interrupt|Exit|Iteration|Warning|Timeout|Failure|Fault|Group|Refusal)$"
)
_LIBRARY = LazyRegex(
    r"site-packages|dist-packages|/lib/python\d|\\lib\\|^<|/torch/|/deepspeed/|/transformers/|/importlib/"
)

# What the program was doing, by the names of functions and files on the stack. The first of these that
# occurs anywhere decides: an evaluation calls the model's forward pass, not the other way round.
_PHASES = (
    ("evaluation_gather", LazyRegex(r"^(?:nested_concat|nested_gather|pad_across_processes|_?gather_for_metrics|distributed_concat)$")),
    ("evaluation", LazyRegex(r"^(?:evaluat\w{1,20}|_evaluate|prediction_(?:step|loop)|validation_step|run_evaluation|validate)$")),
    ("saving", LazyRegex(r"^(?:_?save_(?:checkpoint|model|pretrained|state_dict|16bit_model|fp16_model)|_?full_state_dict\w{0,40}|_zero3_consolidated\w{0,40})$")),
    ("preprocessing", LazyRegex(r"^(?:main_process_first|preprocess_dataset\w{0,20}|_?tokeniz\w{0,30}|_map_single)$")),
    ("loading", LazyRegex(r"^(?:from_pretrained|_?load_(?:checkpoint|pretrained_model|state_dict\w{0,40}|model\w{0,20}))$")),
)  # fmt: skip
# Of these the last one on the stack counts: an optimizer's closure may call the forward pass.
_STEP_PHASES = (
    ("optimizer", LazyRegex(r"^(?:_init_group|_take_model_step|initialize_optimizer_states|_multi_tensor_adam\w{0,10}|optimizer_step)$")),
    ("backward", LazyRegex(r"^(?:backward|run_backward|_engine_run_backward)$")),
    ("forward", LazyRegex(r"^(?:forward|cross_entropy|scaled_dot_product_attention|training_step|compute_loss)$")),
)  # fmt: skip
_OPTIMIZER_FILE = LazyRegex(r"[/\\]optim[/\\](?!lr_scheduler|optimizer|swa_utils)\w{1,40}\.py$")

_CASCADE = frozenset(
    {"ChildFailedError", "CalledProcessError", "SignalException", "BrokenPipeError", "ConnectionResetError", "ProcessExitedException", "ProcessRaisedException", "RemoteTraceback"}
)  # fmt: skip
_SYMPTOM = frozenset({"DistBackendError", "DistStoreError", "DistNetworkError"})
_TEARDOWN = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError"})

MAX_FOREIGN_LINES = 60
"""Lines of other writers allowed inside a traceback before it is given up."""

FIRST_LINES = 2
"""An excerpt that begins inside a traceback shows a frame in its first line, or after one line of code."""

MAX_FRAMES = 2_000
"""Frames counted; Python itself stops a recursion at about 1,000."""


def role_of(exception: str) -> str:
    """What part an exception plays: the root, a symptom of lost ranks, a cascade or the teardown."""
    name = exception.rpartition(".")[2]
    if name in _CASCADE:
        return "cascade"
    if name in _TEARDOWN:
        return "teardown"
    return "symptom" if name in _SYMPTOM else "root_candidate"


@dataclass(slots=True)
class _Frame:
    file: str
    line: int
    function: str


def phase_of(file: str, function: str) -> str:
    """What a frame of a stack belongs to; empty for most.

    >>> phase_of("/lib/torch/optim/adamw.py", "step"), phase_of("train.py", "main")
    ('optimizer', '')
    """
    if _OPTIMIZER_FILE.search(file):
        return "optimizer"
    return next((name for name, functions in _PHASES + _STEP_PHASES if functions.search(function)), "")


_RANK_OF_PHASE = {name: rank for rank, (name, _) in enumerate(_PHASES)}


@dataclass
class TracebackCapture:
    """One traceback being read."""

    started: LogLine
    chained: bool
    frames: int = 0
    last: _Frame | None = None
    last_user: _Frame | None = None
    flattened: bool = False
    margin: int = 0
    foreign: int = 0
    phase: str = ""

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if line.rank != self.started.rank:
            return Fed.PASSED
        text = line.text
        if not text.strip():
            return Fed.PASSED
        if HEADER in text:
            self.finish(log)
            return Fed.ENDED
        boxed = text.lstrip()[0] in _BOX
        frame = _BOXED_FRAME.match(text) if boxed else _FRAME.match(text)
        if frame is not None:
            self._add(frame)
        if frame is not None or boxed:
            return Fed.OWNED
        return self._after_frames(line, text, log)

    def _after_frames(self, line: LogLine, text: str, log: LogState) -> Fed:
        text = text[self.margin :]
        if not self.flattened and (not text or text[0] in " \t|"):
            return Fed.OWNED
        match = _EXCEPTION.match(text)
        if match and self._is_exception(match["exception"]):
            self._emit(line, match["exception"], match["message"] or "", log)
            return Fed.ENDED
        if self.flattened:  # a line of code that lost its indentation
            return Fed.OWNED
        self.foreign += 1
        if self.foreign > MAX_FOREIGN_LINES:
            self.finish(log)
            return Fed.ENDED
        return Fed.PASSED

    def _add(self, match: re.Match[str]) -> None:
        self.frames += 1
        if self.frames == 1:
            indent = match.groupdict().get("indent", "  ")
            self.flattened = not indent
            self.margin = max(0, len(indent) - 2)  # torchrun prints tracebacks inside its report
        if self.frames > MAX_FRAMES:
            return
        frame = _Frame(match["file"], int(match["line"]), (match["function"] or "").strip())
        self.last = frame
        phase = phase_of(frame.file, frame.function)
        if phase and _RANK_OF_PHASE.get(phase, 99) <= _RANK_OF_PHASE.get(self.phase, 99):
            self.phase = phase
        if not _LIBRARY.search(frame.file):
            self.last_user = frame

    def _is_exception(self, name: str) -> bool:
        if _EXCEPTION_NAME.search(name.rpartition(".")[2]):
            return True
        # With the indentation kept, whatever begins a line after the frames is the exception, if it
        # reads like a class: another writer's line would hardly be one capitalised word and a colon.
        return self.frames > 0 and not self.flattened and name.rpartition(".")[2][:1].isupper()

    def _emit(self, line: LogLine, exception: str, message: str, log: LogState) -> None:
        fields: dict[str, Scalar] = {
            "exception": exception,
            "message": message.strip()[:500],
            **self._place(),
        }
        if self.chained:
            fields["chained"] = True
        log.event("python_traceback", role_of(exception), line, {k: v for k, v in fields.items() if v != ""})

    def _place(self) -> dict[str, Scalar]:
        frame = self.last_user or self.last
        found: dict[str, Scalar] = {}
        if frame is not None:
            found = {"file": frame.file, "line": frame.line, "function": frame.function}
        return {**found, "phase": self.phase} if self.phase else found

    def finish(self, log: LogState) -> None:
        """The traceback has no exception line: the log was cut, or another writer's text is in between."""
        if self.frames:
            log.out.gap(
                "a traceback without an exception line: cut off or interleaved", line=self.started.number
            )
            log.event(
                "traceback_cut", "symptom", self.started, {k: v for k, v in self._place().items() if v != ""}
            )


class Tracebacks:
    """Begins a capture at every traceback header."""

    literals = (HEADER, *_CHAINED, '", line ')

    def __init__(self) -> None:
        self._chained_at: dict[int | None, int] = {}

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if _FRAME.match(line.text):
            return self._headless(line, log)
        if HEADER not in line.raw:
            self._chained_at[line.rank] = line.number
            return True
        # Python leaves one blank line between the announcement and the next traceback.
        chained = line.number - self._chained_at.get(line.rank, -100) in range(1, 40)
        log.captures.append(TracebackCapture(line, chained))
        return False

    def _headless(self, line: LogLine, log: LogState) -> bool:
        """A pasted excerpt may begin inside a traceback; elsewhere a lone frame belongs to a warning."""
        if line.number > FIRST_LINES or log.captures:
            return True
        capture = TracebackCapture(line, chained=False)
        capture.feed(line, log)
        log.captures.append(capture)
        return False

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""
