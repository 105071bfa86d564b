r"""What an exception says and which part it plays: its role, its place in a chain, the lines its message goes on.

    RuntimeError: Error(s) in loading state_dict for Net:
        size mismatch for head.weight: copying a param with shape ...

The second line belongs to the message, although nothing marks where a message ends.
"""

from __future__ import annotations

from analyzer.ingest.text.failures.traceback_frames import PYTHON_FRAME
from analyzer.ingest.text.log_line import LogLine
from analyzer.ingest.text.prefixes import peel
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

_CASCADE = frozenset(
    {"ChildFailedError", "CalledProcessError", "SignalException", "BrokenPipeError", "ConnectionResetError", "ProcessExitedException",
     "ProcessRaisedException", "RemoteTraceback", "_RemoteTraceback", "ExceptionGroup", "BaseExceptionGroup", "RayTaskError",
     "RayActorError", "ActorDiedError", "WorkerCrashedError", "TrainingFailedError", "TuneError", "TrainingWorkerError"}
)  # fmt: skip
# The last three end loops and lookups inside libraries; on their own they tell that something upstream is missing.
_SYMPTOM = frozenset(
    {"DistBackendError", "DistStoreError", "DistNetworkError", "Empty", "Full", "StopIteration", "UnavailableError"}
)  # fmt: skip
# What a rank says that lost its peers, whatever class its library chose.
_LOST_PEER = LazyRegex(
    r"Connection (?:closed|reset) by peer|gloo[/\\]transport|ncclRemoteError|Broken pipe|Socket Timeout|[Tt]imed out (?:after \d+ms )?waiting for"
    r"|wait timeout after|NCCL communicator was aborted|failed to recv|recvValue failed|Watchdog caught collective"
    r"|NCCL [Ee]rror.{0,300}(?:unhandled system error|internal error|remote process exited)|NCCL operation .{0,200}failed: |Barrier timed out\. (?:Id|Barrier_id)|client socket has timed out"
    r"|connect\(\) timed out|Notify register times out|failed to pass monitoredBarrier|Timed out waiting \d{1,15}ms for|heartbeat timeout"
    r"| function error: Hccl[A-Z]|function error: Aclrt\w{1,60}, error code is 50704[68]\b"
)
_TEARDOWN = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError"})
ENDS_ALREADY = LazyRegex(
    r"Python is likely shutting down|(?:at|after) interpreter shutdown|Enqueue operation was cancelled|resource busy: '(?:\S{0,200}/)?\.nfs"
)
"""What only an interpreter that ends already says, threads of TensorFlow whose queue closes, and who clears a folder on NFS that holds an open file."""

# What stands above an exception that ends nothing, or above its traceback.
IGNORED = LazyRegex(
    r"Exception ignored in\b|Error in (?:atexit|sys\.excepthook)|--- Logging error ---|Exception in thread .{0,80}(?:pin_memory|QueueFeeder|QueueManager|tensorboard)"
    r"|^COMET (?:ERROR|WARNING): |^comet\.ml error: failed to report|Could not load bitsandbytes native library"
)

MAX_LINES = 30
"""Lines of one message that are looked at; the list of mismatched weights of a large model is longer."""

# Lines that PyTorch, NCCL and Python append to a message without indentation.
_GOES_ON = LazyRegex(
    r"^(?:CUDA kernel errors|For debugging consider|Compile with `|Device-side assert|nccl[A-Z]\w{1,30}:|Last error:|Exception raised from "
    r"|This error may|Search for `|HINT: |Original Traceback|-- Process \d|The model you are|Please |Possible solutions|\S{0,8}ray::|frame #\d"
    r"|Set the environment|\[\d{1,3}\] |This may indicate|Parameter indices|CUDA call )"
)
_STOPS = LazyRegex(
    r"\d{1,3}%\||^(?:Traceback|During handling|The above exception)|^\s{0,8}\+-|^[-=*#]{8,}|^wandb: |^srun: |^slurmstepd"
)

CARRIES = LazyRegex(
    r"^(?:Original Traceback \(most recent call last\)|-- Process \d{1,6} terminated with the following (?:error|exception)"
    r"|\S{0,8}ray::[\w.]{1,120}\(\))"
)
"""What stands between an exception and the one that it carries."""

MAX_MESSAGE = 500
"""Characters kept of a message, its further lines included."""

_RAISES = LazyRegex(
    r"\b(?:raise (?!type\()(?P<exception>[A-Za-z_][\w.]{2,100}) ?\(|assert (?P<condition>.{3,200}))"
)
_LITERAL = LazyRegex(
    r"(?<!\w)[fFrRbB]{0,2}(?P<mark>[\"'])(?P<said>(?:(?!(?P=mark))[^\\]|\\.){4,300})(?:(?P=mark)|$)"
)
TELLS_NOTHING = frozenset(
    {"AssertionError", "Exception", "KeyError", "OSError", "RuntimeError", "TypeError", "ValueError"}
)
"""Classes that tell nothing without a message."""


class Raised(NamedTuple):
    """An exception: its dotted name, the first line of its message, and its role when it stands alone."""

    exception: str
    message: str
    role: str

    @property
    def name(self) -> str:
        """Class name without module."""
        head, bracket, rest = self.exception.partition("(")
        return head.rpartition(".")[2] + bracket + rest


def role_of(exception: str, message: str = "") -> str:
    """What part an exception plays: the root, a symptom of lost ranks, a cascade or the teardown.

    >>> role_of("torch.distributed.elastic.multiprocessing.errors.ChildFailedError"), role_of("KeyError")
    ('cascade', 'root_candidate')
    """
    name = exception.partition("(")[0].rpartition(".")[2]
    if name in _TEARDOWN or "`Termination signal` is detected" in message:  # the second is Paddle's
        return "teardown"
    if name in _CASCADE or "` is detected by the operating system" in message:  # of any other signal
        return "cascade"
    return "symptom" if name in _SYMPTOM or _LOST_PEER.search(message) else "root_candidate"


def stated(code: str) -> Raised | None:
    """The exception that the last quoted lines of code raise, where the line that names it was cut off.

    >>> stated('raise ValueError("no room for " "the cache")')
    Raised(exception='ValueError', message='no room for  the cache', role='root_candidate')
    >>> stated("raise ValueError(text)")
    """
    match = _RAISES.search(code)
    if match is None:
        return None
    words = " ".join(literal["said"] for literal in _LITERAL.finditer(code, match.start())).strip()
    exception = match["exception"] or "AssertionError"
    message = words or (match["condition"] or "").strip(" \\,(")
    return (
        Raised(exception, message, role_of(exception, message))
        if message or exception not in TELLS_NOTHING
        else None
    )


def role_in_chain(raised: Raised, before: Raised) -> str:
    """Role of an exception that was raised while ``before`` was handled: a consequence of it.

    Except where ``before`` is no failure by itself: a queue that stayed empty is how PyTorch notices that a
    data-loader worker has died.

    >>> empty, killed = Raised("_queue.Empty", "", "symptom"), Raised("RuntimeError", "", "root_candidate")
    >>> role_in_chain(killed, empty), role_in_chain(killed, Raised("OSError", "", "root_candidate"))
    ('root_candidate', 'cascade')
    """
    if before.name in {"Empty", "Full", "StopIteration"}:
        return raised.role
    return "teardown" if raised.role == "teardown" else "cascade"


MAX_BELOW = 80
"""Characters by which a line is known again."""

_CHAINS = LazyRegex(r"During handling of the above exception|The above exception was the direct cause")


def following_text(line: LogLine, message: str, margin: int = 0) -> str:
    """The further lines of a message, without prefixes and indentation; empty for most.

    Indented lines belong to it, lines after a colon do, and those with which libraries go on.
    """
    found: list[str] = []
    text = message
    for raw in line.after().lstrip("\r\n").replace("\r", "\n").split("\n")[:MAX_LINES]:
        peeled = peel(raw)
        if peeled.rank != line.rank or peeled.level or _STOPS.search(peeled.text):
            break
        part = peeled.text[margin:] if not peeled.text[:margin].strip() else peeled.text
        if PYTHON_FRAME.match(part):
            # Either the traceback that this exception carries begins, or another process writes in between.
            return "\n".join(found[:1]) if found and CARRIES.match(found[0]) else ""
        if not part.strip():
            if message or found:
                break
            continue
        if not (part[0] in " \t" or text.rstrip().endswith((":", ",")) or not text or _GOES_ON.match(part)):
            break
        found.append(part.strip())
        text = part
        if sum(map(len, found)) > MAX_MESSAGE:
            break
    return "\n".join(found)


_SAYS = LazyRegex(r"[^\W\d_]{3}")
_HEADER = "Traceback (most recent"


def text_below(line: LogLine, further: str) -> str:
    """The first line that says something below a message, without digits; empty where another traceback begins, or nothing is seen whole.

    Args:
        line: The line of the exception.
        further: The further lines of its message.
    """
    *whole, _ = line.after().lstrip("\r\n").replace("\r", "\n").split("\n")
    said = [peel(raw).text for raw in whole[further.count("\n") + bool(further) :]]
    first = next((text for text in said if _SAYS.search(text)), "")
    if _HEADER in first or _CHAINS.match(first):
        return ""
    return "".join(sign for sign in first if not sign.isdigit())[:MAX_BELOW]
